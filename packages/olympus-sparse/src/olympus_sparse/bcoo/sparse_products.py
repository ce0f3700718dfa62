# SPDX-License-Identifier: Apache-2.0
"""`bcoo_dot_general`: contraction of two BCOO arrays to a BCOO array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import is_undefined_primal, transpose_rules
from olympus_batching import batching_rules
from olympus_batching.dimensions import materialize
from olympus_ir import lax
from olympus_ir.lax.contractions.products import check_accumulator
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import DTypeLike
from olympus_numpy.core.promotion import promote_dtypes

from ..core.base import SparseInfo
from ..core.entries import in_bounds, over_batches, padding
from ..core.primitives import define_multilinear_jvp, sparse_primitive, transposed_expansion
from .array import BCOO, make
from .batching import batched_info
from .layouts import bcoo_update_layout
from .ordering import bcoo_sum_duplicates_p
from .products import DotDimensionNumbers, bcoo_dot_general_p, canonical_numbers, pairing
from .shaping import bcoo_transpose

__all__ = ["bcoo_dot_general", "bcoo_spdot_general_p"]


@sparse_primitive("bcoo_spdot_general", multiple_results=True, linear_in=(0, 2))
def bcoo_spdot_general_p(
    lhs_data: Any,
    lhs_indices: Any,
    rhs_data: Any,
    rhs_indices: Any,
    *,
    dimension_numbers: Any,
    lhs_spinfo: SparseInfo,
    preferred_element_type: Any,
    rhs_spinfo: SparseInfo,
) -> list[Any]:
    lhs = make((lhs_data, lhs_indices), lhs_spinfo)
    rhs = make((rhs_data, rhs_indices), rhs_spinfo)
    pairs = pairing(dimension_numbers, lhs.ndim, rhs.ndim)
    n_batch = lhs.n_batch
    dtype = np.dtype(preferred_element_type)

    # Batch dimensions get the order of the result. Dimensions that only lhs has get size one in
    # rhs.
    lhs_order = [l for l, _ in pairs.batch] + [d for d in pairs.lhs_free if d < lhs.n_batch]
    rhs_order = [r for _, r in pairs.batch]
    alone = tuple(range(len(pairs.batch), n_batch))
    lhs_buffers = [_batches_in_order(buffer, lhs_order) for buffer in (lhs.data, lhs.indices)]
    rhs_buffers = [
        lax.expand_dims(_batches_in_order(buffer, rhs_order), alone)
        for buffer in (rhs.data, rhs.indices)
    ]
    lhs_sparse, rhs_sparse = lhs._sparse_shape, rhs._sparse_shape
    left, right = (
        np.array([pair[side] - mat.n_batch for pair in pairs.contracted], int)
        for side, mat in ((0, lhs), (1, rhs))
    )
    lhs_free = np.array([d - lhs.n_batch for d in pairs.lhs_free if d >= lhs.n_batch], int)
    rhs_free = np.array([d - rhs.n_batch for d in pairs.rhs_free], int)
    sparse_shape = (
        *(lhs_sparse[column] for column in lhs_free),
        *(rhs_sparse[column] for column in rhs_free),
    )
    count = lhs.nse * rhs.nse

    def coordinates(lhs: Any, rhs: Any) -> Any:
        match = jnp.all(lhs[:, None, left] == rhs[None, :, right], axis=-1)
        match &= in_bounds(lhs, lhs_sparse)[:, None] & in_bounds(rhs, rhs_sparse)[None, :]
        shape = match.shape
        columns = jnp.concatenate(
            [
                jnp.broadcast_to(lhs[:, None, lhs_free], (*shape, len(lhs_free))),
                jnp.broadcast_to(rhs[None, :, rhs_free], (*shape, len(rhs_free))),
            ],
            axis=-1,
        )
        columns = jnp.where(match[..., None], columns, jnp.asarray(padding(sparse_shape, columns)))
        return match, columns.reshape(count, len(sparse_shape))

    def values(match: Any, lhs: Any, rhs: Any) -> Any:
        products = lhs.astype(dtype)[:, None] * rhs.astype(dtype)[None, :]
        return jnp.where(match, products, jnp.zeros((), dtype)).reshape(count)

    lhs_indices, rhs_indices = promote_dtypes(lhs_buffers[1], rhs_buffers[1])
    match, indices = over_batches(coordinates, n_batch, lhs_indices, rhs_indices)
    data = over_batches(values, n_batch, match, lhs_buffers[0], rhs_buffers[0])
    batch = tuple(lhs.shape[d] for d in lhs_order)
    data = jnp.broadcast_to(data, (*batch, count))
    indices = jnp.broadcast_to(indices, (*batch, count, len(sparse_shape)))
    limit = math.prod(sparse_shape)
    if limit < count:
        info = SparseInfo((*batch, *sparse_shape))
        return bcoo_sum_duplicates_p.bind(data, indices, spinfo=info, nse=limit)
    return [data, indices]


def _batches_in_order(buffer: Any, order: list[int]) -> Any:
    return lax.transpose(buffer, (*order, *range(len(order), buffer.ndim)))


define_multilinear_jvp(bcoo_spdot_general_p, 0, 2)


@transpose_rules.define(bcoo_spdot_general_p)
def _bcoo_spdot_general_transpose(
    cotangents: Any, lhs_data: Any, lhs_indices: Any, rhs_data: Any, rhs_indices: Any, **params: Any
) -> list[Any]:
    if is_undefined_primal(lhs_indices) or is_undefined_primal(rhs_indices):
        raise ValueError("Cannot transpose with respect to sparse indices")
    return transposed_expansion(
        bcoo_spdot_general_p,
        cotangents,
        lhs_data,
        lhs_indices,
        rhs_data,
        rhs_indices,
        **params,
    )


@batching_rules.define(bcoo_spdot_general_p)
def _bcoo_spdot_general_batching(
    axis_size: int, args: Any, batch_dims: Any, *, dimension_numbers: Any, **params: Any
) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    operands = [materialize(arg, axis_size, dim) for arg, dim in zip(args, batch_dims, strict=True)]
    by_one = [
        tuple(dim + 1 for dim in dims)
        for dims in (lhs_contract, rhs_contract, lhs_batch, rhs_batch)
    ]
    out = bcoo_spdot_general_p.bind(
        *operands,
        dimension_numbers=((by_one[0], by_one[1]), ((0, *by_one[2]), (0, *by_one[3]))),
        lhs_spinfo=batched_info(params["lhs_spinfo"], axis_size),
        preferred_element_type=params["preferred_element_type"],
        rhs_spinfo=batched_info(params["rhs_spinfo"], axis_size),
    )
    return out, [0, 0]


# ---- the function ----


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Any:
    """Returns a contraction of two arrays, of which at least one is sparse.

    Args:
      lhs: the left operand.
      rhs: the right operand.
      dimension_numbers: as for `lax.dot_general`.
      precision: has no effect.
      preferred_element_type: the dtype of the accumulation.
      out_sharding: must be None, since sparse arrays are placed by their buffers.

    Returns:
      A sparse array if both operands are sparse, else a dense array.

    Raises:
      TypeError: shapes do not fit.

    Example:
      >>> import numpy as np
      >>> lhs = BCOO((np.array([1, 2]), np.array([[0, 2], [1, 0]])), shape=(2, 3))
      >>> numbers = (([1], [0]), ([], []))
      >>> np.asarray(bcoo_dot_general(lhs, np.arange(3), dimension_numbers=numbers)).tolist()
      [2, 0]
    """
    if out_sharding is not None:
        raise NotImplementedError("bcoo_dot_general: out_sharding must be None")
    if not isinstance(lhs, BCOO) and not isinstance(rhs, BCOO):
        return lax.dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    lhs, rhs = (
        operand if isinstance(operand, BCOO) else jnp.asarray(operand) for operand in (lhs, rhs)
    )
    numbers = canonical_numbers(dimension_numbers, lhs.shape, rhs.shape)
    if preferred_element_type is None:
        dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(preferred_element_type, "bcoo_dot_general")
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return _spdot_general(lhs, rhs, numbers, dtype)
    if isinstance(lhs, BCOO):
        return _dot_general(lhs, rhs, numbers, dtype)
    # The operands are swapped, so the free dimensions of rhs come before those of lhs. The
    # transposition at the end restores their order.
    contract, batch = numbers
    out = _dot_general(rhs, lhs, (contract[::-1], batch[::-1]), dtype)
    count = len(batch[0])
    rhs_free = rhs.ndim - len(contract[1]) - count
    order = (*range(count), *range(count + rhs_free, out.ndim), *range(count, count + rhs_free))
    return lax.transpose(out, order)


def _dot_general(lhs: BCOO, rhs: Any, numbers: Any, dtype: Any) -> Any:
    return bcoo_dot_general_p.bind(
        lhs.data,
        lhs.indices,
        rhs,
        dimension_numbers=numbers,
        preferred_element_type=dtype,
        lhs_spinfo=lhs._info,
    )


def _spdot_general(lhs: BCOO, rhs: BCOO, numbers: Any, dtype: Any) -> BCOO:
    """Returns the sparse product; converts operands to layouts that the primitive supports."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    check_accumulator(jnp.result_type(lhs.dtype, rhs.dtype), dtype)
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError(
            "bcoo_dot_general of two sparse arrays does not support dense dimensions, got "
            f"n_dense={lhs.n_dense} and n_dense={rhs.n_dense}; make them sparse with "
            "bcoo_update_layout"
        )
    if any(
        dim >= mat.n_batch and mat.shape[dim] != 1
        for mat, batch in ((lhs, lhs_batch), (rhs, rhs_batch))
        for dim in batch
    ):
        raise NotImplementedError(
            "bcoo_dot_general of two sparse arrays takes batch dimensions that are batch "
            f"dimensions of the arrays, got {lhs_batch} with n_batch={lhs.n_batch} and {rhs_batch} "
            f"with n_batch={rhs.n_batch}"
        )
    lhs, lhs_contract, lhs_batch = _unit_sparse_as_batch(lhs, lhs_contract, lhs_batch)
    rhs, rhs_contract, rhs_batch = _unit_sparse_as_batch(rhs, rhs_contract, rhs_batch)
    lhs, lhs_map = _keep_product_batches(lhs, lhs_batch, contracted=lhs_contract)
    rhs, rhs_map = _keep_product_batches(rhs, rhs_batch, contracted=None)
    numbers = (
        (
            tuple(lhs_map[dim] for dim in lhs_contract),
            tuple(rhs_map[dim] for dim in rhs_contract),
        ),
        (tuple(lhs_map[dim] for dim in lhs_batch), tuple(rhs_map[dim] for dim in rhs_batch)),
    )
    data, indices = bcoo_spdot_general_p.bind(
        lhs.data,
        lhs.indices,
        rhs.data,
        rhs.indices,
        dimension_numbers=numbers,
        lhs_spinfo=lhs._info,
        preferred_element_type=dtype,
        rhs_spinfo=rhs._info,
    )
    pairs = pairing(numbers, lhs.ndim, rhs.ndim)
    lhs_free = sorted(pairs.lhs_free, key=lambda dim: lhs_map.index(dim))
    rhs_free = sorted(pairs.rhs_free, key=lambda dim: rhs_map.index(dim))
    produced = [
        *(("lhs", l) for l, _ in pairs.batch),
        *(("lhs", d) for d in pairs.lhs_free),
        *(("rhs", d) for d in pairs.rhs_free),
    ]
    result_labels = [
        *(("lhs", l) for l, _ in pairs.batch),
        *(("lhs", d) for d in lhs_free),
        *(("rhs", d) for d in rhs_free),
    ]
    shape = tuple((lhs if side == "lhs" else rhs).shape[dim] for side, dim in produced)
    out = make((data, indices), SparseInfo(shape))
    order = tuple(produced.index(label) for label in result_labels)
    return bcoo_transpose(out, permutation=order)


def _unit_sparse_as_batch(
    mat: BCOO, contracted: tuple[int, ...], batch: tuple[int, ...]
) -> tuple[BCOO, tuple[int, ...], tuple[int, ...]]:
    """Converts sparse dimensions of size one among ``batch`` to batch dimensions of the array.

    Returns:
      The array, with the order of its other dimensions unchanged, and the new positions of the
      dimensions ``contracted`` and ``batch``.
    """
    sparse = [dim for dim in batch if dim >= mat.n_batch]
    if not sparse:
        return mat, contracted, batch
    front = [*range(mat.n_batch), *sparse]
    order = [*front, *(dim for dim in range(mat.ndim) if dim not in front)]
    mat = bcoo_transpose(mat, permutation=order)
    mat = bcoo_update_layout(mat, n_batch=len(front), on_inefficient=None)
    contracted, batch = (tuple(map(order.index, dims)) for dims in (contracted, batch))
    return mat, contracted, batch


def _keep_product_batches(
    mat: BCOO, batch: tuple[int, ...], contracted: Any
) -> tuple[BCOO, list[int]]:
    """Converts batch dimensions to sparse ones, except those that the product keeps as batches.

    Args:
      mat: the operand.
      batch: the operand's dimensions that are batch dimensions of the product. They are kept.
      contracted: the contracted dimensions of a left operand; None for a right operand. A left
        operand also keeps batch dimensions that are not contracted.

    Returns:
      The operand with the kept batch dimensions in front, and the new position of each previous
      dimension.
    """
    kept = list(batch)
    if contracted is not None:
        kept += [dim for dim in range(mat.n_batch) if dim not in batch and dim not in contracted]
    others = [dim for dim in range(mat.n_batch) if dim not in kept]
    order = [*sorted(kept), *others, *range(mat.n_batch, mat.ndim)]
    if order != sorted(order):
        mat = bcoo_transpose(mat, permutation=order)
    mat = bcoo_update_layout(mat, n_batch=len(kept), on_inefficient=None)
    return mat, [order.index(dim) for dim in range(len(order))]
