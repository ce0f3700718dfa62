# SPDX-License-Identifier: Apache-2.0
"""Removal of trends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.axes import canonical_axis
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.promotion import check_arraylike, promote_dtypes_inexact

__all__ = ["detrend"]


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray = 0,
    overwrite_data: None = None,
) -> Array:
    """Removes a linear trend or the mean from data.

    Args:
      data: an array of numbers.
      axis: the axis along which to remove the trend.
      type: ``"linear"`` or ``"constant"``.
      bp: the breakpoints, indices along the axis. Each part between two breakpoints has its own
        linear trend. For ``"constant"``, breakpoints are ignored.
      overwrite_data: must be None, since arrays are immutable.

    Returns:
      An array of inexact dtype, of the shape of ``data``.

    Raises:
      ValueError: the type is unknown, or a breakpoint is out of range.
      TypeError: a breakpoint is not an integer.
      NotImplementedError: ``overwrite_data`` is given.

    Example:
      >>> import olympus_numpy as jnp
      >>> detrend(jnp.array([0.0, 1.0]), type="constant")
      Array([-0.5,  0.5], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError(
            "overwrite_data argument of detrend: arrays do not change; leave it out."
        )
    check_arraylike("detrend", data)
    if type not in ("linear", "constant"):
        raise ValueError(f"Trend type must be 'linear' or 'constant', got {type!r}.")
    axis = canonical_axis(axis, onp.ndim(data))
    bounds = _bounds(bp, onp.shape(data)[axis]) if type == "linear" else ()
    return _detrend(data, axis, type, bounds)


def _bounds(bp: Any, size: int) -> tuple[int, ...]:
    """Returns the indices where the parts with separate trends begin, followed by ``size``."""
    points = np.atleast_1d(np.asarray(bp))
    if points.size and points.dtype.kind not in "biu":
        raise TypeError(f"The breakpoints `bp` of detrend must be integers, got {bp!r}.")
    if points.ndim > 1:
        raise ValueError(
            f"The breakpoints `bp` of detrend must be an integer or a vector, got {bp!r}."
        )
    bounds = sorted({0, size, *map(int, points)})
    if bounds[0] < 0 or bounds[-1] > size:
        raise ValueError(
            "Breakpoints must be non-negative and less than length of data along given axis, got "
            f"{bp} for the length {size}."
        )
    return tuple(bounds)


@outlined("axis", "type", "bounds")
def _detrend(data: Any, axis: int, type: str, bounds: tuple[int, ...]) -> Any:
    (data,) = promote_dtypes_inexact(onp.asarray(data))
    data = onp.moveaxis(data, axis, -1)
    if type == "constant":
        result = data - onp.mean(data, axis=-1, keepdims=True)
    else:
        parts = [data[..., low:high] for low, high in pairwise(bounds)]
        result = onp.concatenate([_without_line(part) for part in parts], axis=-1)
    return onp.moveaxis(result, -1, axis)


def _without_line(data: Any) -> Any:
    """Fits a line by least squares, in an orthogonal basis; returns the residuals."""
    size = data.shape[-1]
    position = np.arange(size) - (size - 1) / 2
    centered = data - onp.mean(data, axis=-1, keepdims=True)
    if size < 2:
        return centered
    basis = (position / np.sqrt(np.sum(position * position))).astype(data.dtype)
    basis = lax.broadcast_to_rank(basis, data.ndim)
    return centered - onp.sum(centered * basis, axis=-1, keepdims=True) * basis
