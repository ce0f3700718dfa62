# SPDX-License-Identifier: Apache-2.0
"""Interpolation of n-dimensional images."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined, unless_default
from olympus_numpy.core.options import is_among
from olympus_numpy.core.promotion import check_arraylike

__all__ = ["map_coordinates"]


def _mirror(index: Any, size: int) -> Any:
    """Reflects indices about the centers of the first and the last element."""
    last = max(size - 1, 1)
    folded = onp.abs(index) % (2 * last)
    return onp.minimum(folded, 2 * last - folded) if size > 1 else onp.zeros_like(index)


def _reflect(index: Any, size: int) -> Any:
    """Reflects indices about the outer edges of the first and the last element."""
    return onp.floor_divide(_mirror(2 * index + 1, 2 * size + 1), 2)


_MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: onp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirror,
    "reflect": _reflect,
}


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """Interpolates an array at given coordinates.

    Unlike SciPy's function, it supports only the orders 0 and 1, and no ``output`` or
    ``prefilter``.

    Args:
      input: an array with d dimensions.
      coordinates: d arrays of the same shape, the coordinates along each dimension in units of
        elements.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: the extension beyond the edges: ``"constant"``, ``"nearest"``, ``"wrap"``, ``"mirror"``
        or ``"reflect"``.
      cval: the value outside of the array in the mode ``"constant"``.

    Returns:
      An array of the shape of the coordinates and the dtype of ``input``; integers are rounded.

    Raises:
      ValueError: the number of coordinate arrays is not the number of dimensions.
      NotImplementedError: the order is above 1, or the mode is unknown.

    Example:
      >>> import olympus_numpy as jnp
      >>> map_coordinates(jnp.array([0.0, 1.0]), [jnp.array([0.5])], 1)
      Array([0.5], dtype=float32)
    """
    check_arraylike("map_coordinates", input, *coordinates)
    if len(coordinates) != onp.ndim(input):
        raise ValueError(
            "coordinates must be a sequence of length input.ndim, but "
            f"{len(coordinates)} != {onp.ndim(input)}"
        )
    if not is_among(mode, _MODES):
        raise NotImplementedError(
            f"map_coordinates does not support mode {mode}. Supported modes are "
            f"{', '.join(_MODES)}."
        )
    if order not in (0, 1):
        raise NotImplementedError(
            "map_coordinates currently requires order<=1, as splines are not supported; got "
            f"order={order}."
        )
    cval = unless_default(cval, 0.0)
    return _map_coordinates(input, list(coordinates), order, mode, cval)


@outlined("order", "mode")
def _map_coordinates(array: Any, coordinates: list[Any], order: int, mode: str, cval: Any) -> Any:
    array = onp.asarray(array)
    cval = onp.asarray(0.0 if cval is None else cval, array.dtype)
    choices = [
        _neighbors(onp.asarray(position), size, order, mode)
        for position, size in zip(coordinates, array.shape, strict=True)
    ]
    total: Any = None
    for neighbors in itertools.product(*choices):
        indices, inside, weights = zip(*neighbors, strict=True) if neighbors else ((), (), ())
        value = array[tuple(indices)]
        if mode == "constant":
            legal = onp.asarray(True)
            for condition in inside:
                legal = legal & condition
            value = onp.where(legal, value, cval)
        for weight in weights:
            value = value * weight
        total = value if total is None else total + value
    if dtypes.issubdtype(array.dtype, np.integer) and not dtypes.issubdtype(
        total.dtype, np.integer
    ):
        total = lax.round(total, lax.RoundingMethod.AWAY_FROM_ZERO)
    return total.astype(array.dtype)


def _neighbors(position: Any, size: int, order: int, mode: str) -> list[tuple[Any, Any, Any]]:
    """Returns the neighboring indices along one dimension, their validity and their weights."""
    if order == 0:
        if dtypes.issubdtype(position.dtype, np.inexact):
            position = lax.round(position, lax.RoundingMethod.AWAY_FROM_ZERO)
        return [_neighbor(position, 1, size, mode)]
    lower = onp.floor(position)
    upper_weight = position - lower
    return [
        _neighbor(lower, 1 - upper_weight, size, mode),
        _neighbor(lower + 1, upper_weight, size, mode),
    ]


def _neighbor(position: Any, weight: Any, size: int, mode: str) -> tuple[Any, Any, Any]:
    index = position.astype(np.int32)
    inside = (index >= 0) & (index < size)
    # Indices outside of the array, possible in the mode "constant", are clamped. The values at
    # these indices are not used.
    return onp.clip(_MODES[mode](index, size), 0, max(size - 1, 0)), inside, weight
