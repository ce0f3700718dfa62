# SPDX-License-Identifier: Apache-2.0
"""`BCSR`: batches of sparse matrices in compressed sparse row format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from ..bcoo.array import BCOO, make
from ..bcoo.ordering import bcoo_sort_indices
from ..core.base import OLYMPUSSparse, SparseInfo
from ..core.entries import over_batches
from ..core.rows import compressed, rows_of

__all__ = ["BCSR", "make_rows"]


@boundary_class
class BCSR(OLYMPUSSparse):
    """Batches of sparse matrices in compressed sparse row (CSR) format.

    The dimensions are batch dimensions, two sparse dimensions (rows and columns), and dense
    dimensions. Entries are sorted by row; ``indptr`` holds the start of each row.

    Args:
      args: the values, of shape ``(*batch, nse, *dense)``; the columns, of shape ``(*batch, nse)``;
        the row pointers, of shape ``(*batch, rows + 1)``.
      shape: the shape of the array.
      indices_sorted: whether columns are sorted within each row.
      unique_indices: whether the coordinates of entries are distinct.

    Raises:
      ValueError: the buffers do not match the shape.

    Example:
      >>> import numpy as np
      >>> matrix = BCSR.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]], np.float32))
      >>> matrix
      BCSR(float32[2, 2], nse=2)
      >>> np.asarray(matrix.indptr).tolist()
      [0, 1, 2]
    """

    indices: Any
    indptr: Any
    indices_sorted: bool
    unique_indices: bool
    _places: object = None

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        super().__init__(args, shape=shape)
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        _check(self.data, self.indices, self.indptr, self.shape)

    # ---- kinds of dimensions ----

    @property
    def nse(self) -> int:
        """The number of entries in each batch."""
        return self.indices.shape[-1]

    @property
    def n_batch(self) -> int:
        """The number of batch dimensions."""
        return self.indices.ndim - 1

    @property
    def n_sparse(self) -> int:
        """The number of sparse dimensions, which is two."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of dense dimensions."""
        return self.data.ndim - self.indices.ndim

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def _sparse_shape(self) -> tuple[int, ...]:
        return self.shape[self.n_batch : self.n_batch + 2]

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    # ---- to and from BCOO ----

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Converts a BCOO with two sparse dimensions.

        Args:
          arr: the BCOO; its entries need not be sorted.

        Returns:
          A `BCSR` equal to ``arr``.
        """
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BSCR.from_bcoo requires n_sparse=2; got {arr.n_sparse=}")
        if not arr.indices_sorted:
            arr = bcoo_sort_indices(arr)
        rows = arr._sparse_shape[0]

        def compress(indices: Any) -> tuple[Any, Any]:
            return indices[:, 1], compressed(indices[:, 0], rows, indices.dtype)

        indices, indptr = over_batches(compress, arr.n_batch, arr.indices)
        return make_rows((arr.data, indices, indptr), arr._info._replace(indices_sorted=True), cls)

    def to_bcoo(self) -> BCOO:
        """Returns the same array as a BCOO."""
        indices = coordinates(self.indices, self.indptr)
        return make((self.data, indices), self._info)

    # ---- as a pytree ----

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        return (self.data, self.indices, self.indptr), self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Any) -> BCSR:
        return make_rows(children, SparseInfo(**aux_data), cls)

    def _with_data(self, data: Any) -> BCSR:
        """Returns the array with other values at the same coordinates."""
        array = make_rows((data, self.indices, self.indptr), self._info)
        array._places = self._places
        return array


def _check(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> None:
    if indices.ndim < 1:
        raise ValueError(
            f"BCSR indices must have the dimensions (*batch, nse), got {indices.ndim=}"
        )
    n_batch, nse = indices.ndim - 1, indices.shape[-1]
    n_dense = len(shape) - n_batch - 2
    if n_dense < 0:
        raise ValueError(
            f"BCSR of shape {shape} cannot have {n_batch=} batch dimensions and two sparse ones"
        )
    if indptr.ndim != indices.ndim or indptr.shape[-1] != shape[n_batch] + 1:
        raise ValueError("indptr shape must match the matrix shape plus 1.")
    if data.ndim <= n_batch or data.shape[n_batch:] != (nse, *shape[n_batch + 2 :]):
        raise ValueError(f"Invalid {data.shape=} for {nse=}, {n_batch=}, {n_dense=}")
    for name, buffer in (("data", data), ("indices", indices), ("indptr", indptr)):
        if any(size not in (1, full) for size, full in zip(buffer.shape[:n_batch], shape)):
            raise ValueError(
                f"{name} batch dimensions not compatible for {name}.shape={buffer.shape}, "
                f"shape={shape}"
            )
    for name, buffer in (("indices", indices), ("indptr", indptr)):
        if not dtypes.issubdtype(buffer.dtype, np.integer):
            raise TypeError(f"BCSR {name} must be integers, got dtype {buffer.dtype}")


def coordinates(indices: Any, indptr: Any) -> Any:
    """Returns the coordinates of entries; ``[*batch, nse] -> [*batch, nse, 2]``."""

    def of_batch(indices: Any, indptr: Any) -> Any:
        rows = rows_of(indptr, indices.shape[0])
        return jnp.stack([rows.astype(indices.dtype), indices], axis=1)

    return over_batches(of_batch, indices.ndim - 1, indices, indptr)


def make_rows(buffers: Any, info: SparseInfo, cls: type[BCSR] = BCSR) -> BCSR:
    """Makes an array from buffers without checks."""
    array = object.__new__(cls)
    array.data, array.indices, array.indptr = buffers
    array.shape, array.indices_sorted, array.unique_indices = info
    return array


def _flatten(array: BCSR) -> tuple[tuple[Any, Any, Any], SparseInfo]:
    return (array.data, array.indices, array.indptr), array._info


def _unflatten(info: SparseInfo, buffers: Any) -> BCSR:
    return make_rows(buffers, info)


pytrees.register_pytree_node(BCSR, _flatten, _unflatten)
