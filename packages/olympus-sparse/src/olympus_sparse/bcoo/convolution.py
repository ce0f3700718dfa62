# SPDX-License-Identifier: Apache-2.0
"""Convolution of BCOO arrays along one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_numpy.core.promotion import promote_dtypes

from ..core.base import SparseInfo
from ..core.entries import in_bounds
from .array import BCOO, make
from .layouts import bcoo_update_layout

__all__ = ["bcoo_conv_general_dilated"]


def bcoo_conv_general_dilated(
    lhs: BCOO,
    rhs: BCOO,
    *,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> BCOO:
    """Returns a one-dimensional convolution of two sparse arrays with one example and one feature.

    The result has an entry for each pair of entries.

    Args:
      lhs: the array, of shape ``(1, 1, size)`` or as ``dimension_numbers`` says.
      rhs: the kernel, of shape ``(1, 1, size)`` or as ``dimension_numbers`` says.
      window_strides: the distance between windows, a tuple of one integer.
      padding: ``"SAME"``, ``"VALID"``, ``"SAME_LOWER"``, or a sequence of one pair: the numbers of
        zeros before and after.
      lhs_dilation: the distance between elements of ``lhs``, a tuple of one integer.
      rhs_dilation: the distance between elements of ``rhs``, a tuple of one integer.
      dimension_numbers: as for `lax.conv_general_dilated`.
      feature_group_count: must be one.
      batch_group_count: must be one.
      precision: has no effect.
      preferred_element_type: the dtype of the result.
      out_sharding: must be None.

    Raises:
      NotImplementedError: there are more dimensions, examples or features.

    Example:
      >>> import numpy as np
      >>> signal = BCOO.fromdense(np.array([[[0, 1, 0, 0, 2]]], np.float32))
      >>> kernel = BCOO.fromdense(np.array([[[1, 0, 3]]], np.float32))
      >>> out = bcoo_conv_general_dilated(
      ...     signal, kernel, window_strides=(1,), padding=[(0, 0)]
      ... )
      >>> np.asarray(out.todense()).tolist()
      [[[0.0, 1.0, 6.0]]]
    """
    if out_sharding is not None:
        raise NotImplementedError("bcoo_conv_general_dilated: out_sharding must be None")
    if not isinstance(lhs, BCOO) or not isinstance(rhs, BCOO):
        raise ValueError("bcoo_conv_general_dilated: both operands must be BCOO")
    if (feature_group_count, batch_group_count) != (1, 1):
        raise NotImplementedError(
            "bcoo_conv_general_dilated: feature_group_count and batch_group_count must be 1"
        )
    if lhs.ndim != 3 or rhs.ndim != 3:
        raise NotImplementedError("bcoo_conv_general_dilated: only one spatial dimension")
    numbers = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    lhs_size, rhs_size = lhs.shape[numbers.lhs_spec[2]], rhs.shape[numbers.rhs_spec[2]]
    if lhs.size != lhs_size or rhs.size != rhs_size:
        raise NotImplementedError(
            "bcoo_conv_general_dilated: only one example, and one feature in and out, got "
            f"lhs.shape={lhs.shape} and rhs.shape={rhs.shape}"
        )
    (stride,) = window_strides
    (lhs_dilation_1d,) = lhs_dilation or (1,)
    (rhs_dilation_1d,) = rhs_dilation or (1,)
    dilated_lhs = max(0, (lhs_size - 1) * lhs_dilation_1d + 1) if lhs_size else 0
    dilated_rhs = max(0, (rhs_size - 1) * rhs_dilation_1d + 1) if rhs_size else 0
    if isinstance(padding, str):
        if lhs_dilation_1d != 1:
            raise ValueError(
                f"bcoo_conv_general_dilated: {padding=} with lhs_dilation={lhs_dilation}; give the "
                "numbers of zeros where lhs is dilated"
            )
        ((low, high),) = lax.padtype_to_pads((dilated_lhs,), (dilated_rhs,), (stride,), padding)
    else:
        ((low, high),) = padding
    out_size = max(0, (dilated_lhs + low + high - dilated_rhs) // stride + 1)

    lhs_data, lhs_places = _entries(lhs, numbers.lhs_spec[2])
    rhs_data, rhs_places = _entries(rhs, numbers.rhs_spec[2])
    lhs_data, rhs_data = promote_dtypes(lhs_data, rhs_data)
    lhs_places, rhs_places = promote_dtypes(lhs_places, rhs_places)
    dtype = preferred_element_type or lhs_data.dtype
    distance = (lhs_places * lhs_dilation_1d + low)[:, None] - rhs_places * rhs_dilation_1d
    kept = (lhs_places < lhs_size)[:, None] & (rhs_places < rhs_size)[None]
    kept &= (distance >= 0) & (distance % stride == 0) & (distance // stride < out_size)
    products = lhs_data.astype(dtype)[:, None] * rhs_data.astype(dtype)[None]
    data = jnp.where(kept, products, jnp.zeros((), products.dtype)).ravel()
    position = jnp.where(kept, distance // stride, out_size).astype(distance.dtype).ravel()
    shape = [1, 1, 1]
    shape[numbers.out_spec[2]] = out_size
    columns = [jnp.zeros_like(position)] * 3
    columns[numbers.out_spec[2]] = position
    out = make((data, jnp.stack(columns, axis=1)), SparseInfo(tuple(shape)))
    first_sparse = numbers.out_spec[2]
    if first_sparse:
        # The dimensions in front have size one, so they need no coordinates.
        data = lax.expand_dims(data, tuple(range(first_sparse)))
        indices = lax.expand_dims(out.indices[:, first_sparse:], tuple(range(first_sparse)))
        out = make((data, indices), out._info)
    return out


def _entries(mat: BCOO, dim: int) -> tuple[Any, Any]:
    """Returns the values and their coordinates in ``dim``; other dimensions have size one."""
    mat = bcoo_update_layout(mat, n_batch=0, n_dense=0, on_inefficient=None)
    inside = in_bounds(mat.indices, mat.shape)
    positions = jnp.where(inside, mat.indices[:, dim], mat.shape[dim]).astype(mat.indices.dtype)
    return mat.data, positions
