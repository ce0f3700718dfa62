# SPDX-License-Identifier: Apache-2.0
"""Triton modules of kernels, and their calls in programs for GPUs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from olympus_ir.programs.olympuspr import Olympuspr
from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.lowering.mlir import ir

from ... import triton
from ...grids.block_dims import Blocked, BoundedSlice, Indirect
from ...grids.block_mappings import BlockMapping
from ...grids.grid_mappings import GridMapping
from ...mlir.attributes import bytecode, parsed_type, type_attribute, use_dialect
from ...mlir.building import INT32, KernelLoweringError
from ...mlir.elementwise import cast
from ..known_sizes import check_known_sizes
from .builder import TritonBuilder, TritonKernel
from .views import array_pointer_type, block_ref

__all__ = ["kernel_module", "lower_call"]

_DEFAULT_WARPS, _DEFAULT_STAGES = 4, 3
# Arrays begin at multiples of this number of bytes.
_ALIGNMENT = 32
# The largest size of the second and of the third axis of a CUDA grid.
_LONGEST_AXIS = 65535


def lower_call(
    context: Any,
    *operands: Any,
    jaxpr: Olympuspr,
    grid_mapping: GridMapping,
    input_output_aliases: Sequence[tuple[int, int]],
    out_avals: Any,
    debug: bool,
    name: str | None,
    compiler_params: Any,
    **params: Any,
) -> list[Any]:
    """Lowers a `pallas_call` to the custom call of a Triton module."""
    for block in grid_mapping.block_mappings:
        check_known_sizes(block, "Triton")
    if grid_mapping.num_dynamic_grid_bounds:
        raise KernelLoweringError(
            "the Triton lowering of kernels needs a grid of known size; interpret=True accepts "
            "grids of computed sizes, too"
        )
    if grid_mapping.num_index_operands:
        raise KernelLoweringError(
            "prefetched scalars are a feature of TPUs: pass them as ordinary inputs, or lower the "
            "kernel for a TPU"
        )
    if grid_mapping.num_scratch_operands:
        raise KernelLoweringError(
            "Scratch memory not supported in Triton lowering: keep intermediate values in "
            "variables, which the compiler puts into registers and shared memory"
        )
    if compiler_params is not None and not isinstance(compiler_params, triton.CompilerParams):
        raise TypeError(
            f"compiler_params of a GPU kernel must be triton.CompilerParams, got "
            f"{compiler_params!r}"
        )
    function_name = name or jaxpr.debug_info.func_name
    symbol = "".join(c if c.isalnum() or c == "_" else "_" for c in function_name)
    module = kernel_module(jaxpr, grid_mapping, symbol)
    if debug:
        print(f"\nThe Triton module for pallas_call {jaxpr.debug_info.func_src_info}:")
        print(module)
    chosen = compiler_params or triton.CompilerParams()
    grid = _launch_grid(grid_mapping.grid)
    config = {
        "name": mlir.string(symbol),
        "ir": ir.StringAttr.get(bytecode(module.operation), context=mlir.context()),
        "num_stages": mlir.i32(chosen.num_stages or _DEFAULT_STAGES),
        "num_warps": mlir.i32(chosen.num_warps or _DEFAULT_WARPS),
        "grid_x": mlir.i32(grid[0]),
        "grid_y": mlir.i32(grid[1]),
        "grid_z": mlir.i32(grid[2]),
        "debug": mlir.boolean(debug),
    }
    return context.custom_call(
        "__gpu$xla.gpu.triton",
        context.result_types,
        operands,
        backend_config="",
        operand_layouts=[_row_major(aval) for aval in context.avals_in],
        result_layouts=[_row_major(aval) for aval in out_avals],
        operand_output_aliases=dict(input_output_aliases),
        api_version=1,
        attributes={"mhlo.backend_config": mlir.dictionary(config)},
    )


def _row_major(aval: Any) -> list[int]:
    return list(reversed(range(aval.ndim)))


def _leading_axes(grid: Sequence[int]) -> int:
    """Returns the number of leading axes of the grid that share the first hardware axis.

    The second and the third hardware axis take one axis each, of limited size.
    """
    leading = max(len(grid) - 2, 1)
    while any(size > _LONGEST_AXIS for size in grid[leading:]):
        leading += 1
    return leading


def _launch_grid(grid: Sequence[int]) -> tuple[int, int, int]:
    """Returns the sizes of the hardware axes."""
    leading = _leading_axes(grid)
    rest = [*grid[leading:], 1, 1]
    return math.prod(grid[:leading]), rest[0], rest[1]


def kernel_module(jaxpr: Olympuspr, grid_mapping: GridMapping, name: str) -> Any:
    """Returns the Triton module of a kernel, verified by MLIR."""
    use_dialect("triton")
    blocks = grid_mapping.block_mappings
    location = mlir.unknown_location()
    module = ir.Module.create(loc=location)
    module.operation.attributes["sym_name"] = mlir.string(name)
    types = [array_pointer_type(block.array_aval.dtype) for block in blocks]
    signature = ir.FunctionType.get(types, [], context=mlir.context())
    aligned = mlir.dictionary({"tt.divisibility": mlir.i32(_ALIGNMENT)})
    function = ir.Operation.create(
        "tt.func",
        [],
        [],
        {
            "sym_name": mlir.string(name),
            "sym_visibility": mlir.string("public"),
            "function_type": type_attribute(signature),
            "arg_attrs": mlir.array([aligned] * len(types)),
        },
        regions=1,
        loc=location,
        ip=ir.InsertionPoint(module.body),
        infer_type=False,
    )
    block = function.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
    kernel = TritonKernel([], tuple(grid_mapping.grid[d] for d in grid_mapping.own_dims), name)
    builder = TritonBuilder(kernel, block)
    places = _program_ids(builder, grid_mapping.grid)
    kernel.program_ids = [places[dim] for dim in grid_mapping.own_dims]
    refs = [
        block_ref(builder, pointer, mapping, _starts(builder, mapping, places))
        for pointer, mapping in zip(block.arguments, blocks, strict=True)
    ]
    builder.lower(jaxpr, refs)
    builder.operation("tt.return", [])
    if not module.operation.verify():
        raise AssertionError(f"the Triton module of {name} is not well-formed: {module}")
    return module


def _program_ids(builder: TritonBuilder, grid: Sequence[int]) -> list[Any]:
    """Returns the indices of the running program along the axes of the grid."""

    def hardware_id(axis: int) -> Any:
        return builder.create("tt.get_program_id", parsed_type("i32"), (), {"axis": mlir.i32(axis)})

    leading = _leading_axes(grid)
    first = hardware_id(0) if grid else None
    places = [hardware_id(axis) for axis in range(1, len(grid) - leading + 1)]
    for size in reversed(grid[1:leading]):
        places.insert(0, builder.binary("arith.remui", first, builder.int32(size)))
        first = builder.binary("arith.divui", first, builder.int32(size))
    return [first, *places] if grid else []


def _starts(builder: TritonBuilder, mapping: BlockMapping, places: Sequence[Any]) -> list[Any]:
    """Returns the index of a block's first element along each dimension; None for a constant 0."""
    if mapping.is_whole:
        return [None] * len(mapping.block_shape)
    results = builder.lower(mapping.index_map_jaxpr, places)
    starts = []
    for dim, result, atom in zip(
        mapping.block_shape, results, mapping.index_map_jaxpr.jaxpr.outvars, strict=True
    ):
        if isinstance(dim, BoundedSlice | Indirect):
            raise KernelLoweringError(
                f"the Triton lowering of kernels does not support the block dimension {dim} of "
                f"{mapping.origin}"
            )
        if getattr(atom, "val", None) == 0:
            starts.append(None)
            continue
        start = cast(builder, result, atom.aval.dtype, INT32)
        if isinstance(dim, Blocked) and dim.block_size != 1:
            start = builder.multiply(start, builder.int32(dim.block_size))
        starts.append(start)
    return starts
