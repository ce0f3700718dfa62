# SPDX-License-Identifier: Apache-2.0
"""Operations on BCSR arrays, by conversion to coordinates."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import Zero, jvp_rules
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from ..bcoo.array import make
from ..bcoo.conversion import (
    bcoo_extract_p,
    bcoo_fromdense_p,
    bcoo_todense_p,
    check_layout,
    count_places,
)
from ..bcoo.ordering import bcoo_eliminate_zeros, bcoo_sum_duplicates
from ..bcoo.products import DotDimensionNumbers, bcoo_dot_general_p, canonical_numbers
from ..bcoo.shaping import bcoo_broadcast_in_dim, bcoo_concatenate
from ..core.base import SparseInfo, buffers_of
from ..core.primitives import (
    define_batching_by_expansion,
    define_multilinear_jvp,
    define_transpose_by_expansion,
    sparse_primitive,
)
from .array import BCSR, coordinates, make_rows

__all__ = [
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_dot_general_p",
    "bcsr_eliminate_zeros",
    "bcsr_extract",
    "bcsr_extract_p",
    "bcsr_fromdense",
    "bcsr_fromdense_p",
    "bcsr_sum_duplicates",
    "bcsr_todense",
    "bcsr_todense_p",
]


# ---- bcsr_todense ----


@sparse_primitive("bcsr_todense", linear_in=(0,))
def bcsr_todense_p(data: Any, indices: Any, indptr: Any, *, spinfo: SparseInfo) -> Any:
    return bcoo_todense_p.bind(data, coordinates(indices, indptr), spinfo=spinfo)


define_multilinear_jvp(bcsr_todense_p, 0)
define_transpose_by_expansion(bcsr_todense_p)
define_batching_by_expansion(bcsr_todense_p)


def bcsr_todense(mat: BCSR) -> Array:
    """Converts a sparse array to a dense array.

    Args:
      mat: the sparse array.

    Returns:
      An array of the shape and the dtype of ``mat``.

    Example:
      >>> import numpy as np
      >>> np.asarray(bcsr_todense(bcsr_fromdense(np.eye(2, dtype=np.float32)))).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return bcsr_todense_p.bind(*buffers_of("bcsr_todense", BCSR, mat), spinfo=mat._info)


# ---- bcsr_fromdense ----


@sparse_primitive("bcsr_fromdense", multiple_results=True)
def bcsr_fromdense_p(
    mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> list[Any]:
    data, indices = bcoo_fromdense_p.bind(
        mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
    )
    rows = BCSR.from_bcoo(make((data, indices), SparseInfo(mat.shape, True, True)))
    return [rows.data, rows.indices, rows.indptr]


@jvp_rules.define(bcsr_fromdense_p)
def _bcsr_fromdense_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    data, indices, indptr = bcsr_fromdense_p.bind(*primals, **params)
    tangent = bcsr_extract_p.bind(indices, indptr, tangents[0])
    return [data, indices, indptr], [tangent, Zero.of(indices), Zero.of(indptr)]


define_batching_by_expansion(bcsr_fromdense_p)


def bcsr_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCSR:
    """Converts a dense array to a `BCSR`.

    Args:
      mat: the dense array.
      nse: the number of entries in each batch. By default, the smallest number that suffices;
        the array must then be concrete. If there are more nonzero elements, the last elements are
        dropped.
      n_batch: the number of leading batch dimensions.
      n_dense: the number of trailing dense dimensions.
      index_dtype: the dtype of columns and of row pointers.

    Returns:
      A `BCSR`.

    Raises:
      ValueError: the number of remaining, sparse dimensions is not two.
      ConcretizationTypeError: ``nse`` is not given in a traced function.

    Example:
      >>> import numpy as np
      >>> bcsr_fromdense(np.eye(3, dtype=np.float32))
      BCSR(float32[3, 3], nse=3)
    """
    mat = jnp.asarray(mat)
    check_layout("bcsr_fromdense", mat.ndim, n_batch, n_dense)
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError("bcsr_fromdense: must have 2 sparse dimensions.")
    if nse is None:
        nse = count_places(
            mat,
            n_batch,
            n_dense,
            "the `nse` argument of bcsr_fromdense: in a compiled function the number of entries "
            "must be given, since it would depend on values.",
        )
    nse = concrete_or_error(operator.index, nse, "the `nse` argument of bcsr_fromdense")
    buffers = bcsr_fromdense_p.bind(
        mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=np.dtype(index_dtype)
    )
    return make_rows(tuple(buffers), SparseInfo(mat.shape, True, True))


# ---- bcsr_extract ----


@sparse_primitive("bcsr_extract", linear_in=(2,))
def bcsr_extract_p(indices: Any, indptr: Any, mat: Any) -> Any:
    return bcoo_extract_p.bind(coordinates(indices, indptr), mat, assume_unique=True)


define_multilinear_jvp(bcsr_extract_p, 2)
define_transpose_by_expansion(bcsr_extract_p)
define_batching_by_expansion(bcsr_extract_p)


def bcsr_extract(indices: ArrayLike, indptr: ArrayLike, mat: ArrayLike) -> Array:
    """Gathers the values of a dense array at the coordinates of the entries of a `BCSR`.

    Args:
      indices: the columns, of shape (*batch, nse).
      indptr: the row pointers, of shape (*batch, rows + 1).
      mat: the dense array, of shape (*batch, rows, columns, *dense).

    Returns:
      The values, of shape (*batch, nse, *dense).

    Raises:
      ValueError: the number of rows is not the number of row pointers minus one.

    Example:
      >>> import numpy as np
      >>> mat = np.array([[5, 6], [7, 8]])
      >>> np.asarray(bcsr_extract(np.array([0, 1]), np.array([0, 1, 2]), mat)).tolist()
      [5, 8]
    """
    indices, indptr, mat = map(jnp.asarray, (indices, indptr, mat))
    rows = indptr.ndim - 1
    if mat.ndim < rows + 2 or mat.shape[rows] + 1 != indptr.shape[rows]:
        raise ValueError(
            f"bcsr_extract: the row pointers of shape {indptr.shape} do not fit the rows of an "
            f"array of shape {mat.shape}."
        )
    return bcsr_extract_p.bind(indices, indptr, mat)


# ---- bcsr_dot_general ----


@sparse_primitive("bcsr_dot_general", linear_in=(0, 3))
def bcsr_dot_general_p(
    lhs_data: Any,
    lhs_indices: Any,
    lhs_indptr: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
    lhs_spinfo: SparseInfo,
) -> Any:
    return bcoo_dot_general_p.bind(
        lhs_data,
        coordinates(lhs_indices, lhs_indptr),
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
        lhs_spinfo=lhs_spinfo,
    )


define_multilinear_jvp(bcsr_dot_general_p, 0, 3)
define_transpose_by_expansion(bcsr_dot_general_p)
define_batching_by_expansion(bcsr_dot_general_p)


def bcsr_dot_general(
    lhs: BCSR | ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Contracts a `BCSR` and a dense array.

    Args:
      lhs: the left operand, a BCSR.
      rhs: the right operand, a dense array.
      dimension_numbers: as for `lax.dot_general`.
      precision: ignored.
      preferred_element_type: the dtype of the accumulation.
      out_sharding: must be None, since sparse arrays are placed by their buffers.

    Returns:
      A dense array.

    Raises:
      NotImplementedError: ``lhs`` is not a `BCSR`, or ``rhs`` is not dense.

    Example:
      >>> import numpy as np
      >>> lhs = bcsr_fromdense(np.array([[0, 2], [3, 0]]))
      >>> numbers = (([1], [0]), ([], []))
      >>> np.asarray(bcsr_dot_general(lhs, np.array([1, 10]), dimension_numbers=numbers)).tolist()
      [20, 3]
    """
    if out_sharding is not None:
        raise NotImplementedError("bcsr_dot_general: out_sharding must be None")
    if not isinstance(lhs, BCSR) or hasattr(rhs, "todense"):
        raise NotImplementedError(
            "bcsr_dot_general currently implemented for BCSR lhs and ndarray rhs."
        )
    rhs = jnp.asarray(rhs)
    numbers = canonical_numbers(dimension_numbers, lhs.shape, rhs.shape)
    if preferred_element_type is None:
        dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(preferred_element_type, "bcsr_dot_general")
    return bcsr_dot_general_p.bind(
        lhs.data,
        lhs.indices,
        lhs.indptr,
        rhs,
        dimension_numbers=numbers,
        preferred_element_type=dtype,
        lhs_spinfo=lhs._info,
    )


# ---- operations on a BCOO with the same entries ----


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """Drops entries that are zero, and adds up entries with equal coordinates.

    Args:
      mat: the sparse array.
      nse: the number of entries of the result in each batch. By default, the smallest number that
        suffices; the array must then be concrete.

    Returns:
      A `BCSR` with distinct coordinates.

    Example:
      >>> import numpy as np
      >>> mat = BCSR((np.array([1, 2]), np.array([0, 0]), np.array([0, 2, 2])), shape=(2, 2))
      >>> np.asarray(bcsr_sum_duplicates(mat).data).tolist()
      [3]
    """
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse=nse))


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """Drops entries that are zero, and adds up entries with equal coordinates.

    Args:
      mat: the sparse array.
      nse: the number of entries of the result in each batch. By default, the smallest number that
        suffices; the array must then be concrete.

    Returns:
      A `BCSR` equal to ``mat``.
    """
    return BCSR.from_bcoo(bcoo_eliminate_zeros(mat.to_bcoo(), nse=nse))


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """Broadcasts an array to new batch and dense dimensions; see `bcoo_broadcast_in_dim`.

    Args:
      mat: the sparse array.
      shape: the shape of the result.
      broadcast_dimensions: for each dimension of ``mat``, the dimension of the result.
      sharding: must be None.

    Returns:
      A `BCSR`.

    Example:
      >>> import numpy as np
      >>> mat = bcsr_fromdense(np.eye(2))
      >>> bcsr_broadcast_in_dim(mat, shape=(3, 2, 2), broadcast_dimensions=(1, 2))
      BCSR(float32[3, 2, 2], nse=2, n_batch=1)
    """
    out = bcoo_broadcast_in_dim(
        mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding
    )
    return BCSR.from_bcoo(out)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Concatenates arrays along a dimension; see `bcoo_concatenate`.

    Args:
      operands: the arrays.
      dimension: the dimension.

    Returns:
      A `BCSR`.

    Example:
      >>> import numpy as np
      >>> mat = bcsr_fromdense(np.eye(2))
      >>> bcsr_concatenate([mat, mat], dimension=0)
      BCSR(float32[4, 2], nse=4)
    """
    matrices = [operand.to_bcoo() for operand in operands]
    return BCSR.from_bcoo(bcoo_concatenate(matrices, dimension=operator.index(dimension)))
