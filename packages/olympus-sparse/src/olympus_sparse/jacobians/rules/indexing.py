# SPDX-License-Identifier: Apache-2.0
"""Sparsity rules of slices, and of gathers and scatters with constant indices.

The rules return patterns, terms and origins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.indexing.gathering import GatherScatterMode

from ..elimination import moved_terms, term_rules
from ..origins import Origin, chosen, moved_origins, origin_rules
from ..patterns import Flow, Pattern, merged, relation, select_rows, united_rows
from ..propagation import moved_elements, sparsity_rules, within_blocks
from ..terms import Linear, Term, Unsupported, expanded, filled, is_known, picked

define = sparsity_rules.define

define(lax.slice_p, moved_elements(lax.slice_p))
term_rules.define(lax.slice_p, moved_terms(lax.slice_p))
origin_rules.define(lax.slice_p, moved_origins(lax.slice_p))
define(lax.dynamic_slice_p, moved_elements(lax.dynamic_slice_p, 1))
define(lax.dynamic_update_slice_p, moved_elements(lax.dynamic_update_slice_p, 2))

_mixed = within_blocks(0)


def _window_ids(
    shape: Sequence[int],
    indices: np.ndarray,
    index_map: Sequence[int],
    batching: Sequence[tuple[int, int]],
    window: Sequence[int],
    clamps: bool,
) -> np.ndarray:
    """Returns the flat indices of the elements in the window at each index vector.

    Args:
      shape: the shape of the operand.
      indices: the index vectors, along the last dimension.
      index_map: the dimension of the operand for each component of an index vector.
      batching: pairs of a batch dimension of the operand and a batch dimension of the indices.
      window: the size of a window in each dimension of the operand.
      clamps: whether windows are moved into bounds.

    Returns:
      An array with the batch dimensions of the indices and the dimensions of the operand. The
      flat indices for windows out of bounds are -1.
    """
    batch_shape = indices.shape[:-1]
    starts = np.zeros((*batch_shape, len(shape)), np.int64)
    for component, dimension in enumerate(index_map):
        starts[..., dimension] = indices[..., component]
    for dimension, indices_dimension in batching:
        steps = np.arange(batch_shape[indices_dimension])
        outer = [1] * len(batch_shape)
        outer[indices_dimension] = -1
        starts[..., dimension] = steps.reshape(outer)
    limits = np.array([full - size for full, size in zip(shape, window, strict=True)])
    if clamps:
        starts = np.clip(starts, 0, limits)
    fits = np.all((starts >= 0) & (starts <= limits), axis=-1)
    strides = np.array([math.prod(shape[axis + 1 :]) for axis in range(len(shape))], np.int64)
    offsets = sum(
        (np.arange(size) * stride).reshape([-1 if a == axis else 1 for a in range(len(shape))])
        for axis, (size, stride) in enumerate(zip(window, strides, strict=True))
    )
    first = (starts @ strides).reshape(*batch_shape, *[1] * len(shape))
    return np.where(fits.reshape(first.shape), first + offsets, -1)


@define(lax.gather_p)
def _gather(
    results: Sequence[Any],
    operand: Flow,
    indices: Flow,
    *,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    mode: Any,
    **_: Any,
) -> Pattern | list[Pattern]:
    numbers = dimension_numbers
    batching = list(
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    )
    if indices.known is None:
        if batching:
            return _batched_gather(results[0].shape, operand, indices, numbers, batching)
        return _mixed(results, operand)
    ids = _gathered_ids(operand.shape, indices.known, numbers, slice_sizes, mode)
    return select_rows(operand.pattern, ids)


def _gathered_ids(
    shape: Sequence[int], indices: np.ndarray, numbers: Any, slice_sizes: Sequence[int], mode: Any
) -> np.ndarray:
    """Returns for each element of a gather's result the flat index of the operand's element."""
    ids = _window_ids(
        shape,
        indices,
        numbers.start_index_map,
        list(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)),
        slice_sizes,
        mode in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS),
    )
    # the dimensions of windows have their positions in the result
    num_batch_dims = indices.ndim - 1
    removed = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    ids = ids.squeeze(tuple(num_batch_dims + axis for axis in sorted(removed)))
    kept = range(num_batch_dims, ids.ndim)
    return np.moveaxis(ids, kept, numbers.offset_dims)


def _batched_gather(
    shape: Sequence[int],
    operand: Flow,
    indices: Flow,
    numbers: Any,
    batching: Sequence[tuple[int, int]],
) -> Pattern:
    """Unites the elements of each batch of the operand, where the indices are not known."""
    sizes = [operand.shape[axis] for axis, _ in batching]
    batch_ids = np.arange(math.prod(sizes)).reshape(sizes)
    outer = [1] * len(operand.shape)
    order = np.argsort([axis for axis, _ in batching])
    for axis, _ in batching:
        outer[axis] = operand.shape[axis]
    groups = np.broadcast_to(batch_ids.transpose(order).reshape(outer), operand.shape)
    united = united_rows(operand.pattern, groups, batch_ids.size)
    batch_dims = [axis for axis in range(len(shape)) if axis not in numbers.offset_dims]
    order = np.argsort([axis for _, axis in batching])
    outer = [1] * len(shape)
    for _, axis in batching:
        outer[batch_dims[axis]] = indices.shape[axis]
    return select_rows(united, np.broadcast_to(batch_ids.transpose(order).reshape(outer), shape))


def _scatter(accumulates: bool) -> Any:
    def rule(
        results: Sequence[Any],
        operand: Flow,
        indices: Flow,
        updates: Flow,
        *,
        dimension_numbers: Any,
        mode: Any,
        **_: Any,
    ) -> Pattern | list[Pattern]:
        numbers = dimension_numbers
        if indices.known is None:
            added = [] if updates.pattern is None else _mixed(results, updates)
            return merged([operand.pattern, *added])
        targets = _scatter_targets(operand, indices.known, updates, numbers, mode)
        kept = operand.pattern
        if not accumulates and kept is not None:
            ids = operand.ids.ravel().copy()
            ids[targets[targets >= 0]] = -1
            kept = select_rows(kept, ids)
        if updates.pattern is None:
            return kept
        shape = (operand.size, updates.size)
        return merged([kept, relation(targets, updates.ids, shape) @ updates.pattern])

    return rule


def _scatter_targets(
    operand: Flow, indices: np.ndarray, updates: Flow, numbers: Any, mode: Any
) -> np.ndarray:
    """Returns for each update the flat index of the operand's element that the update changes."""
    removed = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    sizes = iter([updates.shape[axis] for axis in numbers.update_window_dims])
    window = [1 if axis in removed else next(sizes) for axis in range(len(operand.shape))]
    batching = list(
        zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    )
    ids = _window_ids(
        operand.shape,
        indices,
        numbers.scatter_dims_to_operand_dims,
        batching,
        window,
        mode is GatherScatterMode.CLIP,
    )
    num_batch_dims = indices.ndim - 1
    ids = ids.squeeze(tuple(num_batch_dims + axis for axis in sorted(removed)))
    return np.moveaxis(ids, range(num_batch_dims, ids.ndim), numbers.update_window_dims)


define(lax.scatter_p, _scatter(accumulates=False))
for _primitive in (lax.scatter_add_p, lax.scatter_sub_p, lax.scatter_mul_p):
    define(_primitive, _scatter(accumulates=True))


# ---- terms ----


@term_rules.define(lax.gather_p)
def _gather_terms(
    results: Sequence[Any],
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    mode: Any,
    **_: Any,
) -> list[Term]:
    if not is_known(indices):
        raise Unsupported("indices are not known")
    ids = _gathered_ids(operand.shape, indices, dimension_numbers, slice_sizes, mode)
    terms = []
    for term in operand.terms:
        if term.rows is not None:
            terms.append(expanded(term, ids))
            continue
        columns = np.where(ids >= 0, term.columns.ravel()[np.maximum(ids, 0)], -1)
        coefficient = picked(term.coefficient, ids.ravel())
        if np.ndim(coefficient):
            coefficient = coefficient.reshape(ids.shape)
        terms.append(Term(columns, coefficient))
    return terms


@term_rules.define(lax.scatter_add_p)
def _scatter_add_terms(
    results: Sequence[Any],
    operand: Any,
    indices: Any,
    updates: Any,
    *,
    dimension_numbers: Any,
    mode: Any,
    **_: Any,
) -> list[Term]:
    if not is_known(indices):
        raise Unsupported("indices are not known")
    terms = list(operand.terms) if isinstance(operand, Linear) else []
    if not isinstance(updates, Linear):
        return terms
    like, flow = Flow(results[0]), Flow(updates.aval)
    targets = _scatter_targets(like, indices, flow, dimension_numbers, mode).ravel()
    for term in updates.terms:
        rows = targets if term.rows is None else targets[term.rows]
        columns, coefficient = term.columns.ravel(), term.coefficient
        if np.ndim(coefficient):
            coefficient = filled(coefficient, term.columns.shape).reshape(-1)
        kept = np.flatnonzero((rows >= 0) & (columns >= 0))
        if kept.size < rows.size:
            rows, columns, coefficient = rows[kept], columns[kept], picked(coefficient, kept)
        terms.append(Term(columns, coefficient, rows))
    return terms


# ---- origins ----


@origin_rules.define(lax.gather_p)
def _gather_origin(
    results: Sequence[Any],
    operand: Origin | None,
    indices: Origin | None,
    *,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    mode: Any,
    **_: Any,
) -> Origin | None:
    if operand is None or indices is None or not indices.is_known:
        return None
    shape = operand.indices.shape
    ids = _gathered_ids(shape, indices.factors, dimension_numbers, slice_sizes, mode)
    return chosen([operand], ids) if ids.min(initial=0) >= 0 else None
