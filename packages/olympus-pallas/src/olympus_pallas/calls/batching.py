# SPDX-License-Identifier: Apache-2.0
"""Batching rules of `pallas_call`, which make the batch dimension an axis of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_batching.tables import batching_rules, materialize, to_front
from olympus_ir import lax
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr, Var
from olympus_ir.programs.primitives import Primitive
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray

from ..grids.block_dims import Squeezed
from ..grids.block_mappings import BlockMapping
from ..grids.grid_mappings import INDEX_DTYPE, GridMapping
from .pallas_call import pallas_call_p

_INDEX = ShapedArray((), INDEX_DTYPE)


@batching_rules.define(pallas_call_p)
def _pallas_call(
    axis_size: int,
    args: Sequence[Any],
    batch_dims: Sequence[Any],
    *,
    grid_mapping: GridMapping,
    input_output_aliases: Sequence[tuple[int, int]],
    out_avals: Sequence[ShapedArray],
    **params: Any,
) -> Any:
    unblocked = grid_mapping.num_dynamic_grid_bounds + grid_mapping.num_index_operands
    params["input_output_aliases"] = input_output_aliases
    if any(dim is not None for dim in batch_dims[:unblocked]) or axis_size == 0:
        # The positions of blocks depend on an operand that differs between the examples.
        return one_by_one(
            pallas_call_p,
            axis_size,
            args,
            batch_dims,
            grid_mapping=grid_mapping,
            out_avals=out_avals,
            **params,
        )
    aliased = {source + grid_mapping.num_dynamic_grid_bounds for source, _ in input_output_aliases}
    operands = []
    is_batched = []
    for position, (arg, dim) in enumerate(zip(args, batch_dims, strict=True)):
        if dim is None and position in aliased:
            # The output of each example aliases the input of the same example.
            operands.append(materialize(arg, axis_size, None, 0))
            is_batched.append(True)
        else:
            operands.append(arg if dim is None else to_front(arg, dim))
            is_batched.append(dim is not None)
    blocks = [
        _batched_block(block, axis_size, batched)
        for block, batched in zip(
            grid_mapping.block_mappings,
            [*is_batched[unblocked:], *[True] * len(out_avals)],
            strict=True,
        )
    ]
    batched_mapping = grid_mapping.replace(
        grid=(axis_size, *grid_mapping.grid),
        grid_names=None,
        block_mappings=tuple(blocks),
        index_map_avals=(_INDEX, *grid_mapping.index_map_avals),
        index_map_tree=_tree_with_axis(grid_mapping),
        vmapped_dims=(0, *(dim + 1 for dim in grid_mapping.vmapped_dims)),
    )
    cost = params.get("cost_estimate")
    if cost is not None:
        params["cost_estimate"] = type(cost)(
            cost.flops * axis_size,
            cost.transcendentals * axis_size,
            cost.bytes_accessed * axis_size,
            cost.remote_bytes_transferred * axis_size,
        )
    results = pallas_call_p.bind(
        *operands,
        grid_mapping=batched_mapping,
        out_avals=tuple(aval.update(shape=(axis_size, *aval.shape)) for aval in out_avals),
        **params,
    )
    return results, [0] * len(results)


def _tree_with_axis(grid_mapping: GridMapping) -> Any:
    """Returns the structure of the arguments of index maps, with an additional index."""
    tree = grid_mapping.index_map_tree
    args, kwargs = pytrees.tree_unflatten(tree, range(tree.num_leaves))
    return pytrees.tree_structure(((0, *args), kwargs))


def _batched_block(block: BlockMapping, axis_size: int, batched: bool) -> BlockMapping:
    """Returns the block mapping of an operand in the grid with the batch axis."""
    old = block.index_map_jaxpr.jaxpr
    example = Var(_INDEX)
    outvars = [example, *old.outvars] if batched else list(old.outvars)
    program = Olympuspr(
        old.constvars, [example, *old.invars], outvars, old.eqns, old.effects, old.debug_info
    )
    index_map = ClosedOlympuspr(program, block.index_map_jaxpr.consts)
    if not batched:
        return block.replace(index_map_jaxpr=index_map)
    aval = block.array_aval
    return block.replace(
        block_shape=(Squeezed(), *block.block_shape),
        array_aval=aval.update(shape=(axis_size, *aval.shape)),
        index_map_jaxpr=index_map,
        index_map_out_tree=pytrees.tree_structure((0,) * len(outvars)),
    )


def one_by_one(
    primitive: Primitive,
    axis_size: int,
    args: Sequence[Any],
    batch_dims: Sequence[Any],
    **params: Any,
) -> Any:
    """Calls a kernel for each example of a batch, one after another."""
    avals = params["out_avals"]
    starts = [lax.full((axis_size, *aval.shape), 0, aval.dtype) for aval in avals]
    fronted = [
        arg if dim is None else to_front(arg, dim)
        for arg, dim in zip(args, batch_dims, strict=True)
    ]

    def example(number: Any, outs: Sequence[Any]) -> list[Any]:
        operands = [
            arg if dim is None else lax.dynamic_index_in_dim(arg, number, 0, keepdims=False)
            for arg, dim in zip(fronted, batch_dims, strict=True)
        ]
        results = primitive.bind(*operands, **params)
        return [
            lax.dynamic_update_index_in_dim(out, result, number, 0)
            for out, result in zip(outs, results, strict=True)
        ]

    outs = lax.fori_loop(np.int32(0), np.int32(axis_size), example, starts)
    return outs, [0] * len(outs)
