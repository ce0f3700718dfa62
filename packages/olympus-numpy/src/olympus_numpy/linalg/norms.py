# SPDX-License-Identifier: Apache-2.0
"""Norms of vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.loading import deferred
from olympus_ir.settings import config_states
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where
from ..core.axes import canonical_axes, hashable_axes
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array, promote_dtypes_inexact
from ..elementwise.arithmetic import absolute
from ..elementwise.powers import power, sqrt
from ..reductions.extremes import largest, smallest
from ..reductions.sums import sum_along

if TYPE_CHECKING:
    from . import factoring
else:
    factoring = deferred(".factoring", milliseconds=6.0)

__all__ = ["matrix_norm", "norm", "vector_norm"]


def _magnitude_squares(x: Any) -> Any:
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.real(lax.mul(x, lax.conj(x)))
    return lax.mul(x, x)


def _sum(x: Any, axes: Any, keepdims: bool) -> Any:
    return sum_along(x, axes, None, keepdims, None, None)


def _root(squares: Any) -> Any:
    """Returns the square root.

    Under the flag `olympus_strong_zeros`, all derivatives at zero are zero.
    """
    if not config_states.strong_zeros.value:
        return sqrt(squares)
    is_zero = squares == 0
    return where(is_zero, 0, sqrt(where(is_zero, 1, squares)))


def _norm_of(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    check_arraylike("linalg.norm", x)
    (x,) = promote_dtypes_inexact(ensure_array(x))
    x = ensure_array(x)
    if axis is None:
        if ord is None:
            return _root(_sum(_magnitude_squares(x), None, keepdims))
        axes = tuple(range(x.ndim))
    else:
        axes = canonical_axes(axis, x.ndim)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(
        f"Improper number of axes for norm: axis={axes}. Pass one axis for norms of vectors, "
        "`axis=-1`, or two for norms of matrices, `axis=(-2, -1)`."
    )


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return _root(_sum(_magnitude_squares(x), axes, keepdims))
    if isinstance(ord, str):
        raise ValueError(f"Invalid order '{ord}' for vector norm.")
    if ord == np.inf:
        return largest(absolute(x), axes, keepdims, 0 if 0 in x.shape else None)
    if ord == -np.inf:
        return smallest(absolute(x), axes, keepdims)
    if ord == 0:
        nonzero = convert(lax.ne(x, np.zeros((), x.dtype)), dtypes.to_floating_dtype(x.dtype))
        return _sum(nonzero, axes, keepdims)
    magnitude = absolute(x)
    if ord == 1:
        return _sum(magnitude, axes, keepdims)
    order = np.array(ord, magnitude.dtype)
    total = _sum(power(magnitude, order), axes, keepdims)
    return power(total, np.array(1 / ord, magnitude.dtype))


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    rows, columns = axes
    if ord is None or ord in ("f", "fro"):
        return sqrt(_sum(_magnitude_squares(x), axes, keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = _sum(absolute(x), (inner,), True)
        extreme = largest if ord > 0 else smallest
        result = extreme(sums, (outer,), True, 0 if ord > 0 and 0 in sums.shape else None)
        return result if keepdims else lax.squeeze(result, axes)
    if ord in (2, -2, "nuc"):
        others = [axis for axis in range(x.ndim) if axis not in axes]
        moved = lax.transpose(x, (*others, rows, columns))
        values = factoring.svd(moved, compute_uv=False)
        last = (values.ndim - 1,)
        if ord == "nuc":
            result = _sum(values, last, False)
        elif ord > 0:
            result = largest(values, last, False, initial=0)
        else:
            result = smallest(values, last, False)
        return lax.expand_dims(result, tuple(sorted(axes))) if keepdims else result
    raise ValueError(f"Invalid order '{ord}' for matrix norm.")


_norm = compiled(_norm_of, ("ord", "axis", "keepdims"), name="norm")


def norm(
    x: ArrayLike,
    ord: int | float | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Array:
    """Returns the norm of vectors or matrices.

    Args:
      x: an array.
      ord: the order of the norm. Vector norms take a number, 2 by default. Matrix norms take
        ``"fro"``, which is the default, ``"nuc"``, 1, -1, 2, -2, inf or -inf.
      axis: one axis for vectors, two for matrices. By default, ``x`` is a single vector or matrix;
        if ``ord`` is not given either, ``x`` is flattened.
      keepdims: whether the axes are kept with size one.

    Returns:
      A real array without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> norm(array([3.0, 4.0]))
      Array(5., dtype=float32)
    """
    return _norm(x, ord, hashable_axes("linalg.norm", axis), bool(keepdims))


def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: int | float | str | None = 2,
) -> Array:
    """Returns the norm of vectors.

    Args:
      x: an array.
      axis: the axis or axes whose elements form a vector; all by default.
      keepdims: whether the axes are kept with size one.
      ord: the order of the norm, a number.

    Returns:
      A real array without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> vector_norm(array([3.0, 4.0]), ord=1)
      Array(7., dtype=float32)
    """
    check_arraylike("linalg.vector_norm", x)
    return _all_vector_norm(x, ord, hashable_axes("linalg.vector_norm", axis), bool(keepdims))


def _vector_norm_of(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    (x,) = promote_dtypes_inexact(ensure_array(x))
    x = ensure_array(x)
    return _vector_norm(x, ord, canonical_axes(axis, x.ndim), keepdims)


_all_vector_norm = compiled(_vector_norm_of, ("ord", "axis", "keepdims"), name="vector_norm")


def matrix_norm(
    x: ArrayLike, /, *, keepdims: bool = False, ord: int | float | str | None = "fro"
) -> Array:
    """Returns the norms of the matrices in the last two dimensions.

    Args:
      x: an array.
      keepdims: whether the two dimensions are kept with size one.
      ord: the order; see `norm`.

    Returns:
      A real array without the last two dimensions, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> matrix_norm(array([[3.0, 4.0]]))
      Array(5., dtype=float32)
    """
    check_arraylike("linalg.matrix_norm", x)
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))
