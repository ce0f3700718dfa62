# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of slices, gathers and scatters.

Dimensions that are read as a whole, and batch dimensions, may be sharded. Indexed dimensions must
not be sharded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..diagnostics.errors import ShardingTypeError
from ..lax.indexing.scattering import (
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from ..programs.layout_inference import unreduced_as_operands
from ..programs.propagation import (
    Entries,
    Propagation,
    layout_of,
    propagation_rules,
    refuse_ragged_parts,
)
from ..types.layouts import entries_of


def split_as_operand(name: str) -> Any:
    """Returns the rule for results that are sharded like the first operand, into equal shards."""

    def split(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
        entries = entries_of(operands[0])
        if any(entries):
            mesh = layout_of(operands).mesh
            refuse_ragged_parts(name, operands, results[0].shape, entries, mesh)
        return entries

    return split


def _dynamic_update_slice(
    operands: Sequence[Any], results: Sequence[Any], **params: Any
) -> Entries:
    operand, update = operands[:2]
    if operand.layout is not update.layout:
        raise ShardingTypeError(
            "dynamic_update_slice operand sharding must be equal to update sharding, got operand "
            f"sharding {operand.str_short(mesh_axis_types=True)} and update sharding "
            f"{update.str_short(mesh_axis_types=True)}."
        )
    return entries_of(operand)


def _update_unreduced(
    operands: Sequence[Any], results: Sequence[Any], requested: frozenset, **params: Any
) -> frozenset:
    return unreduced_as_operands(operands[:2], results, requested)


def _refuse_gather(operand: Any, indices: Any) -> ShardingTypeError:
    return ShardingTypeError(
        "Use `.at[...].get(out_sharding=)` to provide output PartitionSpec for the gather indexing "
        "as out sharding could not be resolved unambiguously (or would require collectives on "
        f"inputs). Got operand={operand!r}, indices={indices!r}"
    )


def _gather(
    operands: Sequence[Any],
    results: Sequence[Any],
    *,
    dimension_numbers: Any,
    slice_sizes: tuple,
    **params: Any,
) -> Entries:
    operand, indices = operands
    numbers = dimension_numbers
    of_operand, of_indices = entries_of(operand), entries_of(indices)
    batching = dict(
        zip(numbers.start_indices_batching_dims, numbers.operand_batching_dims, strict=True)
    )
    for dimension, entry in enumerate(of_operand):
        whole = slice_sizes[dimension] == operand.shape[dimension]
        kept = dimension not in numbers.collapsed_slice_dims
        batched = dimension in numbers.operand_batching_dims
        if entry is not None and not (batched or (whole and kept)):
            raise _refuse_gather(operand, indices)
    # One entry for each dimension of the indices except the last.
    entries = []
    for dimension, entry in enumerate(of_indices[:-1]):
        source = batching.get(dimension)
        other = None if source is None else of_operand[source]
        if entry is not None and (source is None or (other is not None and other != entry)):
            raise _refuse_gather(operand, indices)
        entries.append(entry or other)
    if of_indices[-1] is not None:
        raise _refuse_gather(operand, indices)
    removed = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = [entry for dimension, entry in enumerate(of_operand) if dimension not in removed]
    for position in numbers.offset_dims:
        entries.insert(position, windows.pop(0))
    return entries


def _scatter(
    operands: Sequence[Any], results: Sequence[Any], *, dimension_numbers: Any, **params: Any
) -> Entries:
    operand, indices, updates = operands
    numbers = dimension_numbers
    of_operand, of_indices, of_updates = (
        entries_of(operand),
        entries_of(indices),
        entries_of(updates),
    )
    removed = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    windows = [dimension for dimension in range(operand.ndim) if dimension not in removed]
    batching = dict(
        zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims, strict=True)
    )

    def refuse() -> ShardingTypeError:
        return ShardingTypeError(
            "Use `.at[...].set/add/mul/...(out_sharding=)` to provide output PartitionSpec for the "
            "scatter update as out sharding could not be resolved unambiguously (or would require "
            f"collectives on inputs). Got operand={operand!r}, indices={indices!r}, "
            f"updates={updates!r}"
        )

    whole = {}
    for position, dimension in zip(numbers.update_window_dims, windows, strict=True):
        is_whole = updates.shape[position] == operand.shape[dimension]
        whole[dimension] = is_whole
        if of_updates[position] is not None and of_updates[position] != of_operand[dimension]:
            raise refuse()
    for dimension, entry in enumerate(of_operand):
        batched = dimension in numbers.operand_batching_dims
        if entry is not None and not (batched or whole.get(dimension, False)):
            raise refuse()
    free = [n for n in range(updates.ndim) if n not in numbers.update_window_dims]
    for dimension, entry in enumerate(of_indices):
        source = batching.get(dimension)
        of_update = of_updates[free[dimension]] if dimension < len(free) else None
        for axis in (entry, of_update):
            if axis is not None and (source is None or of_operand[source] != axis):
                raise refuse()
    return of_operand


propagation_rules.define(
    lax.slice_p,
    Propagation(split_as_operand("slice"), unreduced=unreduced_as_operands, reduced=True),
)
propagation_rules.define(
    lax.dynamic_slice_p, Propagation(split_as_operand("dynamic_slice"), reduced=True)
)
propagation_rules.define(
    lax.dynamic_update_slice_p,
    Propagation(_dynamic_update_slice, unreduced=_update_unreduced, reduced=True),
)
propagation_rules.define(lax.gather_p, Propagation(_gather))
for _primitive in (
    scatter_p,
    scatter_add_p,
    scatter_sub_p,
    scatter_mul_p,
    scatter_min_p,
    scatter_max_p,
):
    propagation_rules.define(_primitive, Propagation(_scatter))
