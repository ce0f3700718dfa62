# SPDX-License-Identifier: Apache-2.0
"""Reductions over axes, and cumulative sums, products and extrema along an axis."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..diagnostics.errors import ShapeError
from ..diagnostics.traceback_filtering import behind_boundary
from ..programs.primitives import Primitive, instruction
from ..programs.tracing import Tracer
from ..settings.config_states import allow_f16_reductions
from ..trees import pytrees
from ..types import dtypes
from ..types.annotations import DTypeLike, PyTree, ShardingLike
from ..types.avals import ShapedArray
from ..types.resharding import asked_sharding
from .core.combining_functions import traced_reduction
from .core.declarations import (
    Anything,
    IntegerOrBool,
    axis_reduction,
    check_dtype,
    reduced_shape,
)
from .core.values import Array, ArrayLike, dtype_of
from .elementwise import arithmetic, logic
from .elementwise.conversion import convert_dtype

__all__ = [
    "argmax",
    "argmax_p",
    "argmin",
    "argmin_p",
    "cumlogsumexp",
    "cumlogsumexp_p",
    "cummax",
    "cummax_p",
    "cummin",
    "cummin_p",
    "cumprod",
    "cumprod_p",
    "cumsum",
    "cumsum_p",
    "reduce",
    "reduce_and",
    "reduce_and_p",
    "reduce_max",
    "reduce_max_p",
    "reduce_min",
    "reduce_min_p",
    "reduce_or",
    "reduce_or_p",
    "reduce_p",
    "reduce_prod",
    "reduce_prod_p",
    "reduce_sum",
    "reduce_sum_p",
    "reduce_xor",
    "reduce_xor_p",
]

_halves = frozenset({np.dtype(np.float16), np.dtype(dtypes.bfloat16)})


def _check_sum_in_half_precision(operand: ShapedArray, axes: Sequence[int]) -> None:
    if operand.dtype in _halves and not allow_f16_reductions.value:
        if any(operand.shape[axis] != 1 for axis in axes):
            raise ValueError(
                f"reduce_sum on operand {operand.str_short(short_dtypes=True)} is not allowed when "
                f"{allow_f16_reductions.shown_name}=False. Convert it to float32 first."
            )


reduce_sum_p = axis_reduction(
    "reduce_sum", (np.number,), linear_in=True, check=_check_sum_in_half_precision
)
reduce_prod_p = axis_reduction("reduce_prod", (np.number,))
reduce_max_p = axis_reduction("reduce_max", Anything)
reduce_min_p = axis_reduction("reduce_min", Anything)
reduce_and_p = axis_reduction("reduce_and", IntegerOrBool, keeps_weak=False)
reduce_or_p = axis_reduction("reduce_or", IntegerOrBool, keeps_weak=False)
reduce_xor_p = axis_reduction("reduce_xor", IntegerOrBool, keeps_weak=False)
argmax_p = instruction("argmax", family="reductions")
argmin_p = instruction("argmin", family="reductions")
reduce_p = instruction("reduce", family="reductions", multiple_results=True, cache_inference=False)
cumsum_p = instruction("cumsum", family="reductions")
cumprod_p = instruction("cumprod", family="reductions")
cummax_p = instruction("cummax", family="reductions")
cummin_p = instruction("cummin", family="reductions")
cumlogsumexp_p = instruction("cumlogsumexp", family="reductions")
cumsum_p.linear_in = True

# The reductions along axes, and the cumulative operations along one axis.
AXIS_REDUCTIONS = (
    reduce_sum_p,
    reduce_prod_p,
    reduce_max_p,
    reduce_min_p,
    reduce_and_p,
    reduce_or_p,
    reduce_xor_p,
    argmax_p,
    argmin_p,
)
CUMULATIVE = (cumsum_p, cumprod_p, cummax_p, cummin_p, cumlogsumexp_p)


def _define_argument_reduction(primitive: Primitive) -> None:
    name = primitive.name

    @primitive.def_abstract_eval
    def shape_rule(operand: ShapedArray, *, axes: tuple, index_dtype: Any) -> ShapedArray:
        check_dtype(name, operand, Anything)
        (axis,) = axes
        if not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(
                f"{name}: index_dtype must be an integer type, got {dtypes.name_of(index_dtype)}"
            )
        if not 0 <= axis < operand.ndim:
            raise ValueError(f"{name}: Invalid axis {axis} for operand shape {operand.shape}")
        if operand.shape[axis] == 0:
            raise ValueError(
                f"argmin and argmax require non-empty reduced dimension; {name} got axis={axis} of "
                f"{operand.str_short(short_dtypes=True)}"
            )
        return ShapedArray.varying(reduced_shape(name, operand, axes), index_dtype, vma=operand.vma)


def _define_cumulative(primitive: Primitive, accepted: Sequence[type] = (np.number,)) -> None:
    name = primitive.name

    @primitive.def_abstract_eval
    def shape_rule(operand: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        check_dtype(name, operand, accepted)
        if axis < 0:
            raise ValueError(
                f"{name}: axis {axis} is negative; lax accepts axes from 0 to ndim - 1, because "
                "XLA operations do not allow negative axes; olympus.numpy does"
            )
        if axis >= operand.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {operand.shape}")
        return operand


for _primitive in (argmax_p, argmin_p):
    _define_argument_reduction(_primitive)
for _primitive in CUMULATIVE:
    _define_cumulative(_primitive)


# ---- reductions by one operation ----


def _reduction_axes(axes: Sequence[int]) -> tuple[int, ...]:
    if axes.__class__ is tuple:
        return axes  # type: ignore[return-value]
    if not isinstance(axes, Iterable):
        raise TypeError(f"axes must be a sequence of integers, got {axes!r}")
    return tuple(operator.index(axis) for axis in axes)


def reduce_sum(
    operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike = None
) -> Array:
    """Sums the elements over the given axes.

    Args:
      operand: an array of numbers.
      axes: the axes to reduce, nonnegative. The result keeps only the other axes.
      out_sharding: the sharding of the result.

    Returns:
      An array of the operand's dtype, without ``axes``.

    Raises:
      ValueError: if axes are repeated or out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reduce_sum(np.ones((2, 3)), (1,))
      Array([3., 3.], dtype=float32)
    """
    sharding = asked_sharding(out_sharding, "reduce_sum")
    return reduce_sum_p.bind(operand, axes=_reduction_axes(axes), out_sharding=sharding)


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Multiplies the elements over the given axes.

    Args:
      operand: an array of numbers.
      axes: the axes to reduce, nonnegative. The result keeps only the other axes.

    Returns:
      An array of the operand's dtype, without ``axes``.

    Raises:
      ValueError: if axes are repeated or out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reduce_prod(np.array([2, 3, 4]), (0,))
      Array(24, dtype=int32)
    """
    return reduce_prod_p.bind(operand, axes=_reduction_axes(axes))


def reduce_max(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Returns the largest element over the given axes; NaN if any element is NaN.

    Without elements, the result is the smallest value of the dtype.

    Args:
      operand: an array.
      axes: the axes to reduce, nonnegative. The result keeps only the other axes.

    Returns:
      An array of the operand's dtype, without ``axes``.

    Raises:
      ValueError: if axes are repeated or out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reduce_max(np.array([2, 3, 1]), (0,))
      Array(3, dtype=int32)
    """
    return reduce_max_p.bind(operand, axes=_reduction_axes(axes))


def reduce_min(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Returns the smallest element over the given axes; NaN if any element is NaN.

    Without elements, the result is the largest value of the dtype.

    Args:
      operand: an array.
      axes: the axes to reduce, nonnegative. The result keeps only the other axes.

    Returns:
      An array of the operand's dtype, without ``axes``.

    Raises:
      ValueError: if axes are repeated or out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reduce_min(np.array([2, 3, 1]), (0,))
      Array(1, dtype=int32)
    """
    return reduce_min_p.bind(operand, axes=_reduction_axes(axes))


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Returns the bits that are set in all elements over the given axes.

    Args:
      operand: an array of integers or booleans.
      axes: the axes to reduce, nonnegative. The result keeps only the other axes.

    Returns:
      An array of the operand's dtype, without ``axes``.

    Raises:
      ValueError: if axes are repeated or out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reduce_and(np.array([6, 3]), (0,))
      Array(2, dtype=int32)
    """
    return reduce_and_p.bind(operand, axes=_reduction_axes(axes))


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Returns the bits that are set in any element over the given axes.

    Args:
      operand: an array of integers or booleans.
      axes: the axes to reduce, nonnegative. The result keeps only the other axes.

    Returns:
      An array of the operand's dtype, without ``axes``.

    Raises:
      ValueError: if axes are repeated or out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reduce_or(np.array([True, False]), (0,))
      Array(True, dtype=bool)
    """
    return reduce_or_p.bind(operand, axes=_reduction_axes(axes))


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Returns the bits that are set in an odd number of elements over the given axes.

    Args:
      operand: an array of integers or booleans.
      axes: the axes to reduce, nonnegative. The result keeps only the other axes.

    Returns:
      An array of the operand's dtype, without ``axes``.

    Raises:
      ValueError: if axes are repeated or out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reduce_xor(np.array([6, 3]), (0,))
      Array(5, dtype=int32)
    """
    return reduce_xor_p.bind(operand, axes=_reduction_axes(axes))


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Returns the index of the largest element along an axis.

    If several elements are largest, returns the index of the first; if there are NaNs, the index of
    the first NaN.

    Args:
      operand: an array with at least one element along the axis.
      axis: the axis to reduce, nonnegative. The result keeps only the other axes.
      index_dtype: the integer dtype of the result.

    Returns:
      An array of ``index_dtype``, without ``axis``.

    Raises:
      ValueError: if ``axis`` is out of range or has no elements.
      TypeError: if ``index_dtype`` is not an integer dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.argmax(np.array([2, 3, 1]), 0, "int32")
      Array(1, dtype=int32)
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(index_dtype, "argmax")
    return argmax_p.bind(operand, axes=(operator.index(axis),), index_dtype=dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Returns the index of the smallest element along an axis.

    If several elements are smallest, returns the index of the first; if there are NaNs, the index
    of the first NaN.

    Args:
      operand: an array with at least one element along the axis.
      axis: the axis to reduce, nonnegative. The result keeps only the other axes.
      index_dtype: the integer dtype of the result.

    Returns:
      An array of ``index_dtype``, without ``axis``.

    Raises:
      ValueError: if ``axis`` is out of range or has no elements.
      TypeError: if ``index_dtype`` is not an integer dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.argmin(np.array([2, 3, 1]), 0, "int32")
      Array(2, dtype=int32)
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(index_dtype, "argmin")
    return argmin_p.bind(operand, axes=(operator.index(axis),), index_dtype=dtype)


# ---- reductions by a function ----


@reduce_p.def_abstract_eval
def _reduce_shape(
    *avals: ShapedArray, computation: Any, jaxpr: Any, dimensions: tuple
) -> list[ShapedArray]:
    operands, init_values = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    if any(operand.shape != operands[0].shape for operand in operands):
        raise ShapeError(
            "the operands of reduce must have the same shape, got "
            + ", ".join(str(operand.shape) for operand in operands)
        )
    for operand, init_value in zip(operands, init_values, strict=True):
        if init_value.shape:
            raise ValueError(
                f"reduce found non-scalar initial value: init_values have shape {init_value.shape}"
            )
        if operand.dtype != init_value.dtype:
            raise TypeError(
                "reduce requires operands and init_values of the same dtypes, got "
                f"{dtypes.name_of(operand.dtype)} and {dtypes.name_of(init_value.dtype)}"
            )
    shape = reduced_shape("reduce", operands[0], dimensions)
    return [
        ShapedArray(shape, operand.dtype, operand.weak_type and init_value.weak_type)
        for operand, init_value in zip(operands, init_values, strict=True)
    ]


def reduce(
    operands: ArrayLike,
    init_values: ArrayLike,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: ShardingLike = None,
) -> PyTree:
    """Reduces arrays over dimensions by a binary function.

    Args:
      operands: an array, or a pytree of arrays of the same shape.
      init_values: the neutral elements, scalars in the same structure.
      computation: an associative and commutative function of two scalars, or of two pytrees of
        scalars.
      dimensions: the dimensions to reduce, which the results omit.
      out_sharding: the sharding of the result.

    Returns:
      The results in the structure of ``operands``. If ``computation`` is a sum, product, extremum
      or bitwise operation and ``init_values`` is its neutral element, the reduction is recorded as
      `reduce_sum`, `reduce_prod` and so on.

    Raises:
      ValueError: if structures differ, or initial values are not scalars.
      TypeError: if dtypes differ, or the results of ``computation`` differ in type from its
        arguments.
      ShapeError: if the operands differ in shape.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reduce(np.arange(4), 0, lax.add, (0,))
      Array(6, dtype=int32)
    """
    flat_operands, tree = pytrees.tree_flatten(operands)
    flat_inits, init_tree = pytrees.tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    if not callable(computation):
        raise TypeError(f"reduce: `computation` must be a function, got {computation!r}")
    dimensions = _reduction_axes(dimensions)
    flat_inits = [
        _typed_init_value(init, operand)
        for init, operand in zip(flat_inits, flat_operands, strict=True)
    ]
    if len(flat_operands) == 1:
        monoid = _monoid_reduction(computation, flat_operands[0], flat_inits[0])
        if monoid is not None:
            sharding = asked_sharding(out_sharding, "reduce")
            extra = {"out_sharding": sharding} if monoid is reduce_sum_p else {}
            result = monoid.bind(flat_operands[0], axes=dimensions, **extra)
            return pytrees.tree_unflatten(tree, [result])
    closed = traced_reduction("reduce", computation, operands, flat_inits)
    results = reduce_p.bind(
        *flat_operands,
        *flat_inits,
        computation=computation,
        jaxpr=closed,
        dimensions=dimensions,
    )
    return pytrees.tree_unflatten(tree, results)


def _typed_init_value(init_value: ArrayLike, operand: ArrayLike) -> ArrayLike:
    """Returns the initial value; a Python scalar is converted to the operand's dtype."""
    if np.shape(init_value):
        raise ValueError(f"reduce found non-scalar initial value: shape {np.shape(init_value)}")
    if dtypes.is_python_scalar(init_value) and dtype_of(init_value) != dtype_of(operand):
        return convert_dtype(init_value, dtype_of(operand))
    return init_value


def _monoid_reduction(computation: Any, operand: Any, init_value: Any) -> Primitive | None:
    """Returns the primitive that computes a reduction, such as ``reduce_sum_p``.

    Returns None unless ``computation`` is an operation with such a primitive, and ``init_value`` is
    the neutral element of the operation.
    """
    computation = behind_boundary(computation)
    found = _monoids.get(computation) if isinstance(computation, types.FunctionType) else None
    if found is None or isinstance(init_value, Tracer):
        return None
    primitive, neutral_element = found
    dtype = dtype_of(operand)
    if dtypes.issubdtype(dtype, np.complexfloating) or not _is_number(dtype):
        return None
    if not _is_number(dtype_of(init_value)):
        return None
    return primitive if np.asarray(init_value).item() == neutral_element(dtype) else None


def _is_number(dtype: Any) -> bool:
    return not dtypes.is_extended(dtype)


def lowest(dtype: Any) -> Any:
    """Returns the neutral element of the maximum."""
    if dtypes.issubdtype(dtype, np.bool_):
        return False
    if dtypes.issubdtype(dtype, np.integer):
        return int(dtypes.iinfo(dtype).min)
    return -np.inf if dtypes.supports_inf(dtype) else float(dtypes.finfo(dtype).min)


def highest(dtype: Any) -> Any:
    """Returns the neutral element of the minimum."""
    if dtypes.issubdtype(dtype, np.bool_):
        return True
    if dtypes.issubdtype(dtype, np.integer):
        return int(dtypes.iinfo(dtype).max)
    return np.inf if dtypes.supports_inf(dtype) else float(dtypes.finfo(dtype).max)


def all_bits(dtype: Any) -> Any:
    """Returns the neutral element of the bitwise and."""
    if dtypes.issubdtype(dtype, np.bool_):
        return True
    return highest(dtype) if dtypes.issubdtype(dtype, np.unsignedinteger) else -1


_monoids: dict[Any, tuple[Primitive, Callable[[Any], Any]]] = {
    arithmetic.add: (reduce_sum_p, lambda dtype: 0),
    arithmetic.mul: (reduce_prod_p, lambda dtype: 1),
    arithmetic.max: (reduce_max_p, lowest),
    arithmetic.min: (reduce_min_p, highest),
    logic.bitwise_and: (reduce_and_p, all_bits),
    logic.bitwise_or: (reduce_or_p, lambda dtype: 0),
    logic.bitwise_xor: (reduce_xor_p, lambda dtype: 0),
}


# ---- cumulative operations ----


def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Computes cumulative sums along an axis.

    Args:
      operand: an array of numbers.
      axis: the axis, nonnegative.
      reverse: whether to accumulate from the end of the axis.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ValueError: if ``axis`` is out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.cumsum(np.arange(4))
      Array([0, 1, 3, 6], dtype=int32)
    """
    return cumsum_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Computes cumulative products along an axis.

    Args:
      operand: an array of numbers.
      axis: the axis, nonnegative.
      reverse: whether to accumulate from the end of the axis.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ValueError: if ``axis`` is out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.cumprod(np.array([1, 2, 3, 4]))
      Array([ 1,  2,  6, 24], dtype=int32)
    """
    return cumprod_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Computes cumulative maxima along an axis.

    Args:
      operand: an array.
      axis: the axis, nonnegative.
      reverse: whether to accumulate from the end of the axis.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ValueError: if ``axis`` is out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.cummax(np.array([1, 3, 2, 4]))
      Array([1, 3, 3, 4], dtype=int32)
    """
    return cummax_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Computes cumulative minima along an axis.

    Args:
      operand: an array.
      axis: the axis, nonnegative.
      reverse: whether to accumulate from the end of the axis.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ValueError: if ``axis`` is out of range.
      TypeError: if the dtype is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.cummin(np.array([3, 2, 4, 1]), reverse=True)
      Array([1, 1, 1, 1], dtype=int32)
    """
    return cummin_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Computes cumulative logarithms of sums of exponentials along an axis.

    Args:
      operand: an array of floats or complex numbers.
      axis: the axis, nonnegative.
      reverse: whether to accumulate from the end of the axis.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ValueError: if ``axis`` is out of range.
      TypeError: if the dtype is not accepted; for integers, when the program runs or is lowered.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.cumlogsumexp(np.zeros(1))
      Array([0.], dtype=float32)
    """
    return cumlogsumexp_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def refuse_logarithms_of_integers(dtype: Any) -> None:
    """Checks the dtype of an operand of `cumlogsumexp`, which can be traced for integers, too.

    Raises:
      TypeError: the dtype is neither a float nor complex.
    """
    if not dtypes.issubdtype(dtype, np.inexact):
        raise TypeError(
            f"cumlogsumexp takes an array of floats or complex numbers, got {dtypes.name_of(dtype)}"
        )


def _forget_types_of_sums(_: Any) -> None:
    reduce_sum_p.forget_types()  # the cached types were inferred under the old setting


allow_f16_reductions.add_local_hook(_forget_types_of_sums)
allow_f16_reductions.add_global_hook(_forget_types_of_sums)
