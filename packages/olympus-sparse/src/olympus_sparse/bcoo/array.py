# SPDX-License-Identifier: Apache-2.0
"""`BCOO`: sparse arrays as batches of lists of coordinates and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import olympus_numpy as jnp
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from ..core.base import OLYMPUSSparse, SparseInfo

__all__ = ["BCOO", "Layout", "layout_of"]


class Layout(NamedTuple):
    """The numbers of batch, sparse and dense dimensions, and the number of entries.

    Attributes:
      n_batch: the number of batch dimensions; each batch has its own list of entries.
      n_sparse: the number of sparse dimensions, in which entries have coordinates.
      n_dense: the number of dense dimensions; each entry is an array of this rank.
      nse: the number of entries in each batch.
    """

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


def layout_of(data: Any, indices: Any, shape: Sequence[int]) -> Layout:
    """Returns the layout of an array with the given buffers and shape.

    Raises:
      ValueError: the buffers do not match the shape.
    """
    if indices.ndim < 2:
        raise ValueError(
            "BCOO indices must have the dimensions (*batch, nse, n_sparse), got "
            f"indices.shape={indices.shape}"
        )
    n_batch = indices.ndim - 2
    nse, n_sparse = indices.shape[-2:]
    n_dense = len(shape) - n_batch - n_sparse
    if n_dense < 0:
        raise ValueError(
            f"BCOO of shape {tuple(shape)} cannot have {n_batch} batch and {n_sparse} sparse "
            f"dimensions, as indices.shape={indices.shape} says"
        )
    if data.ndim <= n_batch or data.shape[n_batch] != nse:
        raise ValueError(f"Invalid {data.shape=} for {nse=}, {n_batch=}, {n_dense=}")
    if data.shape[n_batch + 1 :] != tuple(shape[n_batch + n_sparse :]):
        raise ValueError(f"Invalid {data.shape=} for {nse=}, {n_batch=}, {n_dense=}")
    for name, buffer in (("data", data), ("indices", indices)):
        for size, full in zip(buffer.shape[:n_batch], shape):
            if size not in (1, full):
                raise ValueError(
                    f"{name} batch dimensions not compatible for "
                    f"{name}.shape={buffer.shape}, shape={tuple(shape)}"
                )
    return Layout(n_batch, n_sparse, n_dense, nse)


@boundary_class
class BCOO(OLYMPUSSparse):
    """Sparse array of entries with coordinates, in batches.

    The dimensions are batch, sparse and dense dimensions, in this order. Each batch has ``nse``
    entries. An entry has coordinates in the sparse dimensions, and a value, which is an array if
    there are dense dimensions. Entries with equal coordinates add up. Entries with coordinates out
    of bounds are padding, which is ignored, so that ``nse`` need not depend on values. Batch
    dimensions of size one in a buffer broadcast.

    Args:
      args: the values, of shape ``(*batch, nse, *dense)``, and the coordinates, of shape
        ``(*batch, nse, n_sparse)``.
      shape: the shape of the array.
      indices_sorted: whether the coordinates are in lexicographic order.
      unique_indices: whether the coordinates in bounds are distinct.

    Raises:
      ValueError: the buffers do not match the shape.
      TypeError: the coordinates are not integers.

    Example:
      >>> import numpy as np
      >>> matrix = BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]], np.float32))
      >>> matrix
      BCOO(float32[2, 2], nse=2)
      >>> np.asarray(matrix @ np.array([1.0, 10.0], np.float32)).tolist()
      [20.0, 3.0]
    """

    indices: Any
    indices_sorted: bool
    unique_indices: bool
    # Two arrays with the same object in this field have entries at the same coordinates. `sparsify`
    # uses this field.
    _places: object = None

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        super().__init__(args, shape=shape)
        self.data, self.indices = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        layout_of(self.data, self.indices, self.shape)
        if not dtypes.issubdtype(self.indices.dtype, jnp.integer):
            raise TypeError(
                f"BCOO indices must be integers, got dtype {dtypes.name_of(self.indices.dtype)}"
            )

    # ---- kinds of dimensions ----

    @property
    def nse(self) -> int:
        """The number of entries in each batch."""
        return self.indices.shape[-2]

    @property
    def n_batch(self) -> int:
        """The number of batch dimensions."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of sparse dimensions."""
        return self.indices.shape[-1]

    @property
    def n_dense(self) -> int:
        """The number of dense dimensions."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def _sparse_shape(self) -> tuple[int, ...]:
        n_batch = self.n_batch
        return self.shape[n_batch : n_batch + self.n_sparse]

    @property
    def _bufs(self) -> tuple[Any, Any]:
        return self.data, self.indices

    # ---- as a pytree ----

    def tree_flatten(self) -> tuple[tuple[Any, Any], dict[str, Any]]:
        return (self.data, self.indices), self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Any) -> BCOO:
        return make(children, SparseInfo(**aux_data), cls)

    def _with_data(self, data: Any) -> BCOO:
        """Returns the array with other values at the same coordinates."""
        array = make((data, self.indices), self._info)
        array._places = self._places
        return array


def make(buffers: Any, info: SparseInfo, cls: type[BCOO] = BCOO) -> BCOO:
    """Makes an array from buffers without checks."""
    array = object.__new__(cls)
    array.data, array.indices = buffers
    array.shape, array.indices_sorted, array.unique_indices = info
    return array


def _flatten(array: BCOO) -> tuple[tuple[Any, Any], SparseInfo]:
    return (array.data, array.indices), array._info


def _unflatten(info: SparseInfo, buffers: Any) -> BCOO:
    return make(buffers, info)


pytrees.register_pytree_node(BCOO, _flatten, _unflatten)
