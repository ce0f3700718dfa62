# SPDX-License-Identifier: Apache-2.0
"""Interpolation of values given on a grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_numpy.core.options import is_among
from olympus_numpy.core.promotion import check_arraylike, of_promotable_dtype

__all__ = ["RegularGridInterpolator"]

_METHODS = ("linear", "nearest")


@boundary_class
class RegularGridInterpolator:
    """Interpolator of values on a rectangular grid.

    Unlike SciPy's interpolator, it does not support ``bounds_error=True`` or the spline methods. An
    interpolator is a pytree of its arrays, so it can be an argument of transformed functions.

    Args:
      points: for each dimension the increasing grid coordinates, an array of shape (n,).
      values: the values on the grid, of shape (n_1, ..., n_d, ...); each value is an array if there
        are trailing dimensions.
      method: ``"linear"`` or ``"nearest"``.
      bounds_error: must be False, since values are unknown while tracing.
      fill_value: the value outside of the grid; None extrapolates.

    Raises:
      NotImplementedError: ``bounds_error`` is true.
      ValueError: the method is unknown, or the shapes of ``points`` and ``values`` do not match.

    Example:
      >>> import olympus_numpy as jnp
      >>> f = RegularGridInterpolator((jnp.arange(2.0),), jnp.array([0.0, 4.0]))
      >>> f(jnp.array([0.25]))
      Array([1.], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        self._check_method(method)
        if bounds_error:
            raise NotImplementedError(
                "`bounds_error` takes no effect under JIT: values are not known while tracing."
            )
        check_arraylike("RegularGridInterpolator", values, *points)
        values = onp.asarray(values)
        if len(points) > values.ndim:
            raise ValueError(
                f"there are {len(points)} point arrays, but values has {values.ndim} dimensions"
            )
        if fill_value is not None:
            check_arraylike("RegularGridInterpolator", fill_value)
            fill_value = onp.asarray(fill_value)
        for axis, coordinates in enumerate(points):
            if onp.ndim(coordinates) != 1:
                raise ValueError(f"the points in dimension {axis} must be 1-dimensional")
            if values.shape[axis] != onp.shape(coordinates)[0]:
                raise ValueError(
                    f"there are {onp.shape(coordinates)[0]} points and {values.shape[axis]} values "
                    f"in dimension {axis}"
                )
        self.method = method
        self.bounds_error = bounds_error
        self.fill_value = fill_value
        self.grid = tuple(onp.asarray(of_promotable_dtype(x)) for x in points)
        self.values = values.astype(dtypes.to_inexact_dtype(values.dtype))

    @staticmethod
    def _check_method(method: str) -> None:
        if not is_among(method, _METHODS):
            raise ValueError(f"method {method!r} is not defined; it is 'linear' or 'nearest'")

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """Interpolates at points.

        Args:
          xi: an array whose last axis holds the d coordinates, or a tuple of d arrays that
            broadcast.
          method: overrides the method given to the constructor.

        Returns:
          An array of inexact dtype, of the shape of the points followed by the trailing dimensions
          of ``values``.

        Raises:
          ValueError: the points have a wrong number of coordinates, or the method is unknown.
        """
        method = self.method if method is None else method
        self._check_method(method)
        points = self._points(xi)
        dimension = len(self.grid)
        if points.shape[-1] != dimension:
            raise ValueError(
                f"the requested sample points xi have dimension {points.shape[-1]}, but this "
                f"RegularGridInterpolator has dimension {dimension}"
            )
        flat = onp.reshape(points, (-1, dimension))
        positions = [_place(flat[:, axis], grid) for axis, grid in enumerate(self.grid)]
        result = (self._linear if method == "linear" else self._nearest)(positions)
        if self.fill_value is not None:
            outside = onp.zeros(flat.shape[0], bool)
            for axis, grid in enumerate(self.grid):
                outside = outside | (flat[:, axis] < grid[0]) | (flat[:, axis] > grid[-1])
            outside = onp.reshape(outside, (-1,) + (1,) * (result.ndim - 1))
            result = onp.where(outside, self.fill_value, result)
        return onp.reshape(result, points.shape[:-1] + self.values.shape[dimension:])

    def _points(self, xi: Any) -> Any:
        if isinstance(xi, tuple):
            check_arraylike("RegularGridInterpolator", *xi)
            points = onp.stack(onp.broadcast_arrays(*xi), axis=-1)
        else:
            check_arraylike("RegularGridInterpolator", xi)
            points = onp.asarray(xi)
            if points.ndim < 2 and len(self.grid) == 1:
                points = onp.reshape(points, (-1, 1))
        return points.astype(dtypes.to_inexact_dtype(points.dtype))

    def _linear(self, positions: list[tuple[Any, Any]]) -> Any:
        total: Any = 0
        extra = (1,) * (self.values.ndim - len(self.grid))
        for corner in itertools.product((0, 1), repeat=len(positions)):
            weight: Any = 1
            for side, (_, fraction) in zip(corner, positions, strict=True):
                weight = weight * (fraction if side else 1 - fraction)
            indices = tuple(
                lower + side for side, (lower, _) in zip(corner, positions, strict=True)
            )
            total = total + self.values[indices] * onp.reshape(weight, (-1, *extra))
        return total

    def _nearest(self, positions: list[tuple[Any, Any]]) -> Any:
        return self.values[
            tuple(onp.where(fraction <= 0.5, lower, lower + 1) for lower, fraction in positions)
        ]


def _flattened(interpolator: RegularGridInterpolator) -> tuple[tuple[Any, ...], tuple[str, bool]]:
    arrays = interpolator.grid, interpolator.values, interpolator.fill_value
    return arrays, (interpolator.method, interpolator.bounds_error)


def _unflattened(options: tuple[str, bool], arrays: tuple[Any, ...]) -> RegularGridInterpolator:
    """Makes an interpolator from leaves of any type, without the constructor's checks."""
    interpolator = object.__new__(RegularGridInterpolator)
    interpolator.method, interpolator.bounds_error = options
    interpolator.grid, interpolator.values, interpolator.fill_value = arrays
    return interpolator


pytrees.register_pytree_node(RegularGridInterpolator, _flattened, _unflattened)


def _place(x: Any, grid: Any) -> tuple[Any, Any]:
    """Returns the index of the cell around a coordinate, and the position in that cell.

    Coordinates outside of the grid belong to the nearest cell.
    """
    last = max(grid.shape[0] - 2, 0)
    lower = onp.clip(onp.searchsorted(grid, x, side="right") - 1, 0, last)
    width = grid[lower + 1] - grid[lower] if grid.shape[0] > 1 else onp.ones_like(x)
    return lower, (x - grid[lower]) / onp.where(width == 0, 1, width)
