# SPDX-License-Identifier: Apache-2.0
"""`CSR` and `CSC`: sparse matrices in compressed sparse row or compressed sparse column format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import Zero, jvp_rules
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from .coo import (
    diagonal,
    known_count,
    matrix_product,
    nonzero_positions,
    places,
    product_of_entries,
)
from .core.base import OLYMPUSSparse, as_flag, buffers_of
from .core.entries import add_up, look_up
from .core.primitives import (
    define_batching_by_expansion,
    define_multilinear_jvp,
    define_transpose_by_expansion,
    sparse_primitive,
)
from .core.rows import compressed, rows_of

__all__ = [
    "CSC",
    "CSR",
    "csr_fromdense",
    "csr_fromdense_p",
    "csr_matmat",
    "csr_matmat_p",
    "csr_matvec",
    "csr_matvec_p",
    "csr_todense",
    "csr_todense_p",
]

Matrix = TypeVar("Matrix", bound="_Compressed")


class _Compressed(OLYMPUSSparse):
    """Base class of `CSR` and `CSC`. A line is a row of a `CSR` or a column of a `CSC`."""

    indices: Any
    indptr: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        super().__init__(args, shape=shape)
        self.data, self.indices, self.indptr = map(jnp.asarray, args)

    @property
    def nse(self) -> int:
        """The number of entries."""
        return self.data.size

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    @classmethod
    def _empty(
        cls: type[Matrix], shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32"
    ) -> Matrix:
        """Returns a matrix without entries."""
        shape = tuple(shape)
        if len(shape) != 2:
            raise ValueError(f"{cls.__name__} must have ndim=2; got {shape=}")
        lines = shape[cls._line_axis()]
        buffers = (
            jnp.empty(0, dtype),
            jnp.empty(0, index_dtype),
            jnp.zeros(lines + 1, index_dtype),
        )
        return cls(buffers, shape=shape)

    @classmethod
    def _eye(
        cls: type[Matrix], N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32"
    ) -> Matrix:
        """Returns a matrix with ones on a diagonal."""
        count, *first = diagonal(N, M, k)
        axis = cls._line_axis()
        lines = (N, M)[axis]
        indices = np.arange(count) + first[1 - axis]
        indptr = np.clip(np.arange(lines + 1) - first[axis], 0, count)
        dtype_of_index = np.dtype(index_dtype)
        buffers = (
            jnp.ones(count, dtype),
            jnp.asarray(indices, dtype_of_index),
            jnp.asarray(indptr, dtype_of_index),
        )
        return cls(buffers, shape=(N, M))

    @classmethod
    def _line_axis(cls) -> int:
        return 0

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        return self._bufs, {"shape": self.shape}

    @classmethod
    def tree_unflatten(cls: type[Matrix], aux_data: dict[str, Any], children: Any) -> Matrix:
        return cls._make(children, aux_data["shape"])

    @classmethod
    def _make(cls: type[Matrix], buffers: Any, shape: tuple[int, ...]) -> Matrix:
        array = object.__new__(cls)
        array.data, array.indices, array.indptr = buffers
        array.shape = shape
        return array

    def _with_values(self: Matrix, data: Any) -> Matrix:
        """Returns the matrix with other values at the same coordinates."""
        return self._make((data, self.indices, self.indptr), self.shape)


def _check_axes(name: str, axes: Sequence[int] | None) -> None:
    if axes is not None and tuple(axes) != (1, 0):
        raise NotImplementedError(f"{name}.transpose takes no axes but (1, 0), got {tuple(axes)}")


@boundary_class
class CSR(_Compressed):
    """Sparse matrix in compressed sparse row (CSR) format.

    `BCSR` is more general.

    Args:
      args: the values and the columns, each of shape ``(nse,)``; the row pointers, of shape ``(rows
        + 1,)``.
      shape: the shape of the matrix.

    Example:
      >>> import numpy as np
      >>> CSR.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]], np.float32))
      CSR(float32[2, 2], nse=2)
    """

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        super().__init__(args, shape=shape)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """Makes a sparse matrix from a dense matrix; see `csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def todense(self) -> Any:
        """Returns the dense matrix."""
        return csr_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> CSC:
        """Returns the transposed matrix, as a `CSC`."""
        _check_axes("CSR", axes)
        return CSC(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        return matrix_product(self, other, csr_matvec, csr_matmat)


@boundary_class
class CSC(_Compressed):
    """Sparse matrix in compressed sparse column (CSC) format.

    Args:
      args: the values and the rows, each of shape ``(nse,)``; the column pointers, of shape
        ``(columns + 1,)``.
      shape: the shape of the matrix.

    Example:
      >>> import numpy as np
      >>> CSC.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]], np.float32))
      CSC(float32[2, 2], nse=2)
    """

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        super().__init__(args, shape=shape)

    @classmethod
    def _line_axis(cls) -> int:
        return 1

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """Makes a sparse matrix from a dense matrix; see `csr_fromdense`."""
        return csr_fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T

    def todense(self) -> Any:
        """Returns the dense matrix."""
        return csr_todense(self.T).T

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """Returns the transposed matrix, as a `CSR`."""
        _check_axes("CSC", axes)
        return CSR(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        return matrix_product(self, other, _csc_matvec, _csc_matmat)


def _csc_matvec(mat: CSC, v: Any) -> Any:
    return csr_matvec(mat.T, v, transpose=True)


def _csc_matmat(mat: CSC, B: Any) -> Any:
    return csr_matmat(mat.T, B, transpose=True)


def _register(cls: type[_Compressed]) -> None:
    def flatten(array: Any) -> Any:
        return array._bufs, array.shape

    pytrees.register_pytree_node(cls, flatten, lambda shape, buffers: cls._make(buffers, shape))


_register(CSR)
_register(CSC)


# ---- csr_todense ----


@sparse_primitive("csr_todense", linear_in=(0,))
def csr_todense_p(data: Any, indices: Any, indptr: Any, *, shape: tuple[int, ...]) -> Any:
    row = rows_of(indptr, indices.shape[0])
    return add_up(data, places(row, indices), shape)


define_multilinear_jvp(csr_todense_p, 0)
define_transpose_by_expansion(csr_todense_p)
define_batching_by_expansion(csr_todense_p)


def csr_todense(mat: CSR) -> Array:
    """Converts a sparse matrix to a dense matrix.

    Args:
      mat: the sparse matrix.

    Returns:
      An array of the shape and the dtype of ``mat``.

    Example:
      >>> import numpy as np
      >>> np.asarray(csr_todense(csr_fromdense(np.eye(2, dtype=np.float32)))).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return csr_todense_p.bind(*buffers_of("csr_todense", CSR, mat), shape=mat.shape)


# ---- csr_fromdense ----


@sparse_primitive("csr_fromdense", multiple_results=True)
def csr_fromdense_p(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
    row, col = (buffer.astype(index_dtype) for buffer in nonzero_positions(mat, nse))
    return [look_up(mat, places(row, col)), col, compressed(row, mat.shape[0], index_dtype)]


@jvp_rules.define(csr_fromdense_p)
def _csr_fromdense_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    data, indices, indptr = csr_fromdense_p.bind(*primals, **params)
    row = rows_of(indptr, indices.shape[0])
    tangent = look_up(tangents[0], places(row, indices))
    return [data, indices, indptr], [tangent, Zero.of(indices), Zero.of(indptr)]


define_batching_by_expansion(csr_fromdense_p)


def csr_fromdense(
    mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
) -> CSR:
    """Converts a dense matrix to a sparse matrix.

    Args:
      mat: the dense matrix.
      nse: the number of entries; by default the number of nonzero elements of a concrete matrix.
      index_dtype: the dtype of columns and of row pointers.

    Returns:
      A `CSR`.

    Raises:
      ValueError: ``mat`` is not a matrix.
      ConcretizationTypeError: ``nse`` is not given in a traced function.

    Example:
      >>> import numpy as np
      >>> csr_fromdense(np.eye(3, dtype=np.float32))
      CSR(float32[3, 3], nse=3)
    """
    mat = jnp.asarray(mat)
    nse = known_count(mat, nse, "csr_fromdense")
    buffers = csr_fromdense_p.bind(mat, nse=nse, index_dtype=np.dtype(index_dtype))
    return CSR._make(tuple(buffers), mat.shape)


# ---- csr_matvec and csr_matmat ----


def _product(
    data: Any, indices: Any, indptr: Any, other: Any, shape: tuple[int, ...], transpose: bool
) -> Any:
    row = rows_of(indptr, indices.shape[0])
    return product_of_entries(data, row, indices, other, shape, transpose)


@sparse_primitive("csr_matvec", linear_in=(0, 3))
def csr_matvec_p(
    data: Any, indices: Any, indptr: Any, v: Any, *, shape: tuple[int, ...], transpose: bool
) -> Any:
    return _product(data, indices, indptr, v, shape, transpose)


@sparse_primitive("csr_matmat", linear_in=(0, 3))
def csr_matmat_p(
    data: Any, indices: Any, indptr: Any, B: Any, *, shape: tuple[int, ...], transpose: bool
) -> Any:
    return _product(data, indices, indptr, B, shape, transpose)


for _primitive in (csr_matvec_p, csr_matmat_p):
    define_multilinear_jvp(_primitive, 0, 3)
    define_transpose_by_expansion(_primitive)
    define_batching_by_expansion(_primitive)


def csr_matvec(mat: CSR, v: ArrayLike, transpose: bool = False) -> Array:
    """Multiplies a sparse matrix and a vector.

    Args:
      mat: the sparse matrix.
      v: the vector.
      transpose: whether to transpose the matrix.

    Returns:
      A vector.

    Raises:
      TypeError: ``transpose`` is an array.

    Example:
      >>> import numpy as np
      >>> mat = csr_fromdense(np.array([[0, 2], [3, 0]]))
      >>> np.asarray(csr_matvec(mat, np.array([1, 10]))).tolist()
      [20, 3]
    """
    buffers = buffers_of("csr_matvec", CSR, mat)
    transpose = as_flag("csr_matvec", "transpose", transpose)
    return csr_matvec_p.bind(*buffers, jnp.asarray(v), shape=mat.shape, transpose=transpose)


def csr_matmat(mat: CSR, B: ArrayLike, *, transpose: bool = False) -> Array:
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
      >>> mat = csr_fromdense(np.array([[0, 2], [3, 0]]))
      >>> np.asarray(csr_matmat(mat, np.eye(2, dtype=int))).tolist()
      [[0, 2], [3, 0]]
    """
    buffers = buffers_of("csr_matmat", CSR, mat)
    transpose = as_flag("csr_matmat", "transpose", transpose)
    return csr_matmat_p.bind(*buffers, jnp.asarray(B), shape=mat.shape, transpose=transpose)
