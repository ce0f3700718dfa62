# SPDX-License-Identifier: Apache-2.0
"""Mosaic lowering of kernels over meshes of cores; each core becomes a program of a grid."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from olympus_ir.programs.olympuspr import Olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray

from ...core_maps.meshes import Mesh
from ...grids.block_specs import BlockSpec, block_mapping
from ...grids.grid_mappings import INDEX_DTYPE, GridMapping
from ...mlir.building import KernelLoweringError
from ...tpu import parameters as tpu_parameters
from ...tpu.meshes import TensorCoreMesh
from .module import lower_call

__all__ = ["lower_map"]


def lower_map(
    context: Any,
    *operands: Any,
    jaxprs: Sequence[Olympuspr],
    meshes: Sequence[Mesh],
    out_avals: Sequence[Any],
    input_output_aliases: Mapping[int, int],
    compiler_params: Any,
    **params: Any,
) -> list[Any]:
    """Lowers the kernel of one mesh to a call."""
    if len(meshes) != 1:
        raise KernelLoweringError(
            f"a kernel for a TPU runs on one mesh of cores, got {len(meshes)} meshes"
        )
    (mesh,), (program,) = meshes, jaxprs
    if not isinstance(mesh, TensorCoreMesh):
        raise KernelLoweringError(
            f"the Mosaic lowering of kernels supports meshes of tensor cores only, got {mesh}"
        )
    chosen = compiler_params or tpu_parameters.CompilerParams()
    if isinstance(chosen, tpu_parameters.CompilerParams) and chosen.dimension_semantics is None:
        chosen = dataclasses.replace(chosen, dimension_semantics=mesh.dimension_semantics)
    return lower_call(
        context,
        *operands,
        jaxpr=program,
        grid_mapping=grid_of(program, mesh, context.avals_in, out_avals),
        input_output_aliases=tuple(input_output_aliases.items()),
        out_avals=out_avals,
        compiler_params=chosen,
        **params,
    )


def grid_of(
    program: Olympuspr, mesh: Mesh, in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> GridMapping:
    """Returns the grid whose programs are the cores of a mesh; programs see the whole operands."""
    names, sizes = zip(*mesh.shape.items(), strict=True)
    index = ShapedArray((), INDEX_DTYPE)
    index_avals = (index,) * len(sizes)
    tree = pytrees.tree_structure(((0,) * len(sizes), {}))
    whole = BlockSpec(memory_space=mesh.default_memory_space)
    count = len(in_avals) + len(out_avals)
    blocks = [
        block_mapping(whole, f"operand {position}", aval, index_avals, tree)
        for position, aval in enumerate([*in_avals, *out_avals])
    ]
    return GridMapping(
        grid=tuple(sizes),
        grid_names=tuple(names),
        block_mappings=tuple(blocks),
        index_map_tree=tree,
        index_map_avals=index_avals,
        vmapped_dims=(),
        scratch_avals=tuple(var.aval for var in program.invars[count:]),
        num_index_operands=0,
        num_inputs=len(in_avals),
        num_outputs=len(out_avals),
    )
