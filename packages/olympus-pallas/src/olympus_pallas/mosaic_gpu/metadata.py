# SPDX-License-Identifier: Apache-2.0
"""Metadata of sparse operands of tensor cores."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.avals import get_aval

__all__ = ["format_tcgen05_sparse_metadata"]

_ROWS, _COLUMNS = 128, 64


def format_tcgen05_sparse_metadata(meta: Any, operand_dtype: Any) -> Any:
    """Rearranges the metadata of an operand with 2:4 sparsity into the order of tensor memory.

    Args:
      meta: for each row and each group of four columns, the positions of the two stored elements.
        It has dtype ``uint2`` and shape ``(m, k // 4, 2)``; ``m`` and ``k`` are multiples of 128.
      operand_dtype: the dtype of the sparse operand, of 16 or 8 bits.

    Returns:
      The positions in the order of tensor memory, of shape ``(m // 128, k // 128, 128, 64)``.

    Raises:
      ValueError: ``meta`` has a wrong shape or dtype.
      NotImplementedError: ``operand_dtype`` has neither 16 nor 8 bits.

    Example:
      >>> import numpy as np
      >>> places = lax.full((128, 32, 2), 0, "uint2")
      >>> format_tcgen05_sparse_metadata(places, np.float16).shape
      (1, 1, 128, 64)
    """
    aval: Any = get_aval(meta)
    if len(aval.shape) != 3:
        raise ValueError(
            f"Expected metadata to be 3-dimensional (M, K // 4, 2), but it is {len(aval.shape)}D"
        )
    rows, quarters, pair = aval.shape
    if pair != 2:
        raise ValueError(f"Expected the trailing dimension of the metadata to be 2, got: {pair}")
    if aval.dtype != dtypes.dtype("uint2"):
        raise ValueError(f"Expected metadata dtype to be uint2, got: {aval.dtype}")
    if rows % _ROWS or (2 * quarters) % _COLUMNS:
        raise ValueError(
            f"metadata must have a multiple of 128 rows and of 32 columns, got shape {aval.shape}"
        )
    bits = dtypes.itemsize_bits(dtypes.dtype(operand_dtype))
    tiles = (rows // _ROWS, 2 * quarters // _COLUMNS)
    if bits == 8:
        ordered = lax.reshape(meta, (tiles[0], _ROWS, tiles[1], _COLUMNS))
        return lax.transpose(ordered, (0, 2, 1, 3))
    if bits == 16:
        ordered = lax.reshape(meta, (tiles[0], 8, 2, 8, tiles[1], 4, 2, 8))
        ordered = lax.transpose(ordered, (0, 4, 1, 6, 3, 5, 2, 7))
        return lax.reshape(ordered, (*tiles, _ROWS, _COLUMNS))
    raise NotImplementedError(
        f"sparse factors must have elements of 8 or 16 bits, got operand_dtype={operand_dtype}"
    )
