# SPDX-License-Identifier: Apache-2.0
"""`scan`, the loop over slices of arrays, and `map`, which has no carry."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ...diagnostics.errors import ConcretizationTypeError
from ...diagnostics.source_info import FunctionOrigin
from ...diagnostics.traceback_filtering import api_boundary
from ...loading import deferred
from ...programs.olympuspr import close_olympuspr
from ...programs.tracing import Tracer, concrete_or_error
from ...settings import config_states
from ...trees import pytrees
from ...trees.flattening import CalledFunction
from ...trees.function_caches import FunctionCache
from ...trees.operands import flatten_operands
from ...types import known_types
from ...types.annotations import PyTree
from ...types.avals import AbstractValue, get_aval
from ...types.known_types import ClosedOverMutableError
from ..core.values import as_array
from ..indexing.slicing import index_in_dim, slice
from ..shaping.broadcasting import expand_dims
from ..shaping.rearrangement import concatenate, reshape
from .carries import promote_carry, promoted_carry_avals
from .checkpoints import Checkpoints, checkpoints_of_scan
from .operands import ScanLayout, ScanOperands
from .primitives import scan_p, sliced_aval
from .shown_values import Progress
from .subprograms import (
    Subprogram,
    check_carry_structure,
    check_carry_types,
    check_references,
    check_returned_references,
    control_flow_programs,
    run_with_mutables,
    trace_subprogram,
    tracing_key,
)

if TYPE_CHECKING:
    from . import progress as with_progress
else:
    with_progress = deferred(".progress", milliseconds=1.0)

Carry = TypeVar("Carry")
Y = TypeVar("Y")


@api_boundary
def scan(
    f: Callable[[Any, Any], tuple[Carry, Y]],
    init: PyTree,
    xs: PyTree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    checkpoints: int | str | Checkpoints | None = None,
    progress: bool | str | Progress | None = None,
) -> tuple[Carry, Y]:
    """Applies a function to each slice along the leading dimension and passes a carry on.

    The result equals the result of::

        def scan(f, init, xs):
            carry, ys = init, []
            for x in xs:
                carry, y = f(carry, x)
                ys.append(y)
            return carry, stack(ys)

    The function is traced once, and the loop becomes one operation of the program.

    Args:
      f: a function of the carry and a slice. It returns the next carry, of the same structure and
        types, and a result for this slice.
      init: the initial carry, an array or a pytree of arrays. Python scalars are converted to the
        dtypes of the carry that ``f`` returns.
      xs: the arrays to scan over, with equal leading dimensions; None if ``f`` needs no slices.
      length: the number of iterations; required if ``xs`` is None.
      reverse: whether to go from the last slice to the first; results keep the order of slices.
      unroll: the number of iterations in one step of the compiled loop; True for all.
      _split_transpose: accepted for compatibility and ignored: in JAX it splits the backward pass
        into two loops, with equal results.
      checkpoints: the values that reverse mode keeps. By default it keeps the residuals of every
        iteration. With a number n it keeps n carries, and runs the iterations between these carries
        again. With ``"sqrt"``, n is about the square root of the length, and the backward pass
        stores about n more carries at a time. With ``"binomial"``, n is about the logarithm of the
        length, and iterations run again several times. With ``"offload"``, the residuals of every
        iteration are kept in host memory.
      progress: True to show a progress bar while the loop runs, or the text before the bar;
        equivalent to ``xs=progress(xs)``.

    Returns:
      The final carry, and the results stacked along a new leading dimension.

    Raises:
      TypeError: if ``f`` does not return a pair, or returns a carry whose structure or types differ
        from those of its input.
      ValueError: if leading dimensions differ from each other or from ``length``, or
        ``checkpoints`` has an unsupported value.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> total, sums = scan(lambda c, x: (lax.add(c, x), lax.add(c, x)), 0, np.arange(4))
      >>> total, sums
      (Array(6, dtype=int32), Array([0, 1, 3, 6], dtype=int32))
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    if isinstance(xs, Progress):
        progress, xs = xs, xs.values
    init_leaves, init_tree = flatten_operands(init)
    xs_leaves, xs_tree = pytrees.tree_flatten(xs)
    init_avals = tuple([get_aval(leaf) for leaf in init_leaves])
    xs_avals = [get_aval(leaf) for leaf in xs_leaves]
    length = _scan_length(xs, xs_leaves, xs_avals, length)
    unroll = _checked_unroll(unroll, length)
    plan = checkpoints_of_scan(checkpoints, length)
    if progress is not None and progress is not False:
        options = {"reverse": reverse, "unroll": unroll, "checkpoints": plan}
        return with_progress.scan(scan, f, init, xs, progress, length, **options)
    # Without iterations there are no results, so only tracing determines their types.
    if config_states.disable_jit.value and length:
        return _scan_in_python(f, init, xs_leaves, xs_tree, length, reverse)
    x_avals = tuple([sliced_aval(aval) for aval in xs_avals])
    try:
        loop = _scan_program(f, init_tree, xs_tree, init_avals, x_avals, [*init_leaves, *xs_leaves])
    except ClosedOverMutableError as error:
        options = {"reverse": reverse, "unroll": unroll, "checkpoints": plan}
        return _scan_with_mutables(error, f, init, xs, length, options)
    if loop.has_refs:
        in_tree = pytrees.treedef_tuple((init_tree, xs_tree))
        check_references("scan", f, in_tree, loop.consts, [*init_leaves, *xs_leaves])
    carry = promote_carry(init_leaves, init_avals, loop.carry_avals)
    results = scan_p.bind(
        *[carry[position] for position in loop.moved],
        *loop.consts,
        *([carry[position] for position in loop.kept] if loop.moved else carry),
        *xs_leaves,
        reverse=bool(reverse),
        length=length,
        jaxpr=loop.closed,
        unroll=unroll,
        **loop.layout.params,
        **({} if plan is None else {"checkpoints": plan}),
    )
    if loop.is_rearranged:
        results = loop.all_results(results, carry, xs_leaves)
    return pytrees.tree_unflatten(loop.out_tree, results)


def _scan_with_mutables(
    error: Any, f: Any, init: Any, xs: Any, length: int, options: dict[str, Any]
) -> Any:
    """Runs a loop whose function uses mutable objects; the objects' states join the carry."""

    def run(states: Any, wrap: Any) -> Any:
        step = wrap(f)

        def body(carry: Any, x: Any) -> Any:
            (after, y), states = step(carry[1], carry[0], x)
            return (after, states), y

        (carry, states), ys = scan(body, (init, states), xs, length, **options)
        return (carry, ys), states

    return run_with_mutables(error, run)


def _scan_length(xs: PyTree, leaves: list[Any], avals: list[Any], length: Any) -> int:
    """Returns the number of iterations: ``length``, or the size of the leading dimensions."""
    if length is not None:
        length = concrete_or_error(
            int,
            length,
            "The `length` argument to `scan` expects a concrete `int` value. For scan-like "
            "iteration with a dynamic length, use `while_loop` or `fori_loop`.",
        )
    if known_types.high:  # the length of a high value is the length of its arrays
        pairs = zip(leaves, avals, strict=True)
        parts = [(leaf, type_) for leaf, aval in pairs for type_ in aval.lo_ty()]
        leaves, avals = [leaf for leaf, _ in parts], [aval for _, aval in parts]
    without = [leaf for leaf, aval in zip(leaves, avals, strict=True) if not aval.shape]
    if without:
        raise ValueError(
            "scan got value with no leading axis to scan over: "
            f"{', '.join(str(leaf) for leaf in without)}."
        )
    sizes = [aval.shape[0] for aval in avals]
    if length is not None:
        if any(size != length for size in sizes):
            raise ValueError(
                f"scan got `length` argument of {length} which disagrees with leading axis sizes "
                f"{sizes}."
            )
        if length < 0:
            raise ValueError(f"scan got `length` argument of {length}, which is negative.")
        return length
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            "scan got values with different leading axis sizes: "
            f"{', '.join(str(size) for size in sizes)}.{_shown_types(xs)}"
        )
    return sizes[0]


def _shown_types(xs: PyTree) -> str:
    """Returns a sentence with the path and type of one scanned value of each size."""
    first: dict[int, str] = {}
    for path, leaf in pytrees.tree_flatten_with_path(xs)[0]:
        aval = get_aval(leaf)
        for size in getattr(aval, "shape", ())[:1]:
            first.setdefault(size, f"xs{pytrees.keystr(path)} is {aval.str_short()}")
    return f" {', '.join(first.values())}. Slice them to one size."


def _checked_unroll(unroll: int | bool, length: int) -> int:
    if isinstance(unroll, Tracer):
        raise ConcretizationTypeError(
            unroll, "The `unroll` argument to `scan` expects a concrete `int` or `bool` value."
        )
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if not isinstance(unroll, int) or unroll < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    return unroll


def _scan_in_python(
    f: Callable[..., Any], carry: Any, leaves: list[Any], tree: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    results = []
    for position in reversed(range(length)) if reverse else range(length):
        slices = [index_in_dim(leaf, position, keepdims=False) for leaf in leaves]
        carry, result = f(carry, pytrees.tree_unflatten(tree, slices))
        results.append(result)
    if reverse:
        results.reverse()

    def stacked(*values: Any) -> Any:
        return concatenate([expand_dims(value, (0,)) for value in values], 0)

    return carry, pytrees.tree_map(stacked, *results)


class _ScanProgram:
    """A traced loop, rearranged for the `scan` equation that it becomes.

    Components of the carry that the body does not change become constants. Results that are slices
    of an operand are taken from the operands.

    Attributes:
      closed: the program, which maps constants, carry and slices to carry and results.
      carry_avals: the types of the whole carry.
      consts: the values that the body closes over.
      moved: the positions in the carry of components that became constants; these are the first
        constants.
      kept: the positions in the carry of the other components.
      layout: the numbers of constants and of carried values.
      forwarded: for each result of the body, the position of the slice that the body returns for
        it, or None.
      out_tree: the structure of ``(carry, results)``.
    """

    __slots__ = (
        "carry_avals",
        "closed",
        "consts",
        "forwarded",
        "has_refs",
        "is_rearranged",
        "kept",
        "layout",
        "moved",
        "out_tree",
    )

    def __init__(self, body: Subprogram, carry_avals: tuple[AbstractValue, ...]) -> None:
        self.carry_avals = carry_avals
        self.consts = body.consts
        self.has_refs = any(var.aval.is_ref for var in body.closed.jaxpr.invars)
        self.out_tree = body.out_tree
        olympuspr = body.closed.jaxpr
        layout = ScanLayout(len(body.consts), len(carry_avals))
        const_vars, carry_vars, x_vars = layout.operands(olympuspr.invars)
        carry_atoms, y_atoms = layout.results(olympuspr.outvars)
        unchanged = [atom is var for var, atom in zip(carry_vars, carry_atoms, strict=True)]
        self.moved = [position for position, same in enumerate(unchanged) if same]
        self.kept = [position for position, same in enumerate(unchanged) if not same]
        slices = {id(var): position for position, var in enumerate(x_vars)}
        self.forwarded = [slices.get(id(atom)) for atom in y_atoms]
        self.is_rearranged = bool(self.moved) or any(
            position is not None for position in self.forwarded
        )
        inputs = ScanOperands(
            [*(carry_vars[position] for position in self.moved), *const_vars],
            [carry_vars[position] for position in self.kept],
            x_vars,
        )
        self.layout = inputs.layout
        if self.is_rearranged:
            olympuspr = olympuspr.replace(
                invars=inputs.flat,
                outvars=[
                    *(carry_atoms[position] for position in self.kept),
                    *(
                        atom
                        for atom, position in zip(y_atoms, self.forwarded, strict=True)
                        if position is None
                    ),
                ],
            )
        if self.has_refs:
            check_returned_references(olympuspr)
        self.closed = close_olympuspr(olympuspr)

    def all_results(self, results: list[Any], carry: list[Any], xs: list[Any]) -> list[Any]:
        """Returns the results of the user's loop, given results and operands of the equation."""
        changed, stacked = self.layout.results(results)
        last_carry = list(carry)
        for position, value in zip(self.kept, changed, strict=True):
            last_carry[position] = value
        computed = iter(stacked)
        ys = [
            next(computed) if position is None else as_array(xs[position])
            for position in self.forwarded
        ]
        return [*last_carry, *ys]


def _scan_program(
    f: Callable[..., Any],
    init_tree: Any,
    xs_tree: Any,
    init_avals: tuple[AbstractValue, ...],
    x_avals: tuple[AbstractValue, ...],
    leaves: list[Any],
) -> _ScanProgram:
    known = control_flow_programs.of(f)
    key = ("scan", init_tree, xs_tree, init_avals, x_avals, *tracing_key())
    loop = known.get(key)
    if loop is not None:
        return loop
    in_tree = pytrees.treedef_tuple((init_tree, xs_tree))
    body = _traced_body(f, in_tree, init_tree, init_avals, x_avals, leaves)
    num_carry = len(init_avals)
    carry_avals = promoted_carry_avals(init_avals, body.closed.out_avals[:num_carry])
    if carry_avals != init_avals:
        body = _traced_body(f, in_tree, init_tree, carry_avals, x_avals, leaves)
    out_avals = body.closed.out_avals[:num_carry]
    check_carry_types("scan body", body, init_tree, carry_avals, out_avals)
    loop = _ScanProgram(body, carry_avals)
    if body.is_reusable:
        known[key] = loop
    return loop


def _traced_body(
    f: Callable[..., Any],
    in_tree: Any,
    init_tree: Any,
    carry_avals: tuple[AbstractValue, ...],
    x_avals: tuple[AbstractValue, ...],
    leaves: list[Any],
) -> Subprogram:
    body = trace_subprogram(f, in_tree, (*carry_avals, *x_avals), "scan", leaves)
    children = body.out_tree.children()
    node = body.out_tree.node_data()
    if node is None or node[0] not in (tuple, list) or len(children) != 2:
        result = pytrees.tree_unflatten(body.out_tree, body.closed.out_avals)
        raise TypeError(f"scan body output must be a pair, got {result}.")
    check_carry_structure("scan body", body, init_tree, children[0])
    return body


# ---- map ----

_mapped_bodies = FunctionCache()
_vectorize: Callable[..., Any] | None = None


def install_vectorizer(vmap: Callable[..., Any]) -> None:
    """Installs the transformation that `map` uses for batches; olympus-batching calls this."""
    global _vectorize
    _vectorize = vmap


@api_boundary
def map(
    f: Callable[[Any], Y],
    xs: PyTree,
    *,
    batch_size: int | None = None,
    progress: bool | str | Progress | None = None,
) -> Y:
    """Applies a function to each slice along the leading dimension, sequentially.

    Needs less memory than `vmap`, which computes all slices at once.

    Args:
      f: a function of a slice.
      xs: an array, or a pytree of arrays with equal leading dimensions.
      batch_size: the number of slices that `vmap` computes at a time; one slice at a time if None
        or zero.
      progress: True to show a progress bar while the loop runs, or the text before the bar;
        equivalent to ``xs=progress(xs)``.

    Returns:
      The results, stacked along a new leading dimension.

    Raises:
      ValueError: if leading dimensions differ, ``xs`` has no arrays, or ``batch_size`` is negative.
      RuntimeError: if ``batch_size`` is given and the package of `vmap` is not imported.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> map(lambda x: lax.mul(x, x), np.arange(4))
      Array([0, 1, 4, 9], dtype=int32)
    """
    if isinstance(xs, Progress):
        progress, xs = xs, xs.values
    if batch_size:
        return _map_in_batches(f, xs, batch_size, progress)
    _, ys = scan(_mapped_bodies.derive(f, _body_of_map), (), xs, progress=progress)
    return ys


def _body_of_map(f: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def body_of_map(_: Any, x: Any) -> Any:
        return (), f()(x)

    def parts(_: Any, x: Any) -> list[tuple[int | None, Any]]:
        return [(0, x)]

    body_of_map.called_function = CalledFunction(FunctionOrigin(f()), None, parts)  # pyright: ignore[reportFunctionMemberAccess]
    return body_of_map


def _vectorized(f: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    assert _vectorize is not None
    return _vectorize(lambda x: f()(x))


def _rows(array: Any, start: int, stop: int) -> Any:
    shape = get_aval(array).shape
    return slice(array, (start, *(0 for _ in shape[1:])), (stop, *shape[1:]))


def _map_in_batches(f: Callable[[Any], Any], xs: Any, batch_size: int, progress: Any) -> Any:
    if _vectorize is None:
        raise RuntimeError(
            "lax.map with a batch_size uses vmap: install and import olympus_batching, or leave "
            "out batch_size."
        )
    leaves, tree = pytrees.tree_flatten(xs)
    if not leaves:
        raise ValueError("lax.map got no values to map over.")
    size = _scan_length(xs, leaves, [get_aval(leaf) for leaf in leaves], None)
    batch_size = operator.index(batch_size)
    if batch_size < 0:
        raise ValueError(f"lax.map got batch_size={batch_size}, which is negative")
    num_batches, num_left = divmod(size, batch_size)
    vectorized = _mapped_bodies.derive(f, _vectorized)
    num_scanned = num_batches * batch_size
    scans = num_batches > 0 or size == 0
    parts = []
    if scans:
        batches = [
            reshape(
                _rows(leaf, 0, num_scanned) if num_left else leaf,
                (num_batches, batch_size, *get_aval(leaf).shape[1:]),
            )
            for leaf in leaves
        ]
        left = [_rows(leaf, num_scanned, size) for leaf in leaves] if num_left else []
        _, ys = scan(
            _mapped_bodies.derive(vectorized, _body_of_map),
            (),
            pytrees.tree_unflatten(tree, batches),
            progress=progress,
        )
        parts.append(ys)
    else:
        left = leaves
    if num_left:
        parts.append(vectorized(pytrees.tree_unflatten(tree, left)))
    if scans:
        parts[0] = pytrees.tree_map(lambda y: reshape(y, (num_scanned, *y.shape[2:])), parts[0])
    if len(parts) == 1:
        return parts[0]
    return pytrees.tree_map(lambda *values: concatenate(values, 0), *parts)
