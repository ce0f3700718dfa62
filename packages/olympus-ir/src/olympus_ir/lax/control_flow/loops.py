# SPDX-License-Identifier: Apache-2.0
"""Loops with a condition, `while_loop`, and counting loops, `fori_loop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...diagnostics.source_info import FunctionOrigin
from ...diagnostics.traceback_filtering import api_boundary
from ...loading import deferred
from ...programs.olympuspr import ClosedOlympuspr, Olympuspr, Var, close_olympuspr
from ...programs.tracing import Tracer, is_constant_dim
from ...settings import config_states
from ...trees import pytrees
from ...trees.flattening import CalledFunction
from ...trees.function_caches import FunctionCache
from ...trees.operands import flatten_operands
from ...types.annotations import ArrayLike, PyTree
from ...types.avals import AbstractValue, get_aval
from ...types.known_types import ClosedOverMutableError
from ..core.values import as_array
from ..elementwise.arithmetic import add, sub
from ..elementwise.conversion import convert_element_type
from ..elementwise.logic import bitwise_and, lt
from .carries import promote_carry, promoted_carry_avals
from .checkpoints import Checkpoints, checked_number, checkpoints_of_while
from .operands import WhileLayout
from .primitives import while_p
from .scanning import scan
from .subprograms import (
    Subprogram,
    check_carry_structure,
    check_carry_types,
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


@api_boundary
def while_loop(
    cond_fun: Callable[[Any], ArrayLike],
    body_fun: Callable[[Any], Carry],
    init_val: PyTree,
    *,
    checkpoints: int | Checkpoints | None = None,
    max_steps: int | None = None,
    inverse: Callable[[Any], Any] | None = None,
    progress: bool | str | None = None,
    batch: str | Sequence[int] | None = None,
) -> Carry:
    """Applies a function repeatedly while a condition holds.

    The result equals the result of::

        def while_loop(cond_fun, body_fun, init_val):
            val = init_val
            while cond_fun(val):
                val = body_fun(val)
            return val

    The loop is traced once and becomes one operation of the program. Its number of iterations is
    not known, so by default it can be differentiated in forward mode only. Each of the options
    ``checkpoints``, ``max_steps`` and ``inverse`` enables reverse mode.

    Args:
      cond_fun: a function of the carry that returns a boolean scalar.
      body_fun: a function of the carry that returns the next carry, of the same structure and
        types.
      init_val: the initial carry, an array or a pytree of arrays.
      checkpoints: the number of carries that reverse mode keeps while the loop runs. Reverse mode
        recomputes the other carries from the kept carries, at most ``checkpoints`` carries at a
        time. The number of iterations is not bounded. With c checkpoints, each of the first
        c² (c + 1) / 2 iterations runs again at most twice.
      max_steps: the maximal number of iterations. The loop then ends even if the condition holds.
        Without ``checkpoints``, reverse mode keeps the carry of every iteration.
      inverse: the inverse of ``body_fun``, which maps a carry to the preceding carry. Reverse mode
        then keeps no carry. Rounding errors of the inverse accumulate.
      progress: True to show a progress bar while the loop runs, or the text before the bar.
      batch: the behavior under `vmap` over the condition. With ``"select"`` or None, all examples
        run until the last example is finished, and finished examples keep their carries. With
        ``"compact"``, finished examples are removed from the batch once only a quarter of the
        examples is unfinished, again at a sixteenth, and so on. A sequence of integers gives the
        sizes of the smaller batches. The program contains a copy of the body for each size. Loops
        with effects, with collectives over the mapped axis or with an ``inverse`` always use
        ``"select"``.

    Returns:
      The final carry.

    Raises:
      TypeError: if ``cond_fun`` does not return a boolean scalar, or ``body_fun`` or ``inverse``
        returns a carry whose structure or types differ from those of its input.
      ValueError: if ``checkpoints`` or ``max_steps`` is not a positive integer, or both
        ``checkpoints`` and ``inverse`` are given, or ``batch`` is unknown.

    Example:
      >>> from olympus_ir import lax
      >>> while_loop(lambda n: lax.lt(n, 100), lambda n: lax.mul(n, 2), 1)
      Array(128, dtype=int32, weak_type=True)
    """
    if not callable(body_fun) or not callable(cond_fun):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    batch = _checked_batch(batch)
    if progress is not None and progress is not False:
        options = {"checkpoints": checkpoints, "max_steps": max_steps, "batch": batch}
        return with_progress.while_loop(
            while_loop, cond_fun, body_fun, init_val, progress, inverse, **options
        )
    if max_steps is not None:
        max_steps = checked_number("while_loop", "max_steps", max_steps)
        return _bounded_while(cond_fun, body_fun, init_val, checkpoints, max_steps, inverse, batch)
    plan = checkpoints_of_while(checkpoints, None)
    return _while_loop(cond_fun, body_fun, init_val, plan, inverse, batch)


def _checked_batch(batch: Any) -> str | tuple[int, ...] | None:
    """Returns the behavior under `vmap`, None for the default.

    Raises:
      ValueError: ``batch`` is neither a known word nor a sequence of positive integers.
    """
    if batch is None or (isinstance(batch, str) and batch == "select"):
        return None
    if isinstance(batch, str) and batch == "compact":
        return batch
    sizes = tuple(batch) if isinstance(batch, list | tuple) else ()
    if not sizes or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise ValueError(
            f"while_loop got batch={batch!r}; it must be 'select', 'compact' or a sequence of "
            "positive batch sizes such as (1024, 128)."
        )
    return sizes


def _while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    plan: Checkpoints | None,
    inverse: Callable[[Any], Any] | None,
    batch: str | tuple[int, ...] | None = None,
) -> Any:
    _check_inverse(plan, inverse)
    if config_states.disable_jit.value:
        # Pass immutable arrays, because functions may write to NumPy arrays.
        value = pytrees.tree_map(as_array, init_val)
        return _while_in_python(cond_fun, body_fun, value, plan, inverse, batch)
    leaves, tree = flatten_operands(init_val)
    avals = tuple([get_aval(leaf) for leaf in leaves])
    try:
        loop = _while_program(cond_fun, body_fun, inverse, plan, tree, avals)
    except ClosedOverMutableError as error:
        if inverse is not None:
            raise NotImplementedError(
                "the functions of a while_loop with `inverse` use mutable objects, whose states "
                "the inverse cannot restore; pass the states in the carry, or use `checkpoints`"
            ) from None
        return _while_with_mutables(error, cond_fun, body_fun, init_val, plan, batch)
    carry = promote_carry(leaves, avals, loop.carry_avals)
    moved = [carry[position] for position in loop.moved]
    carry_operands = [carry[position] for position in loop.kept] if moved else carry
    params = loop.params if batch is None else {**loop.params, "batch": batch}
    results = while_p.bind(*loop.cond_consts, *moved, *loop.body_consts, *carry_operands, **params)
    if moved:
        kept = iter(results)
        results = [
            value if position in loop.moved else next(kept) for position, value in enumerate(carry)
        ]
    return pytrees.tree_unflatten(tree, results)


def _check_inverse(plan: Checkpoints | None, inverse: Any) -> None:
    if inverse is None:
        return
    if plan is not None and plan.block > 1:
        raise ValueError(
            "while_loop got both `checkpoints` and `inverse`; with an inverse step no carry is "
            "kept. Leave one of them out."
        )
    if not callable(inverse):
        raise TypeError(f"while_loop got inverse={inverse!r}; it must be a function of the carry.")


def _bounded_while(
    cond_fun: Any,
    body_fun: Any,
    init_val: Any,
    checkpoints: Any,
    max_steps: int,
    inverse: Any,
    batch: str | tuple[int, ...] | None,
) -> Any:
    """Runs a loop that ends after at most ``max_steps`` iterations."""
    plan = checkpoints_of_while(checkpoints, max_steps)
    _, _, result = _while_loop(
        _bounded.derive(cond_fun, _condition_below_bound),
        _bounded.derive(body_fun, _body_of_bounded),
        (np.asarray(0, np.int32), np.asarray(max_steps, np.int32), init_val),
        plan,
        None if inverse is None else _bounded.derive(inverse, _inverse_of_bounded),
        batch,
    )
    return result


def _condition_below_bound(cond_fun: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def goes_on(carry: tuple) -> Any:
        count, bound, value = carry
        return bitwise_and(lt(count, bound), cond_fun()(value))

    return goes_on


def _body_of_bounded(body_fun: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def body_of_while(carry: tuple) -> tuple:
        count, bound, value = carry
        return add(count, _one_like(count)), bound, body_fun()(value)

    return body_of_while


def _inverse_of_bounded(inverse: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def undo(carry: tuple) -> tuple:
        count, bound, value = carry
        return sub(count, _one_like(count)), bound, inverse()(value)

    return undo


def _while_with_mutables(
    error: Any, cond_fun: Any, body_fun: Any, init_val: Any, plan: Checkpoints | None, batch: Any
) -> Any:
    """Runs a loop whose functions use mutable objects; the objects' states join the carry."""

    def run(states: Any, wrap: Any) -> Any:
        condition, body = wrap(cond_fun), wrap(body_fun)
        return _while_loop(
            lambda carry: condition(carry[1], carry[0])[0],
            lambda carry: body(carry[1], carry[0]),
            (init_val, states),
            plan,
            None,
            batch,
        )

    return run_with_mutables(error, run)


def _while_in_python(
    cond_fun: Any, body_fun: Any, value: Any, plan: Checkpoints | None, inverse: Any, batch: Any
) -> Any:
    while True:
        decision = cond_fun(value)
        if isinstance(decision, Tracer) and decision.concrete_or_none() is None:
            # Under a transformation the number of iterations is unknown, so keep a single
            # operation.
            with config_states.disable_jit(False):
                return _while_loop(cond_fun, body_fun, value, plan, inverse, batch)
        if not decision:
            return value
        value = body_fun(value)


class _WhileProgram:
    """A traced loop.

    Attributes:
      params: the parameters of the equation.
      carry_avals: the types of the carry.
      cond_consts: the values that the condition closes over.
      body_consts: the values that the body closes over.
      moved: the positions in the carry of values that the body does not change and the condition
        does not use. These values become constants of the body.
      kept: the other positions.
    """

    __slots__ = ("body_consts", "carry_avals", "cond_consts", "kept", "moved", "params")

    def __init__(
        self,
        condition: Subprogram,
        body: Subprogram,
        carry_avals: tuple[AbstractValue, ...],
        inverse: Subprogram | None = None,
        plan: Checkpoints | None = None,
    ) -> None:
        self.carry_avals = carry_avals
        if inverse is not None:
            body, inverse = _with_common_constants(body, inverse)
            plan = Checkpoints(0, 1, None)
        self.cond_consts = condition.consts
        self.body_consts = body.consts
        self.moved, self.kept = _unchanged(condition, body)
        cond_olympuspr, body_olympuspr = condition.closed.jaxpr, body.closed.jaxpr
        if self.moved:
            cond_olympuspr = cond_olympuspr.replace(
                invars=[*condition.const_vars, *(condition.operand_vars[i] for i in self.kept)]
            )
            body_olympuspr = body_olympuspr.replace(
                invars=[
                    *(body.operand_vars[i] for i in self.moved),
                    *body.const_vars,
                    *(body.operand_vars[i] for i in self.kept),
                ],
                outvars=[body_olympuspr.outvars[i] for i in self.kept],
            )
        check_returned_references(body_olympuspr)
        layout = WhileLayout(len(condition.consts), len(self.moved) + len(body.consts))
        self.params = {
            "cond_jaxpr": close_olympuspr(cond_olympuspr),
            "body_jaxpr": close_olympuspr(body_olympuspr),
            **layout.params,
        }
        if inverse is not None:
            plan = Checkpoints(0, 1, self._rearranged_inverse(inverse))
        if plan is not None:
            self.params["checkpoints"] = plan

    def _rearranged_inverse(self, inverse: Subprogram) -> ClosedOlympuspr:
        """Returns the inverse step, with the inputs and results in the order of the body."""
        olympuspr, operands = inverse.closed.jaxpr, inverse.operand_vars
        return close_olympuspr(
            olympuspr.replace(
                invars=[
                    *(operands[position] for position in self.moved),
                    *inverse.const_vars,
                    *(operands[position] for position in self.kept),
                ],
                outvars=[olympuspr.outvars[position] for position in self.kept],
            )
        )


def _with_common_constants(body: Subprogram, inverse: Subprogram) -> tuple[Subprogram, Subprogram]:
    """Returns the body and the inverse as programs with the same constants.

    Both take the constants of the body, the constants of the inverse, and the carry.
    """
    consts = [*body.consts, *inverse.consts]
    ours, theirs = body.closed.jaxpr, inverse.closed.jaxpr
    body_inputs = [
        *body.const_vars,
        *(Var(var.aval) for var in inverse.const_vars),
        *body.operand_vars,
    ]
    inverse_inputs = [*(Var(var.aval) for var in body.const_vars), *theirs.invars]
    return (
        Subprogram(close_olympuspr(ours.replace(invars=body_inputs)), consts, body.out_tree),
        Subprogram(close_olympuspr(theirs.replace(invars=inverse_inputs)), consts, body.out_tree),
    )


def _unchanged(condition: Subprogram, body: Subprogram) -> tuple[list[int], list[int]]:
    """Returns the carry positions of values that can become constants, and the other positions."""
    used = used_variables(condition.closed.jaxpr)
    moved, kept = [], []
    for position, (var, atom, cond_var) in enumerate(
        zip(body.operand_vars, body.closed.jaxpr.outvars, condition.operand_vars, strict=True)
    ):
        (moved if atom is var and cond_var not in used else kept).append(position)
    return moved, kept


def used_variables(olympuspr: Olympuspr) -> set[Var]:
    """Returns the variables that equations or results of a program use."""
    used = {atom for atom in olympuspr.outvars if isinstance(atom, Var)}
    for equation in olympuspr.eqns:
        used.update(atom for atom in equation.invars if isinstance(atom, Var))
    return used


def _while_program(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    inverse_fun: Callable[..., Any] | None,
    plan: Checkpoints | None,
    tree: Any,
    avals: tuple[AbstractValue, ...],
) -> _WhileProgram:
    in_tree = pytrees.treedef_tuple((tree,))
    condition = _traced_condition(cond_fun, in_tree, avals)
    body = trace_subprogram(body_fun, in_tree, avals, "while_body")
    known = control_flow_programs.of(body_fun)
    key = ("while", condition.closed, body.closed, inverse_fun, plan, *tracing_key())
    loop = known.get(key)
    if loop is not None:
        return loop
    check_carry_structure("while_loop body", body, tree, body.out_tree)
    carry_avals = promoted_carry_avals(avals, body.closed.out_avals)
    if carry_avals != avals:
        condition = _traced_condition(cond_fun, in_tree, carry_avals)
        body = trace_subprogram(body_fun, in_tree, carry_avals, "while_body")
    check_carry_types("while_loop body", body, tree, carry_avals, body.closed.out_avals)
    inverse = None
    if inverse_fun is not None:
        inverse = _traced_inverse(inverse_fun, tree, carry_avals)
    loop = _WhileProgram(condition, body, carry_avals, inverse, plan)
    if condition.is_reusable and body.is_reusable and (inverse is None or inverse.is_reusable):
        known[key] = loop
    return loop


def _traced_inverse(
    inverse_fun: Callable[..., Any], tree: Any, avals: tuple[AbstractValue, ...]
) -> Subprogram:
    inverse = trace_subprogram(inverse_fun, pytrees.treedef_tuple((tree,)), avals, "while_inverse")
    check_carry_structure("while_loop inverse", inverse, tree, inverse.out_tree)
    check_carry_types("while_loop inverse", inverse, tree, avals, inverse.closed.out_avals)
    return inverse


def _traced_condition(
    cond_fun: Callable[..., Any], in_tree: Any, avals: tuple[AbstractValue, ...]
) -> Subprogram:
    condition = trace_subprogram(cond_fun, in_tree, avals, "while_cond")
    if not pytrees.treedef_is_leaf(condition.out_tree) or condition.out_tree.num_leaves != 1:
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got pytree {condition.out_tree}."
        )
    (result,) = condition.closed.out_avals
    if result.shape or result.dtype != np.bool_:
        raise TypeError(
            "cond_fun must return a boolean scalar, but got output type(s) "
            f"{condition.closed.out_avals}."
        )
    return condition


# ---- counting ----


@api_boundary
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Carry],
    init_val: PyTree,
    *,
    unroll: int | bool | None = None,
    checkpoints: int | str | None = None,
    inverse: Callable[[Any, Any], Any] | None = None,
    progress: bool | str | None = None,
) -> Carry:
    """Applies a function for each integer of a range.

    The result equals the result of::

        def fori_loop(lower, upper, body_fun, init_val):
            val = init_val
            for i in range(lower, upper):
                val = body_fun(i, val)
            return val

    If the bounds are known while tracing, the loop is a `scan`, which can be differentiated in
    reverse mode. Otherwise it is a `while_loop`.

    Args:
      lower: the first integer.
      upper: the end of the range, exclusive.
      body_fun: a function of the integer and the carry that returns the next carry, of the same
        structure and types.
      init_val: the initial carry, an array or a pytree of arrays.
      unroll: the number of iterations in one step of the compiled loop; True for all. Allowed only
        if the bounds are known while tracing.
      checkpoints: the number of carries that reverse mode keeps while the loop runs, as in
        `while_loop`, or in `scan` if the bounds are known while tracing. A loop with unknown bounds
        can be differentiated in reverse mode only with ``checkpoints`` or ``inverse``.
      inverse: a function of the integer and of the carry after the iteration, which returns the
        carry before the iteration. Reverse mode then keeps no carry. Ignored if the bounds are
        known while tracing.
      progress: True to show a progress bar while the loop runs, or the text before the bar.

    Returns:
      The final carry.

    Raises:
      TypeError: if the bounds differ in dtype, or ``body_fun`` returns a carry whose structure or
        types differ from those of its input.
      ValueError: if ``unroll`` is given and the bounds are not known while tracing.

    Example:
      >>> from olympus_ir import lax
      >>> fori_loop(0, 5, lambda i, total: lax.add(total, i), 0)
      Array(10, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    if inverse is not None and not callable(inverse):
        raise TypeError(f"fori_loop: `inverse` must be a function, got {inverse!r}")
    lower_dtype = get_aval(lower).dtype
    if lower_dtype != get_aval(upper).dtype:
        lower, upper = _of_one_type(lower, upper)
        lower_dtype = get_aval(lower).dtype
    known_lower, known_upper = _known(lower), _known(upper)
    if known_lower is not None and known_upper is not None:
        if config_states.disable_jit.value:
            for count in range(int(known_lower), int(known_upper)):
                init_val = body_fun(np.asarray(count, lower_dtype), init_val)
            return init_val
        (_, result), _ = scan(
            _counting_bodies.derive(body_fun, _scan_body),
            (int(known_lower), init_val),
            None,
            length=max(int(known_upper) - int(known_lower), 0),
            unroll=1 if unroll is None else unroll,
            checkpoints=checkpoints,
            progress=progress,
        )
        return result
    if isinstance(checkpoints, str):
        raise ValueError(
            f"fori_loop got checkpoints={checkpoints!r}, but its bounds are not known while "
            "tracing. Pass a number of checkpoints, such as checkpoints=32."
        )
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known."
        )
    body = _counting_bodies.derive(body_fun, _while_body)
    undo = None if inverse is None else _counting_inverses.derive(inverse, _inverse_of_while)
    _, _, result = while_loop(
        _below_upper,
        body,
        (lower, upper, init_val),
        checkpoints=checkpoints,
        inverse=undo,
        progress=progress,
    )
    return result


def _known(bound: Any) -> Any:
    """Returns the value of a bound; None if it is known only at run time."""
    if isinstance(bound, Tracer):
        return bound.concrete_or_none()
    return bound if is_constant_dim(bound) else None


def _of_one_type(lower: Any, upper: Any) -> tuple[Any, Any]:
    """Converts the bounds to a common dtype: a weakly typed bound to the dtype of the other."""
    avals = get_aval(lower), get_aval(upper)
    if all(np.issubdtype(aval.dtype, np.integer) for aval in avals):
        lower_is_weak, upper_is_weak = (aval.weak_type for aval in avals)
        if lower_is_weak and not upper_is_weak:
            return convert_element_type(lower, avals[1].dtype), upper
        if upper_is_weak and not lower_is_weak:
            return lower, convert_element_type(upper, avals[0].dtype)
    raise TypeError(
        "lower and upper arguments to fori_loop must have equal types, got "
        f"{avals[0].dtype.name} and {avals[1].dtype.name}"
    )


def _below_upper(loop_carry: tuple) -> Any:
    count, upper, _ = loop_carry
    return lt(count, upper)


def _scan_body(body_fun: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def body_of_scan(loop_carry: tuple, _: None) -> tuple:
        count, value = loop_carry
        return (add(count, _one_like(count)), body_fun()(count, value)), None

    def parts(carry: Any, xs: Any) -> list[tuple[int | None, Any]]:
        return list(enumerate(carry.children()))

    body_of_scan.called_function = _given_to_fori_loop(body_fun, parts)  # pyright: ignore[reportFunctionMemberAccess]
    return body_of_scan


def _given_to_fori_loop(
    body_fun: Callable[[], Callable[..., Any]], parts: Callable[..., Any]
) -> CalledFunction:
    return CalledFunction(FunctionOrigin(body_fun()), "fori_loop", parts)


def _while_body(body_fun: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def body_of_while(loop_carry: tuple) -> tuple:
        count, upper, value = loop_carry
        return add(count, _one_like(count)), upper, body_fun()(count, value)

    def parts(carry: Any) -> list[tuple[int | None, Any]]:
        count, upper, value = carry.children()
        return [(0, count), (None, upper), (1, value)]

    body_of_while.called_function = _given_to_fori_loop(body_fun, parts)  # pyright: ignore[reportFunctionMemberAccess]
    return body_of_while


def _inverse_of_while(inverse: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def undo(loop_carry: tuple) -> tuple:
        count, upper, value = loop_carry
        count = sub(count, _one_like(count))
        return count, upper, inverse()(count, value)

    return undo


def _one_like(count: Any) -> Any:
    aval = get_aval(count)
    return np.ones((), aval.dtype).item() if aval.weak_type else np.ones((), aval.dtype)


_counting_bodies = FunctionCache()
_counting_inverses = FunctionCache()
_bounded = FunctionCache()
