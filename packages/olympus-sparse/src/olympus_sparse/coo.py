# SPDX-License-Identifier: Apache-2.0
"""`COO`: sparse matrices as lists of rows, columns and values."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import Zero, jvp_rules
from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.promotion import promote_dtypes

from .bcoo.conversion import count_places
from .core.base import OLYMPUSSparse, as_flag, buffers_of
from .core.entries import add_up, look_up
from .core.primitives import (
    define_batching_by_expansion,
    define_multilinear_jvp,
    define_transpose_by_expansion,
    sparse_primitive,
)

__all__ = [
    "COO",
    "COOInfo",
    "coo_fromdense",
    "coo_fromdense_p",
    "coo_matmat",
    "coo_matmat_p",
    "coo_matvec",
    "coo_matvec_p",
    "coo_todense",
    "coo_todense_p",
]


class COOInfo(NamedTuple):
    """Static properties of a COO matrix.

    Attributes:
      shape: the shape of the matrix.
      rows_sorted: whether entries are sorted by row.
      cols_sorted: whether entries are sorted by column.
    """

    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


@boundary_class
class COO(OLYMPUSSparse):
    """Sparse matrix of entries with a row and a column.

    `BCOO` is more general and has more operations.

    Args:
      args: the values, the rows and the columns, each of shape ``(nse,)``.
      shape: the shape of the matrix.
      rows_sorted: whether entries are sorted by row.
      cols_sorted: whether entries are sorted by column.

    Example:
      >>> import numpy as np
      >>> COO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]], np.float32))
      COO(float32[2, 2], nse=2)
    """

    row: Array
    col: Array

    def __init__(
        self,
        args: tuple[Array, Array, Array],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        super().__init__(args, shape=shape)
        self.data, self.row, self.col = map(jnp.asarray, args)
        self._rows_sorted = rows_sorted
        self._cols_sorted = cols_sorted

    @property
    def nse(self) -> int:
        """The number of entries."""
        return self.data.size

    @property
    def _info(self) -> COOInfo:
        return COOInfo(self.shape, self._rows_sorted, self._cols_sorted)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.row, self.col

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> COO:
        """Makes a sparse matrix from a dense matrix; see `coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        """Returns a matrix without entries."""
        shape = tuple(shape)
        if len(shape) != 2:
            raise ValueError(f"COO must have ndim=2; got {shape=}")
        none = jnp.empty(0, index_dtype)
        return cls(
            (jnp.empty(0, dtype), none, none), shape=shape, rows_sorted=True, cols_sorted=True
        )

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        """Returns a matrix with ones on a diagonal."""
        count, row, col = diagonal(N, M, k)
        positions = (np.arange(row, row + count), np.arange(col, col + count))
        rows, cols = (jnp.asarray(position, np.dtype(index_dtype)) for position in positions)
        return cls(
            (jnp.ones(count, dtype), rows, cols),
            shape=(N, M),
            rows_sorted=True,
            cols_sorted=True,
        )

    def todense(self) -> Array:
        """Returns the dense matrix."""
        return coo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> COO:
        """Returns the transposed matrix."""
        if axes is not None and tuple(axes) != (1, 0):
            raise NotImplementedError(f"COO.transpose takes no axes but (1, 0), got {tuple(axes)}")
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self._cols_sorted,
            cols_sorted=self._rows_sorted,
        )

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        return (self.data, self.row, self.col), self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Any) -> COO:
        return _make(children, COOInfo(**aux_data))

    def _sort_indices(self) -> COO:
        """Returns the matrix with its entries in the order of rows, then of columns."""
        row, col, data = lax.sort([self.row, self.col, self.data], num_keys=2)
        return COO((data, row, col), shape=self.shape, rows_sorted=True)

    def _with_values(self, data: Any) -> COO:
        """Returns the matrix with other values at the same coordinates."""
        return _make((data, self.row, self.col), self._info)

    def __matmul__(self, other: Any) -> Any:
        return matrix_product(self, other, coo_matvec, coo_matmat)


def matrix_product(mat: Any, other: Any, matvec: Any, matmat: Any) -> Any:
    """Returns the product of a sparse matrix and a dense vector or matrix."""
    if isinstance(other, OLYMPUSSparse):
        raise NotImplementedError("matmul between two sparse objects.")
    other = jnp.asarray(other)
    if other.ndim not in (1, 2):
        raise NotImplementedError(f"matmul with object of shape {other.shape}")
    if mat.shape[1] != other.shape[0]:
        raise TypeError(
            f"matrix product of a sparse matrix of shape {mat.shape} and an array of shape "
            f"{other.shape}: {mat.shape[1]} and {other.shape[0]} differ"
        )
    product = matvec if other.ndim == 1 else matmat
    data, other = promote_dtypes(mat.data, other)
    return product(mat._with_values(data), other)


def diagonal(N: int, M: int, k: int) -> tuple[int, int, int]:
    """Returns the number of elements of a diagonal, and the row and column of its first element."""
    row, col = max(-k, 0), max(k, 0)
    return max(0, min(N - row, M - col)), row, col


def _make(buffers: Any, info: COOInfo) -> COO:
    array = object.__new__(COO)
    array.data, array.row, array.col = buffers
    array.shape, array._rows_sorted, array._cols_sorted = info
    return array


def _flatten(array: COO) -> tuple[tuple[Any, Any, Any], COOInfo]:
    return (array.data, array.row, array.col), array._info


def _unflatten(info: COOInfo, buffers: Any) -> COO:
    return _make(buffers, info)


pytrees.register_pytree_node(COO, _flatten, _unflatten)


# ---- operations on coordinates, which `CSR` and `CSC` use, too ----


def places(row: Any, col: Any) -> Any:
    """Returns the coordinates of entries; ``[nse], [nse] -> [nse, 2]``"""
    row, col = promote_dtypes(row, col)
    return jnp.stack([row, col], axis=1)


def product_of_entries(
    data: Any, row: Any, col: Any, other: Any, shape: Sequence[int], transpose: bool
) -> Any:
    """Returns the product of a matrix, or its transpose, and a vector or matrix."""
    if transpose:
        row, col, shape = col, row, shape[::-1]
    factors = look_up(other, col[:, None])
    values = lax.expand_dims(data, tuple(range(1, factors.ndim)))
    return add_up(values * factors, row[:, None], shape[:1])


# ---- coo_todense ----


@sparse_primitive("coo_todense", linear_in=(0,))
def coo_todense_p(data: Any, row: Any, col: Any, *, spinfo: COOInfo) -> Any:
    return add_up(data, places(row, col), spinfo.shape)


define_multilinear_jvp(coo_todense_p, 0)
define_transpose_by_expansion(coo_todense_p)
define_batching_by_expansion(coo_todense_p)


def coo_todense(mat: COO) -> Array:
    """Converts a sparse matrix to a dense matrix.

    Args:
      mat: the sparse matrix.

    Returns:
      An array of the shape and the dtype of ``mat``.

    Example:
      >>> import numpy as np
      >>> np.asarray(coo_todense(coo_fromdense(np.eye(2, dtype=np.float32)))).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return coo_todense_p.bind(*buffers_of("coo_todense", COO, mat), spinfo=mat._info)


# ---- coo_fromdense ----


@sparse_primitive("coo_fromdense", multiple_results=True)
def coo_fromdense_p(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
    row, col = (buffer.astype(index_dtype) for buffer in nonzero_positions(mat, nse))
    return [look_up(mat, places(row, col)), row, col]


def nonzero_positions(mat: Any, nse: int) -> tuple[Any, Any]:
    """Returns the rows and columns of nonzero elements, padded out of bounds."""
    row, col = jnp.nonzero(mat, size=nse, fill_value=mat.shape)
    return row, col


@jvp_rules.define(coo_fromdense_p)
def _coo_fromdense_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    data, row, col = coo_fromdense_p.bind(*primals, **params)
    tangent = look_up(tangents[0], places(row, col))
    return [data, row, col], [tangent, Zero.of(row), Zero.of(col)]


define_batching_by_expansion(coo_fromdense_p)


def known_count(mat: Any, nse: int | None, name: str) -> int:
    """Returns ``nse`` if it is given, else the number of nonzero elements of a concrete matrix."""
    if mat.ndim != 2:
        raise ValueError(f"{name} makes matrices, got an array of shape {mat.shape}")
    context = (
        f"the `nse` argument of {name}: in a compiled function the number of entries must be "
        "given, since it would depend on values."
    )
    if nse is None:
        return count_places(mat, 0, 0, context)
    return concrete_or_error(operator.index, nse, context)


def coo_fromdense(
    mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
) -> COO:
    """Converts a dense matrix to a sparse matrix.

    Args:
      mat: the dense matrix.
      nse: the number of entries; by default the number of nonzero elements of a concrete matrix.
      index_dtype: the dtype of rows and columns.

    Returns:
      A `COO` with entries in the order of rows.

    Raises:
      ValueError: ``mat`` is not a matrix.
      ConcretizationTypeError: ``nse`` is not given in a traced function.

    Example:
      >>> import numpy as np
      >>> coo_fromdense(np.eye(3, dtype=np.float32))
      COO(float32[3, 3], nse=3)
    """
    mat = jnp.asarray(mat)
    nse = known_count(mat, nse, "coo_fromdense")
    buffers = coo_fromdense_p.bind(mat, nse=nse, index_dtype=np.dtype(index_dtype))
    return _make(tuple(buffers), COOInfo(mat.shape, rows_sorted=True))


# ---- coo_matvec and coo_matmat ----


@sparse_primitive("coo_matvec", linear_in=(0, 3))
def coo_matvec_p(data: Any, row: Any, col: Any, v: Any, *, spinfo: COOInfo, transpose: bool) -> Any:
    return product_of_entries(data, row, col, v, spinfo.shape, transpose)


@sparse_primitive("coo_matmat", linear_in=(0, 3))
def coo_matmat_p(data: Any, row: Any, col: Any, B: Any, *, spinfo: COOInfo, transpose: bool) -> Any:
    return product_of_entries(data, row, col, B, spinfo.shape, transpose)


for _primitive in (coo_matvec_p, coo_matmat_p):
    define_multilinear_jvp(_primitive, 0, 3)
    define_transpose_by_expansion(_primitive)
    define_batching_by_expansion(_primitive)


def coo_matvec(mat: COO, v: ArrayLike, transpose: bool = False) -> Array:
    """Multiplies a sparse matrix and a vector.

    Args:
      mat: the sparse matrix.
      v: the vector, of shape (columns,), or (rows,) with ``transpose``.
      transpose: whether to transpose the matrix.

    Returns:
      A vector.

    Raises:
      TypeError: ``transpose`` is an array.

    Example:
      >>> import numpy as np
      >>> mat = coo_fromdense(np.array([[0, 2], [3, 0]]))
      >>> np.asarray(coo_matvec(mat, np.array([1, 10]))).tolist()
      [20, 3]
    """
    buffers = buffers_of("coo_matvec", COO, mat)
    transpose = as_flag("coo_matvec", "transpose", transpose)
    return coo_matvec_p.bind(*buffers, jnp.asarray(v), spinfo=mat._info, transpose=transpose)


def coo_matmat(mat: COO, B: ArrayLike, *, transpose: bool = False) -> Array:
    """Multiplies a sparse and a dense matrix.

    Args:
      mat: the sparse matrix.
      B: the dense matrix.
      transpose: whether to transpose the sparse matrix.

    Returns:
      A dense matrix.

    Raises:
      TypeError: ``transpose`` is an array.

    Example:
      >>> import numpy as np
      >>> mat = coo_fromdense(np.array([[0, 2], [3, 0]]))
      >>> np.asarray(coo_matmat(mat, np.eye(2, dtype=int))).tolist()
      [[0, 2], [3, 0]]
    """
    buffers = buffers_of("coo_matmat", COO, mat)
    transpose = as_flag("coo_matmat", "transpose", transpose)
    return coo_matmat_p.bind(*buffers, jnp.asarray(B), spinfo=mat._info, transpose=transpose)
