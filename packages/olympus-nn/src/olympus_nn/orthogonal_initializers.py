# SPDX-License-Identifier: Apache-2.0
"""Initializers of orthogonal matrices, which preserve lengths."""

from __future__ import annotations

import math
from typing import Any

import olympus_numpy as onp
import olympus_random as random
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax import linalg
from olympus_ir.types.annotations import ArrayLike, DTypeLike, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import canonicalize_shape
from olympus_ir.types.resharding import laid_out

from .activations import default_float
from .protocols import Initializer

__all__ = ["delta_orthogonal", "orthogonal"]


def _orthogonal_matrix(key: Any, rows: int, columns: int, dtype: Any) -> Any:
    """Samples a matrix uniformly; its rows or columns, whichever are fewer, are orthonormal."""
    draws = random.normal(key, (max(rows, columns), min(rows, columns)), dtype)
    unitary, triangular = linalg.qr(draws, full_matrices=False)
    # The factorization chooses the signs of the columns. Multiplication by the signs of the
    # diagonal of `triangular` undoes this choice, so that the matrix is uniformly distributed.
    matrix = onp.multiply(unitary, onp.sign(onp.diagonal(triangular))[None, :])
    return onp.transpose(matrix) if rows < columns else matrix


def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Makes an initializer that samples orthogonal matrices uniformly.

    Args:
      scale: a factor.
      column_axis: the axis of outputs; all other axes together are the axis of inputs.
      dtype: the dtype of the weights if the initializer is called without a dtype.

    Returns:
      The initializer, a function of a key, a shape and a dtype.

    Raises:
      ValueError: the shape has fewer than two axes. The error is raised when weights are drawn.

    Example:
      >>> weights = orthogonal()(random.key(0), (3, 2))
      >>> bool(abs(weights.T @ weights - onp.eye(2)).max() < 1e-5)
      True
    """
    default = dtype

    @api_boundary
    @laid_out(position=3)
    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: ShardingLike = None) -> Array:
        dtype = default_float(default if dtype is None else dtype)
        shape = canonicalize_shape(shape)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        columns = shape[column_axis]
        others = list(shape)
        del others[column_axis]
        matrix = _orthogonal_matrix(key, math.prod(others), columns, dtype)
        weights = onp.moveaxis(onp.reshape(matrix, (*others, columns)), -1, column_axis)
        return onp.multiply(onp.asarray(scale, dtype), weights)

    return init


def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Makes an initializer of convolutions that preserve lengths.

    The weights are an orthogonal matrix at the center of the window, and zero elsewhere.

    Xiao, Bahri, Sohl-Dickstein, Schoenholz, Pennington: Dynamical isometry and a mean field theory
    of CNNs. ICML 2018.

    Args:
      scale: a factor.
      column_axis: the axis of outputs of the matrix at the center.
      dtype: the dtype of the weights if the initializer is called without a dtype.

    Returns:
      The initializer, a function of a key, a shape and a dtype.

    Raises:
      ValueError: the shape does not have 3 to 5 axes, or has more inputs than outputs.

    Example:
      >>> delta_orthogonal()(random.key(0), (3, 3, 2, 4))[0, 0]
      Array([[0., 0., 0., 0.],
             [0., 0., 0., 0.]], dtype=float32)
    """
    default = dtype

    @api_boundary
    @laid_out(position=3)
    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: ShardingLike = None) -> Array:
        dtype = default_float(default if dtype is None else dtype)
        shape = canonicalize_shape(shape)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        center = tuple((size - 1) // 2 for size in shape[:-2])
        return onp.zeros(shape, dtype).at[center].set(matrix)

    return init
