# SPDX-License-Identifier: Apache-2.0
"""`logsumexp`, which NumPy lacks; dependent packages use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import dtype_of
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where as select_where
from ..arrays.shaping import expand_dims
from ..core.axes import canonical_axis, hashable_axes, named_axes
from ..core.promotion import check_arraylike, convert, ensure_array, promote_dtypes_inexact
from ..elementwise.arithmetic import multiply, subtract
from ..elementwise.complex_parts import real
from ..elementwise.logic import less, not_equal
from ..elementwise.transcendental import exp
from ..reductions.extremes import max as largest_of
from ..reductions.sums import sum as sum_of

__all__ = ["logsumexp", "reduced_axes"]


@overload
def logsumexp(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any: ...
def logsumexp(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """Computes ``log(sum(b * exp(a)))`` without overflow of the exponentials.

    Args:
      a: an array.
      axis: the axis or axes that are summed; all if None.
      b: factors, which broadcast to ``a``; 1 if None.
      keepdims: whether summed axes stay, with size 1.
      return_sign: whether to also return the sign of the sum. The logarithm is then that of the
        sum's magnitude. Without the sign, the result is NaN for a negative sum.
      where: a boolean mask of the elements to include; all if None.

    Returns:
      The logarithm, or the pair of the logarithm and the sign.

    Example:
      >>> round(float(logsumexp(np.array([1000.0, 1000.0], np.float32))), 3)
      1000.693
    """
    if b is None:
        check_arraylike("logsumexp", a)
        (a,) = promote_dtypes_inexact(ensure_array(a))
    else:
        check_arraylike("logsumexp", a, b)
        a, b = promote_dtypes_inexact(ensure_array(a), ensure_array(b))
    if where is not None:
        a = select_where(where, a, 0)
    if b is not None:
        # Zero times an infinite exponential would be NaN.
        a = select_where(not_equal(b, 0), a, -np.inf)
    axes, names = named_axes(hashable_axes("logsumexp", axis, names=True), np.ndim(a))
    reduced: Any = (*axes, *names)
    largest = largest_of(real(a), axis=reduced, keepdims=keepdims, where=where, initial=-np.inf)
    is_finite = lax.is_finite(largest)
    shift = lax.stop_gradient(lax.select(is_finite, largest, lax.full_like(largest, 0)))
    shift_of_elements = shift if keepdims else expand_dims(shift, axes)
    terms = exp(subtract(a, convert(shift_of_elements, dtype_of(a))))
    if b is not None:
        terms = multiply(terms, b)
    total = sum_of(terms, axis=reduced, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    is_complex = dtypes.issubdtype(total.dtype, np.complexfloating)
    if return_sign or not is_complex:
        total = lax.abs(total)
    logarithm = lax.log(total)
    logarithm = lax.add(logarithm, convert(shift, logarithm.dtype))
    if return_sign:
        return logarithm, sign
    if b is not None and not is_complex:
        logarithm = select_where(less(sign, 0), np.asarray(np.nan, sign.dtype), logarithm)
    return logarithm


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Returns the axes of a reduction, counted from the first; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if not isinstance(axis, (tuple, list)) else axis
    return tuple(canonical_axis(axis, ndim) for axis in axes)
