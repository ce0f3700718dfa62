# SPDX-License-Identifier: Apache-2.0
"""Sparse rules of operations on shapes and coordinates, of sums along axes, and of products."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.programs.tracing import find_tracers

from ..bcoo.arithmetic import bcoo_reduce_sum
from ..bcoo.array import make
from ..bcoo.conversion import bcoo_extract_p
from ..bcoo.convolution import bcoo_conv_general_dilated
from ..bcoo.indexing import bcoo_dynamic_slice, bcoo_gather, bcoo_slice
from ..bcoo.reshaping import bcoo_reshape
from ..bcoo.shaping import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_rev,
    bcoo_squeeze,
    bcoo_transpose,
)
from ..bcoo.sparse_products import bcoo_dot_general
from ..bcsr.array import BCSR
from ..bcsr.operations import bcsr_broadcast_in_dim, bcsr_concatenate, bcsr_dot_general
from ..core.base import SparseInfo
from ..creation import todense_p
from .elementwise import as_bcoo, to_dense
from .interpreter import is_sparse, sparse_rules

__all__: list[str] = []


@sparse_rules.define(lax.reduce_sum_p)
def _reduce_sum(operand: Any, *, axes: Sequence[int], **params: Any) -> Any:
    out = bcoo_reduce_sum(as_bcoo(operand), axes=axes)
    return out if out.ndim else out.todense()


@sparse_rules.define(lax.broadcast_in_dim_p)
def _broadcast_in_dim(
    operand: Any, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any
) -> Any:
    broadcast = bcoo_broadcast_in_dim
    if isinstance(operand, BCSR) and len(shape) - broadcast_dimensions[-1] <= 1 + operand.n_dense:
        broadcast = bcsr_broadcast_in_dim
    operand = operand if broadcast is bcsr_broadcast_in_dim else as_bcoo(operand)
    return broadcast(
        operand, shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding
    )


@sparse_rules.define(lax.concatenate_p)
def _concatenate(*operands: Any, dimension: int) -> Any:
    if all(isinstance(operand, BCSR) for operand in operands):
        return bcsr_concatenate(operands, dimension=dimension)
    if not all(map(is_sparse, operands)):
        raise ValueError(
            "bcoo_concatenate: expected operands to be a sequence of BCOO arrays. Got "
            f"{tuple(operands)}"
        )
    return bcoo_concatenate([as_bcoo(operand) for operand in operands], dimension=dimension)


@sparse_rules.define(lax.reshape_p)
def _reshape(operand: Any, *, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    return bcoo_reshape(
        as_bcoo(operand), new_sizes=new_sizes, dimensions=dimensions, sharding=sharding
    )


@sparse_rules.define(lax.rev_p)
def _rev(operand: Any, *, dimensions: Sequence[int]) -> Any:
    return bcoo_rev(as_bcoo(operand), dimensions)


@sparse_rules.define(lax.squeeze_p)
def _squeeze(operand: Any, *, dimensions: Sequence[int]) -> Any:
    return bcoo_squeeze(as_bcoo(operand), dimensions=dimensions)


@sparse_rules.define(lax.transpose_p)
def _transpose(operand: Any, *, permutation: Sequence[int]) -> Any:
    return bcoo_transpose(as_bcoo(operand), permutation=permutation)


@sparse_rules.define(lax.slice_p)
def _slice(operand: Any, **params: Any) -> Any:
    return bcoo_slice(as_bcoo(operand), **params)


@sparse_rules.define(lax.dynamic_slice_p)
def _dynamic_slice(operand: Any, *starts: Any, slice_sizes: Sequence[int]) -> Any:
    return bcoo_dynamic_slice(as_bcoo(operand), starts, slice_sizes)


@sparse_rules.define(lax.gather_p)
def _gather(
    operand: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, **rest: Any
) -> Any:
    if is_sparse(indices):
        raise NotImplementedError("sparse rule for gather with sparse indices is not implemented.")
    return bcoo_gather(as_bcoo(operand), indices, dimension_numbers, slice_sizes, **rest)


@sparse_rules.define(lax.dot_general_p)
def _dot_general(
    lhs: Any, rhs: Any, *, dimension_numbers: Any, preferred_element_type: Any, **params: Any
) -> Any:
    product = bcoo_dot_general
    if isinstance(lhs, BCSR) and not is_sparse(rhs):
        product = bcsr_dot_general
    else:
        lhs, rhs = as_bcoo(lhs), as_bcoo(rhs)
    return product(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
    )


@sparse_rules.define(lax.conv_general_dilated_p)
def _conv_general_dilated(lhs: Any, rhs: Any, **params: Any) -> Any:
    return bcoo_conv_general_dilated(as_bcoo(lhs), as_bcoo(rhs), **params)


@sparse_rules.define(lax.split_p)
def _split(operand: Any, *, sizes: Sequence[int], axis: int) -> list[Any]:
    mat = as_bcoo(operand)
    limits = np.cumsum([0, *sizes]).tolist()
    parts = []
    for low, high in itertools.pairwise(limits):
        starts, ends = [0] * mat.ndim, list(mat.shape)
        starts[axis], ends[axis] = low, high
        parts.append(bcoo_slice(mat, start_indices=starts, limit_indices=ends))
    return parts


@sparse_rules.define(lax.pad_p)
def _pad(operand: Any, padding_value: Any, *, padding_config: Any) -> Any:
    """Pads with zeros by moving coordinates and padding dense dimensions."""
    if is_sparse(padding_value):
        raise NotImplementedError("sparse rule for pad with a sparse value is not implemented.")
    mat = as_bcoo(operand)
    if not _known_zero(padding_value):
        raise NotImplementedError(
            "sparse rule for pad is not implemented for a padding value that is not known to be "
            "zero because it would result in dense output."
        )
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    if any(tuple(config) != (0, 0, 0) for config in padding_config[:n_batch]):
        raise NotImplementedError("sparse rule for pad is not implemented for batch dimensions.")
    sparse = padding_config[n_batch : n_batch + n_sparse]
    dense = padding_config[n_batch + n_sparse :]
    shape = tuple(
        max(0, size + low + high + max(0, size - 1) * interior)
        for size, (low, high, interior) in zip(mat.shape, padding_config)
    )
    zero = jnp.zeros((), mat.data.dtype)
    data = lax.pad(mat.data, zero, ((0, 0, 0),) * (n_batch + 1) + tuple(map(tuple, dense)))
    indices = mat.indices
    if any(tuple(config) != (0, 0, 0) for config in sparse):
        dtype = indices.dtype
        low = np.array([config[0] for config in sparse], dtype)
        step = np.array([config[2] + 1 for config in sparse], dtype)
        sizes = np.array(mat._sparse_shape, dtype)
        limits = np.array(shape[n_batch : n_batch + n_sparse], dtype)
        moved = indices * step + low
        kept = jnp.all((indices < sizes) & (moved >= 0) & (moved < limits), axis=-1, keepdims=True)
        indices = jnp.where(kept, moved, limits)
    return make((data, indices), SparseInfo(shape, False, mat.unique_indices))


def _known_zero(value: Any) -> bool:
    """Returns whether a concrete value is zero everywhere."""
    if find_tracers([value]):
        return False
    return not np.any(np.asarray(value))


@sparse_rules.define(lax.select_n_p)
def _select_n(which: Any, *cases: Any) -> Any:
    """Selects by a dense condition; the result is the sum of the selected entries of all cases."""
    if is_sparse(which):
        raise NotImplementedError(
            "sparse rule for select_n with a sparse condition is not implemented."
        )
    total = None
    for index, case in enumerate(map(as_bcoo, cases)):
        if not is_sparse(case):
            if _known_zero(case):
                continue
            raise NotImplementedError(
                "sparse rule for select_n is not implemented for dense cases, because it would "
                "result in dense output."
            )
        chosen = which == np.asarray(index, which.dtype)
        if np.ndim(which):
            chosen_entries = bcoo_extract_p.bind(case.indices, chosen, assume_unique=True)
        else:
            chosen_entries = chosen
        term = case._with_data(jnp.where(chosen_entries, case.data, jnp.zeros((), case.dtype)))
        total = term if total is None else sparse_rules[lax.add_p](total, term)
    return total


@sparse_rules.define(lax.stack_p)
def _stack(*operands: Any, axis: int) -> Any:
    parts = []
    for operand in map(as_bcoo, operands):
        shape = (*operand.shape[:axis], 1, *operand.shape[axis:])
        dims = tuple(dim + (dim >= axis) for dim in range(operand.ndim))
        parts.append(bcoo_broadcast_in_dim(operand, shape=shape, broadcast_dimensions=dims))
    return bcoo_concatenate(parts, dimension=axis)


@sparse_rules.define(todense_p)
def _todense(*operands: Any, tree: Any) -> Any:
    (operand,) = operands
    return to_dense(operand)
