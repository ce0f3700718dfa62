# SPDX-License-Identifier: Apache-2.0
"""Truth values along axes: `all`, `any` and `count_nonzero`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where as choose_where
from ..core.axes import (
    canonical_axes,
    hashable_axes,
    refuse_out,
)
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array
from .arguments import check_where, keep_axes
from .sums import summed

__all__ = ["all", "any", "count_nonzero"]

_bool = np.dtype(bool)


def _truth(
    name: str,
    operation: Callable[[Any, tuple], Any],
    identity: bool,
    a: Any,
    axis: Any,
    keepdims: bool,
    where: Any,
) -> Any:
    check_arraylike(name, a)
    a = ensure_array(a)
    check_where(name, where)
    axes = canonical_axes(axis, a.ndim)
    a = convert(a, _bool)
    shape = a.shape
    if where is not None:
        a = choose_where(where, a, np.array(identity))
        shape = a.shape
    return keep_axes(operation(a, axes), shape, axes, keepdims)


def _all_of(a: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    return _truth("all", lax.reduce_and, True, a, axis, keepdims, where)


def _any_of(a: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    return _truth("any", lax.reduce_or, False, a, axis, keepdims, where)


_all = compiled(_all_of, ("axis", "keepdims"), inline=True, name="_reduce_all")


_any = compiled(_any_of, ("axis", "keepdims"), inline=True, name="_reduce_any")


def all_along(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """Calls the compiled `all` with positional arguments."""
    return _all(a, hashable_axes("all", axis), keepdims, where)


def any_along(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """Calls the compiled `any` with positional arguments."""
    return _any(a, hashable_axes("any", axis), keepdims, where)


def all(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Returns whether all elements along axes are true; numbers are true if they are not zero.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      where: a boolean mask of the elements to include.

    Returns:
      A boolean array without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> all(array([[1, 0], [2, 3]]), axis=1)
      Array([False,  True], dtype=bool)
    """
    if out is not None:
        refuse_out("all")
    return _all(a, hashable_axes("all", axis), keepdims, where)


def any(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Returns whether some element along axes is true; numbers are true if they are not zero.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      where: a boolean mask of the elements to include.

    Returns:
      A boolean array without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> any(array([[0, 0], [2, 0]]), axis=1)
      Array([False,  True], dtype=bool)
    """
    if out is not None:
        refuse_out("any")
    return _any(a, hashable_axes("any", axis), keepdims, where)


def _number_of_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    check_arraylike("count_nonzero", a)
    a = ensure_array(a)
    return summed(lax.ne(a, np.zeros((), a.dtype)), axis, None, keepdims)


_count_nonzero = compiled(_number_of_nonzero, ("axis", "keepdims"), name="count_nonzero")


def count_nonzero(
    a: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Array:
    """Returns the number of nonzero elements along axes.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      keepdims: whether the axes are kept with size one.

    Returns:
      An integer array without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> count_nonzero(array([3, 0, 1]))
      Array(2, dtype=int32)
    """
    return _count_nonzero(a, hashable_axes("count_nonzero", axis, names=True), keepdims)
