# SPDX-License-Identifier: Apache-2.0
"""`bucketed`: a function of arrays of any length, compiled for few lengths."""

from __future__ import annotations

import bisect
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from olympus_ir.diagnostics.errors import InconclusiveDimensionOperation
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.padding import Lengths, evaluate_padded
from olympus_ir.padding.counting import counted_sizes
from olympus_ir.padding.lengths import is_symbolic
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.symbolic.expressions import SymbolicDim, evaluate
from olympus_ir.symbolic.scopes import SymbolicScope
from olympus_ir.symbolic.solving import Solution, solve
from olympus_ir.symbolic.specifications import symbolic_shape
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, function_name
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.pytree_prefix import spread_prefix
from olympus_ir.trees.wrapping import update_wrapper
from olympus_ir.types.avals import argument_aval

from ..calls.jit import jit
from .resizing import lengthen, shorten

__all__ = ["bucketed"]

F = TypeVar("F", bound=Callable[..., Any])
Sizes = Sequence[int] | Callable[[int], int] | None


class Bucket(NamedTuple):
    """A range of lengths that share a program. Arrays are padded to the last length."""

    first: int
    last: int


@travels
def bucketed(
    fun: F,
    *,
    axis: Any = 0,
    sizes: Sizes | Mapping[str, Sizes] = None,
) -> F:
    """Returns a function that pads its arguments to few shapes, so that few programs are compiled.

    The function is traced for a length ``n`` that varies, so sizes such as the divisor of a mean
    are those of the arguments. Each operation gets padding that does not change its result: zeros
    in sums, negative infinity in maxima and softmax. Sorts put the padding last. If padding would
    change the result of an operation, the call raises an error. Results are cut to their lengths.

    Args:
      fun: the function of arrays, or pytrees of arrays.
      axis: the axis of the arguments that varies. An integer applies to all arrays. A tuple has an
        entry for each positional argument: an integer, None for an argument of fixed shape, a shape
        such as ``"batch, time, _"`` whose names are lengths and whose ``_`` are fixed sizes, or a
        pytree of these. Axes given as integers have the same length.
      sizes: the sizes that arrays are padded to: increasing integers, or a function from a length
        to the size; by default, powers of two. A dictionary has sizes for each name of a length.
        The length along axes given as integers is named ``"n"``.

    Returns:
      A function with the arguments and the result of ``fun``. It is compiled for each combination
      of sizes.

    Raises:
      ValueError: the call has an argument without the axis, a length larger than all sizes, or
        different lengths that should agree.
      InconclusiveDimensionOperation: the called function needs to know the length, as in
        ``if x.shape[0] > 6``.
      TypeError: the called function needs to know the length, as in ``range(x.shape[0])``.
      NotImplementedError: padding would change the result of an operation in the call.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> total = bucketed(lambda x: lax.reduce_sum(lax.exp(x), (0,)))
      >>> [float(total(np.zeros(length, np.float32))) for length in (3, 5, 7)]  # two programs
      [3.0, 5.0, 7.0]
    """
    if not callable(fun):
        raise TypeError(f"bucketed takes a function, got {fun!r}")
    function = _Bucketed(fun, axis, sizes)

    @api_boundary
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(args, kwargs)

    update_wrapper(called, fun)
    return called  # type: ignore[return-value]


class _Bucketed:
    """The programs of a bucketed function."""

    def __init__(self, fun: Callable[..., Any], axis: Any, sizes: Any) -> None:
        self.fun = fun
        self.axis = tuple(axis) if isinstance(axis, list) else axis
        # The bucket sizes of the lengths that ``sizes`` names, and those of all other lengths.
        self.sizes: dict[str, Any] = dict(sizes) if isinstance(sizes, Mapping) else {}
        self.other_sizes: Any = None if isinstance(sizes, Mapping) else sizes
        # One compiled function for each combination of structures, specifications and buckets.
        self.programs: dict[Any, Callable[..., Any]] = {}

    def __call__(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        leaves, in_tree = pytrees.tree_flatten((args, kwargs))
        shapes = [np.shape(leaf) for leaf in leaves]
        if any(map(is_symbolic, shapes)):  # a program for all lengths needs no buckets
            return self.fun(*args, **kwargs)
        specs = self._specs(args, kwargs, shapes)
        lengths = _lengths(specs, shapes)
        if not all(lengths.values()):  # dimensions of symbolic programs are at least one
            return jit(self.fun)(*args, **kwargs)
        buckets = tuple((name, self._bucket(name, size)) for name, size in lengths.items())
        key = (in_tree, specs, buckets)
        program = self.programs.get(key)
        if program is None:
            program = self.programs[key] = _compiled(self.fun, in_tree, specs, dict(buckets))
        sizes = {name: bucket.last for name, bucket in buckets}
        padded = [
            leaf if spec is None else lengthen(leaf, _shape(spec, shape, sizes))
            for leaf, spec, shape in zip(leaves, specs, shapes, strict=True)
        ]
        results = program({name: np.int32(size) for name, size in lengths.items()}, padded)
        return pytrees.tree_map(
            lambda result: result.cut(lengths), results, is_leaf=_is_padded_result
        )

    def _specs(
        self, args: tuple, kwargs: dict[str, Any], shapes: Sequence[tuple]
    ) -> tuple[str | None, ...]:
        """Returns a specification of each leaf's shape, with names of lengths; None if fixed."""
        if isinstance(self.axis, tuple):
            of_args = spread_prefix(self.axis, args, _is_spec)
            entries = [*of_args, *[None] * (len(shapes) - len(of_args))]
        else:
            entries = [self.axis] * len(shapes)
        return tuple(map(_spec, entries, shapes))

    def _bucket(self, name: str, length: int) -> Bucket:
        """Returns the range of lengths that share a program with ``length``."""
        sizes: Any = self.sizes.get(name, self.other_sizes)
        if sizes is None:
            last = 1 << (length - 1).bit_length()
            return Bucket(last // 2 + 1, last)
        if callable(sizes):
            size: Any = sizes(length)
            last = operator.index(size)
            if last < length:
                raise ValueError(f"sizes({length}) is {last}, which is less than the length")
            return Bucket(1, last)
        position = bisect.bisect_left(sizes, length)
        if position == len(sizes):
            raise ValueError(
                f"the length {name} = {length} is larger than the sizes of bucketed function "
                f"{function_name(self.fun)}: {tuple(sizes)}. Add a size of at least {length}."
            )
        return Bucket(sizes[position - 1] + 1 if position else 1, sizes[position])


# ---- specifications ----


def _is_spec(value: Any) -> bool:
    return value is None or isinstance(value, str | int)


def _spec(entry: Any, shape: tuple) -> str | None:
    if entry is None or isinstance(entry, str):
        return entry
    position = operator.index(entry)
    if not -len(shape) <= position < len(shape):
        raise ValueError(
            f"an argument of shape {shape} has no axis {position} to pad. Pass axis=(0, None) if "
            "the second argument has a fixed shape, for example."
        )
    names = ["_"] * len(shape)
    names[position] = "n"
    return ", ".join(names)


@functools.lru_cache(maxsize=4096)
def _solution(specs: tuple[str | None, ...], ranks: tuple[int, ...]) -> Solution:
    """Returns the solution that computes the lengths from the shapes of the leaves."""
    scope = SymbolicScope()
    shapes = [
        symbolic_shape(spec, like=(1,) * rank, scope=scope)
        for spec, rank in zip(specs, ranks, strict=True)
        if spec is not None
    ]
    return solve(shapes, lambda position: f"leaves[{position}]")


def _lengths(specs: tuple[str | None, ...], shapes: Sequence[tuple]) -> dict[str, int]:
    """Returns the lengths by name.

    Raises:
      ValueError: arguments have different lengths of the same name.
    """
    argument_shapes = [shape for spec, shape in zip(specs, shapes, strict=True) if spec is not None]
    try:
        return _solution(specs, tuple(map(len, shapes))).values_for(argument_shapes)
    except ValueError as error:
        if 0 in [size for shape in argument_shapes for size in shape]:
            return {"n": 0}
        shown = ", ".join(map(str, argument_shapes))
        raise ValueError(
            f"the lengths of arguments of shapes {shown} do not fit axis= of bucketed, which asks "
            f"for ({'), ('.join(spec for spec in specs if spec is not None)})"
        ) from error


@functools.lru_cache(maxsize=4096)
def _dimensions(spec: str, rank: int) -> tuple[Any, ...]:
    """Returns the dimensions of a specification; each fixed size is replaced by one."""
    return symbolic_shape(spec, like=(1,) * rank, scope=SymbolicScope())


def _shape(spec: str, shape: tuple, values: Mapping[str, Any]) -> tuple:
    """Returns a shape in which the values of the lengths replace the sizes named in ``spec``."""
    return tuple(
        evaluate(dim, values) if isinstance(dim, SymbolicDim) else size
        for dim, size in zip(_dimensions(spec, len(shape)), shape, strict=True)
    )


# ---- programs ----


class _PaddedResult:
    """A padded result of a program, and its symbolic shape. A pytree whose leaf is the result."""

    __slots__ = ("shape", "value")

    def __init__(self, value: Any, shape: tuple) -> None:
        self.value = value
        self.shape = shape

    def cut(self, lengths: Mapping[str, int]) -> Any:
        """Returns the valid elements."""
        if not is_symbolic(self.shape):
            return self.value
        return shorten(self.value, [evaluate(size, lengths) for size in self.shape])


pytrees.register_pytree_node(
    _PaddedResult,
    lambda result: ((result.value,), result.shape),
    lambda shape, children: _PaddedResult(children[0], shape),
)


def _is_padded_result(value: Any) -> bool:
    return isinstance(value, _PaddedResult)


def _compiled(
    fun: Callable[..., Any],
    in_tree: Any,
    specs: Sequence[str | None],
    buckets: Mapping[str, Bucket],
) -> Callable[..., Any]:
    """Returns ``fun``, compiled for the given buckets.

    The compiled function takes the lengths by name and the padded leaves of the arguments. It
    returns the result of ``fun``, with a `_PaddedResult` in place of each array.

    Args:
      fun: the user's function.
      in_tree: the structure of the arguments ``(args, kwargs)``.
      specs: for each leaf, its dimensions as text, in which names stand for lengths; None for a
        leaf of fixed size.
      buckets: for each length by name, its bucket.
    """
    name = function_name(fun)

    def run(lengths: dict[str, Any], leaves: Sequence[Any]) -> Any:
        scope, values = _range_of(buckets)
        avals = []
        for leaf, spec in zip(leaves, specs, strict=True):
            aval = argument_aval(leaf)
            shape = aval.shape if spec is None else _shape(spec, aval.shape, values)
            avals.append(aval.update(shape=shape))
        flat = FlatFunction(fun, in_tree)
        try:
            with counted_sizes(scope):
                closed = trace_to_closed(flat, avals)
        except (InconclusiveDimensionOperation, TypeError) as error:
            # Python's own functions, such as range, do not accept symbolic dimensions.
            if isinstance(error, InconclusiveDimensionOperation) or "SymbolicDim" in str(error):
                error.add_note(_advice(name, buckets))
            raise
        results = evaluate_padded(closed, Lengths(lengths), leaves)
        counted = [aval for aval in closed.out_avals if _is_counted(aval.shape, buckets)]
        if counted:
            raise ValueError(
                f"the result {counted[0].str_short()} of {name} has a size that its elements "
                "decide; bucketed can only return arrays whose sizes the arguments decide"
            )
        shapes = [aval.shape for aval in closed.out_avals]
        return pytrees.tree_unflatten(flat.out_tree, map(_PaddedResult, results, shapes))

    run.__name__ = run.__qualname__ = f"bucketed_{name}"
    return jit(run)


def _range_of(buckets: Mapping[str, Bucket]) -> tuple[SymbolicScope, dict[str, Any]]:
    """Returns a scope with bounds for the lengths, and each length as a dimension of the scope.

    A length with only one possible value is an integer.
    """
    scope = SymbolicScope(
        [
            constraint
            for name, (first, last) in buckets.items()
            for constraint in (f"{name} >= {first}", f"{name} <= {last}")
        ]
    )
    values: dict[str, Any] = {}
    for name, (first, last) in buckets.items():
        (dimension,) = symbolic_shape(name, scope=scope)
        values[name] = last if first == last else dimension
    return scope, values


def _is_counted(shape: Sequence[Any], buckets: Mapping[str, Bucket]) -> bool:
    return any(
        isinstance(size, SymbolicDim) and not size.variables() <= buckets.keys() for size in shape
    )


def _advice(name: str, buckets: Mapping[str, Bucket]) -> str:
    ranges = ", ".join(
        f"{name} from {bucket.first} to {bucket.last}" for name, bucket in buckets.items()
    )
    return (
        f"bucketed traces {name} once for all lengths {ranges}. Let the comparison hold for all of "
        "them, by other sizes=, or write it with arrays: olympus.numpy.where, lax.cond."
    )
