# SPDX-License-Identifier: Apache-2.0
"""Blocks of a derivative, one for each pair of a result array and an argument array."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir.loading import deferred
from olympus_ir.programs.tracing import find_tracers

from ..bcoo.array import make
from ..bcsr.array import BCSR
from ..core.base import SparseInfo
from ..csr import CSR
from .patterns import Pattern

if TYPE_CHECKING:
    import scipy.sparse as scipy_sparse
else:
    scipy_sparse = deferred("scipy.sparse", milliseconds=120.0)

__all__ = ["FORMATS", "Block", "blocks_of", "check_format"]

FORMATS = ("bcoo", "csr", "bcsr", "scipy", "dense")


def check_format(format: str) -> None:
    """Raises ValueError if a format is not one of `FORMATS`."""
    if format not in FORMATS:
        names = ", ".join(map(repr, FORMATS))
        raise ValueError(f"`format` must be one of {names}, got {format!r}")


@dataclasses.dataclass(frozen=True)
class Block:
    """Entries of one block.

    Attributes:
      positions: the positions of the entries in the flat array of all entries.
      rows: for each entry, the flat index of its element of the result, in increasing order.
      columns: for each entry, the flat index of its element of the argument.
      out_shape: the shape of the result.
      in_shape: the shape of the argument.
    """

    positions: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    out_shape: tuple[int, ...]
    in_shape: tuple[int, ...]

    def array(self, entries: Any, dtype: Any, format: str) -> Any:
        """Returns the block as an array of the given format and dtype."""
        check_format(format)
        if self.positions.size != entries.size:
            entries = entries.at[self.positions].get(mode="promise_in_bounds")
        data = entries.astype(dtype)
        if format == "bcoo":
            return self._bcoo(data)
        if format == "dense":
            return self._bcoo(data).todense()
        shape = (math.prod(self.out_shape), math.prod(self.in_shape))
        columns, starts = self._compressed_rows
        if format == "scipy":
            if find_tracers([data]):
                raise TypeError(
                    "a matrix of SciPy cannot be made inside of a traced function; use "
                    'format="bcoo" there'
                )
            # SciPy's methods change index arrays in place, so each matrix gets copies.
            return scipy_sparse.csr_array(
                (np.asarray(data), columns.copy(), starts.copy()), shape=shape
            )
        buffers = (data, jnp.asarray(columns), jnp.asarray(starts))
        return CSR(buffers, shape=shape) if format == "csr" else BCSR(buffers, shape=shape)

    def _bcoo(self, data: Any) -> Any:
        shape = (*self.out_shape, *self.in_shape)
        info = SparseInfo(shape, indices_sorted=True, unique_indices=True)
        # Outside of a trace, all matrices of a plan share the indices.
        indices = jnp.asarray(self._coordinates) if find_tracers([data]) else self._indices
        return make((data, indices), info)

    @functools.cached_property
    def _coordinates(self) -> np.ndarray:
        """The coordinates of each entry in the dimensions of the result and the argument."""
        coordinates = [
            *(np.unravel_index(self.rows, self.out_shape) if self.out_shape else ()),
            *(np.unravel_index(self.columns, self.in_shape) if self.in_shape else ()),
        ]
        indices = np.empty((self.rows.size, len(coordinates)), np.int32)
        for position, coordinate in enumerate(coordinates):
            indices[:, position] = coordinate
        return indices

    @functools.cached_property
    def _indices(self) -> Any:
        """The coordinates as an array on the device."""
        return jnp.asarray(self._coordinates)

    @functools.cached_property
    def _compressed_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns of the entries, and the position of the first entry of each row."""
        counts = np.bincount(self.rows, minlength=math.prod(self.out_shape))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return self.columns.astype(np.int32), starts


def blocks_of(
    pattern: Pattern, out_shapes: Sequence[tuple[int, ...]], in_shapes: Sequence[tuple[int, ...]]
) -> list[list[Block]]:
    """Splits a pattern at the boundaries of results and of arrays of the argument."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.int64)
    row_starts = np.cumsum([0, *map(math.prod, out_shapes)])
    column_starts = np.cumsum([0, *map(math.prod, in_shapes)])
    blocks = []
    for i, out_shape in enumerate(out_shapes):
        first, last = pattern.indptr[row_starts[i]], pattern.indptr[row_starts[i + 1]]
        line = []
        for j, in_shape in enumerate(in_shapes):
            inside = (columns[first:last] >= column_starts[j]) & (
                columns[first:last] < column_starts[j + 1]
            )
            positions = first + np.nonzero(inside)[0]
            line.append(
                Block(
                    positions,
                    rows[positions] - row_starts[i],
                    columns[positions] - column_starts[j],
                    tuple(out_shape),
                    tuple(in_shape),
                )
            )
        blocks.append(line)
    return blocks
