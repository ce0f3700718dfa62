# SPDX-License-Identifier: Apache-2.0
"""Scales and sparsity metadata in tensor memory, for the factors of matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.types import dtypes
from olympus_ir.types.annotations import AxisName

from ..memory.annotations import RefLike
from .operations import aval_of_view, bind_operation, operation

__all__ = ["async_copy_scales_to_tmem", "async_copy_sparse_metadata_to_tmem"]

copy_scales_p = operation("async_copy_scales_to_tmem")
copy_metadata_p = operation("async_copy_sparse_metadata_to_tmem")

_ROWS, _COLUMNS = 128, 64


def _tiles(
    name: str, smem_ref: Any, tmem_ref: Any, columns: int, tile: tuple[int, int], dtype: Any = None
) -> None:
    """Raises an error unless a reference in SMEM consists of the tiles of a reference in TMEM.

    A tile covers 128 rows and ``columns`` columns of TMEM, and has the shape ``tile`` in SMEM. Both
    references must have the same dtype; it must be ``dtype`` if that is given.
    """
    source, target = aval_of_view(smem_ref), aval_of_view(tmem_ref)
    if dtype is not None and target.dtype != dtype:
        raise ValueError(f"{name} copies elements of {dtype}, got {target.str_short()}")
    if source.dtype != target.dtype:
        raise ValueError(
            f"the references of {name} must have one dtype, got {source.dtype} and {target.dtype}"
        )
    shape = target.shape
    fits = len(shape) == 2 and shape[0] % _ROWS == 0 and shape[1] % columns == 0
    expected = (shape[0] // _ROWS, shape[1] // columns, *tile) if fits else None
    if source.shape != expected:
        raise ValueError(
            f"{name} copies tiles of shape (rows // {_ROWS}, columns // {columns}, {tile[0]}, "
            f"{tile[1]}) to tensor memory of shape (rows, columns), got {source.str_short()} and "
            f"{target.str_short()}"
        )


def async_copy_scales_to_tmem(
    smem_ref: RefLike, tmem_ref: RefLike, collective_axis: AxisName | None = None
) -> None:
    """Starts a copy of the scales of a factor from shared to tensor memory; see `tcgen05_mma`.

    Args:
      smem_ref: source, a reference in SMEM of shape ``(rows // 128, columns // 4, 32, 16)``. The
        scale of row ``128 * i + 32 * q + r`` and column ``4 * j + c`` is at
        ``[i, j, r, 4 * q + c]``.
      tmem_ref: destination, a reference in TMEM of shape ``(rows, columns)``.
      collective_axis: the axis along which two blocks make the copy together; not supported.

    Raises:
      ValueError: shapes or dtypes do not fit, or ``collective_axis`` is given.
    """
    _check_alone(collective_axis)
    _tiles("async_copy_scales_to_tmem", smem_ref, tmem_ref, 4, (32, 16))
    bind_operation(copy_scales_p, (smem_ref, tmem_ref))


def async_copy_sparse_metadata_to_tmem(
    smem_ref: RefLike, tmem_ref: RefLike, collective_axis: AxisName | None = None
) -> None:
    """Starts a copy of the metadata of a sparse factor to tensor memory; see `tcgen05_mma`.

    Args:
      smem_ref: source, a reference in SMEM in the order of `format_tcgen05_sparse_metadata`, of
        shape ``(m // 128, k // 128, 128, 64)``.
      tmem_ref: destination, a reference in TMEM of shape ``(m, k // 2)`` and dtype ``uint2``.
      collective_axis: the axis along which two blocks make the copy together; not supported.

    Raises:
      ValueError: shapes or dtypes do not fit, or ``collective_axis`` is given.
    """
    _check_alone(collective_axis)
    name = "async_copy_sparse_metadata_to_tmem"
    _tiles(name, smem_ref, tmem_ref, _COLUMNS, (_ROWS, _COLUMNS), dtypes.dtype("uint2"))
    bind_operation(copy_metadata_p, (smem_ref, tmem_ref))


def _check_alone(collective_axis: Any) -> None:
    if collective_axis is not None:
        raise ValueError("copies of two blocks are not simulated")


# ---- checks of products ----


def dense_shape(shape: tuple[int, ...], metadata: Any | None) -> tuple[int, ...]:
    """Returns the dense shape of a left operand, given the shape of its stored elements.

    An operand with metadata is sparse: half of its elements are stored.

    Raises:
      ValueError: the shape of the metadata differs from that of the stored elements.
    """
    if metadata is None:
        return shape
    logical = aval_of_view(metadata).shape
    if logical != shape:
        raise ValueError(
            f"a_sparse_metadata must have the shape of the stored elements of a, {shape}, got "
            f"{logical}"
        )
    return (shape[0], 2 * shape[1])


def check_scales(name: str, scales: Any, rows: int, length: int) -> None:
    """Raises an error unless scales belong to blocks of 16 or 32 elements of each row."""
    shape = aval_of_view(scales).shape
    if shape not in ((rows, length // 16), (rows, length // 32)):
        raise ValueError(
            f"{name} has a scale for each block of 16 or 32 elements of the {rows} rows, of shape "
            f"{(rows, length // 16)} or {(rows, length // 32)}, got {shape}"
        )


# ---- on simulated threads ----


def scales_from_tiles(tiles: np.ndarray) -> np.ndarray:
    """Converts scales from tiles in SMEM to an array (rows, columns)."""
    rows, columns = tiles.shape[:2]
    split = tiles.reshape(rows, columns, 32, 4, 4).transpose(0, 3, 2, 1, 4)
    return split.reshape(rows * _ROWS, columns * 4)


def metadata_from_tiles(tiles: np.ndarray) -> np.ndarray:
    """Converts metadata from tiles in SMEM to the rows and columns of TMEM."""
    rows, columns = tiles.shape[:2]
    return tiles.transpose(0, 2, 1, 3).reshape(rows * _ROWS, columns * _COLUMNS)


def scaled(factor: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Multiplies the blocks of each row of a factor by their scales."""
    block = factor.shape[1] // scales.shape[1]
    return factor.astype(np.float32) * np.repeat(scales.astype(np.float32), block, 1)


def dense(stored: np.ndarray, metadata: np.ndarray) -> np.ndarray:
    """Expands a sparse matrix, which stores two of every four elements, to a dense matrix."""
    rows, columns = metadata.shape
    tiles = metadata.reshape(rows // _ROWS, _ROWS, columns // _COLUMNS, _COLUMNS)
    tiles = tiles.transpose(0, 2, 1, 3)
    if stored.dtype.itemsize == 2:  # undo the order of `format_tcgen05_sparse_metadata`
        split = tiles.reshape(*tiles.shape[:2], 8, 2, 8, 4, 2, 8)
        places = split.transpose(0, 2, 6, 4, 1, 5, 3, 7)
    else:
        places = tiles.transpose(0, 2, 1, 3)
    places = places.reshape(rows, columns // 2, 2).astype(np.int64)
    whole = np.zeros((rows, columns // 2, 4), stored.dtype)
    np.put_along_axis(whole, places, stored.reshape(rows, columns // 2, 2), 2)
    return whole.reshape(rows, 2 * columns)
