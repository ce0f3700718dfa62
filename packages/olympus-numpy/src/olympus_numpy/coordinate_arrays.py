# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays as lists of coordinates and values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import dtypes, lax, pytrees
from olympus_ir.arrays import Array
from olympus_ir.avals import canonicalize_shape
from olympus_ir.tracing import concrete_or_error

from . import arithmetic, creation, reductions, searching, shaping
from .promotion import promote_dtypes

__all__ = ["BCOO", "empty", "eye"]


class BCOO:
    """A sparse array: the values that are not zero, and where they are.

    Entries with the same coordinates add up, and entries whose coordinates are out of bounds count
    as none, so that the number of entries need not depend on values.

    Args:
      args: the pair of values, of shape ``(nse,)``, and coordinates, of shape ``(nse, ndim)``.
      shape: the shape of the array.
      indices_sorted: whether the coordinates are in lexicographic order.
      unique_indices: whether no two are the same.

    Raises:
      ValueError: where the shapes do not belong together.

    Example:
      >>> matrix = BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]], np.float32))
      >>> matrix
      BCOO(float32[2, 2], nse=2)
      >>> matrix @ np.array([1.0, 10.0], np.float32)
      Array([20.,  3.], dtype=float32)
    """

    __array_priority__ = 100

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices = map(creation.asarray, args)
        self.shape = tuple(canonicalize_shape(shape))
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        if self.data.ndim != 1 or self.indices.shape != (self.data.shape[0], len(self.shape)):
            raise ValueError(
                f"BCOO of shape {self.shape} needs values of shape (nse,) and coordinates of "
                f"shape (nse, {len(self.shape)}), got {self.data.shape} and {self.indices.shape}; "
                "batch and dense dimensions are not supported"
            )

    # ---- properties ----

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nse(self) -> int:
        """The number of entries."""
        return self.data.shape[0]

    n_sparse = ndim
    n_batch = 0
    n_dense = 0

    @property
    def T(self) -> BCOO:
        """The array with its dimensions in the opposite order."""
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"{type(self).__name__}({dtypes.name_of(self.dtype)}[{sizes}], nse={self.nse})"

    # ---- from and to dense arrays ----

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> BCOO:
        """Makes a sparse array of a dense one.

        Args:
          mat: the dense array.
          nse: the number of entries; by default as many as are not zero, which must be known.
          index_dtype: the dtype of coordinates.
        """
        mat = creation.asarray(mat)
        if nse is None:
            count = reductions.count_nonzero(mat)
            nse = int(concrete_or_error(None, count, "the number of entries of a BCOO, `nse`,"))
        places = searching.nonzero(mat, size=nse, fill_value=mat.shape)
        columns = [lax.convert_element_type(place, np.dtype(index_dtype)) for place in places]
        indices = lax.concatenate([lax.reshape(column, (nse, 1)) for column in columns], 1)
        values = mat.at[places].get(mode="fill", fill_value=0)
        return cls((values, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = np.int32) -> BCOO:
        """Makes a sparse array of a matrix of `scipy.sparse`."""
        coordinates = mat.tocoo()
        indices = np.stack([coordinates.row, coordinates.col], 1).astype(index_dtype)
        return cls((coordinates.data, indices), shape=mat.shape)

    def todense(self) -> Array:
        """Returns the dense array."""
        dense = creation.zeros(self.shape, self.dtype)
        return dense.at[self._columns()].add(self.data, mode="drop")

    def _columns(self) -> tuple[Any, ...]:
        return tuple(self.indices[:, axis] for axis in range(self.ndim))

    # ---- operations ----

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """Returns the array with its dimensions in another order."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        shape = tuple(self.shape[axis] for axis in order)
        indices = self.indices[:, np.array(order)]
        return BCOO((self.data, indices), shape=shape, unique_indices=self.unique_indices)

    def astype(self, dtype: Any) -> BCOO:
        """Returns the array with another dtype."""
        return self._with_data(self.data.astype(dtype))

    def sum(self, axis: Any = None) -> Any:
        """Returns the sum of all entries, or a sparse array of sums along axes."""
        if axis is None:
            inside = reductions.all(self.indices < np.array(self.shape), axis=1)
            return reductions.sum(self.data * inside.astype(self.dtype))
        axes = {each % self.ndim for each in (axis if isinstance(axis, tuple) else (axis,))}
        kept = [each for each in range(self.ndim) if each not in axes]
        shape = tuple(self.shape[each] for each in kept)
        return BCOO((self.data, self.indices[:, np.array(kept, int)]), shape=shape)

    def _with_data(self, data: Any) -> BCOO:
        return BCOO(
            (data, self.indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def __neg__(self) -> BCOO:
        return self._with_data(-self.data)

    def __mul__(self, other: Any) -> BCOO:
        if isinstance(other, BCOO):
            raise TypeError("products of two BCOO are not supported; make one of them dense")
        other = creation.asarray(other)
        if other.ndim:
            other = shaping.broadcast_to(other, self.shape)
            other = other.at[self._columns()].get(mode="fill", fill_value=0)
        return self._with_data(arithmetic.multiply(self.data, other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> BCOO:
        return self * (1 / creation.asarray(other))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, BCOO):
            return self.todense() + other
        if other.shape != self.shape:
            raise ValueError(f"BCOO of shapes {self.shape} and {other.shape} cannot be added")
        values = lax.concatenate(promote_dtypes(self.data, other.data), 0)
        places = lax.concatenate(promote_dtypes(self.indices, other.indices), 0)
        return BCOO((values, places), shape=self.shape)

    def __radd__(self, other: Any) -> Any:
        return other + self.todense()

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __matmul__(self, other: Any) -> Array:
        """The product of a sparse vector or matrix and a dense vector or matrix."""
        if isinstance(other, BCOO):
            other = other.todense()
        other = creation.asarray(other)
        if self.ndim not in (1, 2) or other.ndim not in (1, 2):
            raise ValueError(
                f"products of BCOO are those of vectors and matrices, got shapes {self.shape} and "
                f"{other.shape}"
            )
        if self.shape[-1] != other.shape[0]:
            raise ValueError(f"BCOO product: shapes {self.shape} and {other.shape} do not fit")
        *row, column = self._columns()
        values, other = promote_dtypes(self.data, other)
        factors = other.at[column].get(mode="fill", fill_value=0)
        products = (values[:, None] if other.ndim == 2 else values) * factors
        if not row:
            return reductions.sum(products, axis=0)
        zeros = creation.zeros((self.shape[0], *other.shape[1:]), products.dtype)
        return zeros.at[row[0]].add(products, mode="drop")

    def __rmatmul__(self, other: Any) -> Array:
        """The product of a dense vector or matrix and a sparse one."""
        product = self.T @ shaping.transpose(creation.asarray(other))
        return shaping.transpose(product)


def _flatten(array: BCOO) -> tuple[tuple[Any, Any], Any]:
    return (array.data, array.indices), (
        array.shape,
        array.indices_sorted,
        array.unique_indices,
    )


def _unflatten(static: Any, children: Any) -> BCOO:
    array = object.__new__(BCOO)
    array.data, array.indices = children
    array.shape, array.indices_sorted, array.unique_indices = static
    return array


pytrees.register_pytree_node(BCOO, _flatten, _unflatten)


def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = np.int32) -> BCOO:
    """Returns a sparse array without entries.

    Example:
      >>> empty((2, 3))
      BCOO(float32[2, 3], nse=0)
    """
    shape = canonicalize_shape(shape)
    values = creation.zeros((0,), dtype)
    return BCOO((values, creation.zeros((0, len(shape)), index_dtype)), shape=shape)


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = np.int32
) -> BCOO:
    """Returns a sparse matrix with ones on a diagonal.

    Example:
      >>> eye(3).todense()[0]
      Array([1., 0., 0.], dtype=float32)
    """
    columns = N if M is None else M
    count = max(0, min(N + min(k, 0), columns - max(k, 0)))
    rows = np.arange(count)[:, None] + np.array([max(-k, 0), max(k, 0)])
    values = creation.ones((count,), dtype)
    return BCOO(
        (values, rows.astype(index_dtype)),
        shape=(N, columns),
        indices_sorted=True,
        unique_indices=True,
    )
