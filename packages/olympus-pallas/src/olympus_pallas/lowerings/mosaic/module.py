# SPDX-License-Identifier: Apache-2.0
"""Mosaic modules of kernels, and their calls in programs for TPUs."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.olympuspr import Olympuspr
from olympus_ir.types import dtypes
from olympus_xla._jaxlib import run_mlir_passes
from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.lowering.mlir import ir

from ... import tpu
from ...grids.block_dims import BoundedSlice, Element, Indirect
from ...grids.block_mappings import BlockMapping
from ...grids.grid_mappings import GridMapping, dynamic_grid_dim
from ...mlir.attributes import bytecode, parsed_type, type_attribute, use_dialect
from ...mlir.building import BOOL, INT32, KernelLoweringError
from ...mlir.elementwise import cast
from ...operations.transfers import communicates
from ..known_sizes import check_known_sizes
from .builder import MosaicBuilder, MosaicKernel, memory_name, memref_type
from .memory import ref_of

__all__ = ["kernel_module", "lower_call"]

_VECTOR_MEMORY = 1
_LANES, _SUBLANES = 128, 8
# The version of MLIR's bytecode in which the compiler receives kernels.
_BYTECODE_VERSION = 0
_DYNAMIC = -(2**63)


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
    cost_estimate: Any,
    metadata: Any,
    **params: Any,
) -> list[Any]:
    """Lowers a `pallas_call` to the custom call of a Mosaic module."""
    if compiler_params is not None and not isinstance(compiler_params, tpu.CompilerParams):
        raise TypeError(
            f"compiler_params of a TPU kernel must be tpu.CompilerParams, got {compiler_params!r}"
        )
    chosen = compiler_params or tpu.CompilerParams()
    source = jaxpr.debug_info.func_src_info
    _check_blocks(grid_mapping, source)
    function_name = name or jaxpr.debug_info.func_name
    symbol = "".join(c if c.isalnum() or c == "_" else "_" for c in function_name)
    axes = context.module.axis_context
    mesh_axes = () if axes is None else tuple(zip(axes.axis_names, axes.axis_sizes, strict=True))
    module = kernel_module(jaxpr, grid_mapping, symbol, chosen, mesh_axes)
    if debug:
        print(f"\nThe Mosaic module for pallas_call {source}:")
        print(module)
    config = _backend_config(_serialized(module), chosen, cost_estimate, communicates(jaxpr))
    attributes = {
        "kernel_name": mlir.string(function_name if name else symbol),
        "mhlo.frontend_attributes": mlir.dictionary(
            {"kernel_metadata": mlir.string(json.dumps(metadata or {}))}
        ),
    }
    bounds = grid_mapping.num_dynamic_grid_bounds
    return _custom_call(
        context,
        operands,
        out_avals,
        backend_config=config,
        has_side_effect=chosen.has_side_effects not in (False, tpu.SideEffectType.PURE),
        operand_output_aliases={source + bounds: to for source, to in input_output_aliases},
        attributes=attributes,
    )


def _custom_call(
    context: Any, operands: Sequence[Any], out_avals: Sequence[Any], **options: Any
) -> list[Any]:
    """Builds the call of a kernel; its operands and results have 32-bit integers for booleans."""
    avals_in = context.avals_in
    converted = [
        context.convert(operand, aval.shape, INT32) if aval.dtype == BOOL else operand
        for operand, aval in zip(operands, avals_in, strict=True)
    ]
    types = [
        mlir.tensor_type(aval.shape, INT32 if aval.dtype == BOOL else aval.dtype)
        for aval in out_avals
    ]
    results = context.custom_call(
        "tpu_custom_call",
        types,
        tuple(converted),
        operand_layouts=[list(reversed(range(mlir.physical_aval(a).ndim))) for a in avals_in],
        result_layouts=[list(reversed(range(aval.ndim))) for aval in out_avals],
        api_version=1,
        **options,
    )
    return [
        context.convert(result, aval.shape, BOOL) if aval.dtype == BOOL else result
        for result, aval in zip(results, out_avals, strict=True)
    ]


def _serialized(module: Any) -> bytes:
    """Returns the module in the stable serialization of Mosaic."""
    copy = module.operation.clone()
    run_mlir_passes(copy, "builtin.module(mosaic-serde{serialize=true})")
    return bytecode(copy, _BYTECODE_VERSION)


def _backend_config(body: bytes, params: Any, cost_estimate: Any, communicates: bool) -> str:
    config: dict[str, Any] = {"body": base64.b64encode(body).decode()}
    if communicates:
        config["has_communication"] = True
    if cost_estimate is not None:
        config["cost_estimate"] = dataclasses.asdict(cost_estimate)
    config["serialization_format"] = params.serialization_format
    config["needs_layout_passes"] = True
    if not params.shape_invariant_numerics:
        config["shape_invariant_numerics"] = False
    for field in ("collective_id", "allow_input_fusion", "internal_scratch_in_bytes"):
        value = getattr(params, field)
        if value is not None:
            config[field] = value
    for field in ("disable_bounds_checks", "disable_semaphore_checks", "skip_device_barrier"):
        if getattr(params, field):
            config[field] = True
    whole: dict[str, Any] = {"custom_call_config": config}
    if params.vmem_limit_bytes is not None:
        size = params.vmem_limit_bytes
        whole["scoped_memory_configs"] = [
            {"memory_space": _VECTOR_MEMORY, "offset": 0, "size": size}
        ]
    if params.flags:
        whole["flag_configs"] = [
            {"flag_type": flag, "value": {_value_kind(value): value}}
            for flag, value in params.flags.items()
        ]
    return json.dumps(whole)


def _value_kind(value: Any) -> str:
    kinds = {bool: "boolean_value", int: "integer_value", float: "double_value"}
    return kinds.get(type(value), "string_value")


# ---- checks ----


def _check_blocks(grid_mapping: GridMapping, source: str) -> None:
    for block in grid_mapping.block_mappings:
        check_known_sizes(block, "Mosaic")
        if memory_name(block.block_aval.memory_space) == "vmem":
            _check_block(block, source)


def _check_block(block: BlockMapping, source: str) -> None:
    """Checks that Mosaic can tile a block in vector memory."""
    if dtypes.issubdtype(block.array_aval.dtype, dtypes.prng_key):
        raise ValueError(
            "PRNG keys must be loaded from SMEM. Did you set the memory space to "
            f"MemorySpace.SMEM in the BlockSpec for the PRNG key input? It is {block.origin}."
        )
    where = (
        f"Block spec for {block.origin} in pallas_call {source} has block shape "
        f"{block.block_shape}, array shape {block.array_aval.shape}, and index_map "
        f"{block.index_map_jaxpr}, in memory space {block.block_aval.memory_space!r}."
    )
    if not block.array_aval.shape:
        raise ValueError(
            "The Pallas TPU lowering currently supports only blocks of rank >= 1. " + where
        )
    elements = [isinstance(dim, Element) for dim in block.block_shape]
    if any(elements) and not all(elements):
        raise KernelLoweringError(
            "All block dimensions must be Elements or none of them can be Elements. " + where
        )
    if block.array_aval.ndim == 1:
        _check_vector_block(block, where)
    else:
        _check_matrix_block(block, where)


def _check_vector_block(block: BlockMapping, where: str) -> None:
    bits = 32 if block.array_aval.dtype == BOOL else 8 * block.array_aval.dtype.itemsize
    tile = _LANES * (32 // bits)
    if block.sizes[0] != block.array_aval.shape[0] and block.sizes[0] % tile:
        raise ValueError(
            "The Pallas TPU lowering currently requires that rank 1 block shapes, either 1)"
            " the first (and only) dimension of the block shape is equal to the first (and"
            " only) dimension of the array shape, or 2) the first (and only) dimension of"
            f" the block shape is a multiple of the tiling size ({tile} = 128 * (32 //"
            f" {bits})) of the array shape. " + where
        )


def _check_matrix_block(block: BlockMapping, where: str) -> None:
    for size, whole, tile in zip(
        block.sizes[-2:], block.array_aval.shape[-2:], (_SUBLANES, _LANES), strict=True
    ):
        if size != whole and size % tile:
            raise ValueError(
                "The Pallas TPU lowering currently requires that the last two dimensions of your "
                "block shape are divisible by 8 and 128 respectively, or be equal to the "
                f"respective dimensions of the overall array. {where}"
            )


# ---- modules ----


def kernel_module(
    jaxpr: Olympuspr,
    grid_mapping: GridMapping,
    name: str,
    params: Any,
    mesh_axes: tuple[tuple[Any, int], ...] = (),
) -> Any:
    """Returns the Mosaic module of a kernel, verified by MLIR."""
    use_dialect("tpu")
    location = mlir.unknown_location()
    module = ir.Module.create(loc=location)
    module.operation.attributes["sym_name"] = mlir.string(name)
    grid, blocks = grid_mapping.grid, grid_mapping.block_mappings
    prefetched = grid_mapping.index_map_avals[len(grid) :]
    types = [parsed_type("i32")] * len(grid) + _operand_types(grid_mapping, prefetched)
    body = _function(module, name, types, [], _function_attributes(grid_mapping, params))
    arguments = list(body.arguments)
    positions, operands = arguments[: len(grid)], arguments[len(grid) :]
    own_dims = grid_mapping.own_dims
    kernel = MosaicKernel(
        [positions[dim] for dim in own_dims],
        tuple(grid[dim] for dim in own_dims),
        name,
        mesh_axes,
        {axis: index for index, axis in enumerate(grid_mapping.grid_names or ())},
    )
    builder = MosaicBuilder(kernel, body)
    builder.lower(jaxpr, _operand_refs(grid_mapping, prefetched, operands))
    builder.operation("func.return", [])
    if grid:
        for index, block in enumerate(blocks):
            if _is_cut(block):
                _transform(module, f"transform_{index}", block, len(grid), prefetched)
    if not module.operation.verify():
        raise AssertionError(f"the Mosaic module of {name} is not well-formed: {module}")
    return module


def _function_attributes(grid_mapping: GridMapping, params: Any) -> dict[str, Any]:
    """Returns the attributes that describe the grid to Mosaic."""
    attributes = {
        "dimension_semantics": _dimension_semantics(grid_mapping, params),
        "scalar_prefetch": mlir.i64(grid_mapping.num_index_operands),
        "scratch_operands": mlir.i64(grid_mapping.num_scratch_operands),
        "tpu.core_type": mlir.parsed("#tpu.core_type<tc>"),
    }
    if grid_mapping.grid:
        attributes["iteration_bounds"] = mlir.i64_array(
            [_DYNAMIC if size is dynamic_grid_dim else size for size in grid_mapping.grid]
        )
        attributes["window_params"] = mlir.array(
            [_window(index, block) for index, block in enumerate(grid_mapping.block_mappings)]
        )
    return attributes


def _operand_types(grid_mapping: GridMapping, prefetched: Sequence[Any]) -> list[Any]:
    """Returns the types of prefetched scalars, blocks and scratch buffers."""
    return [
        *(memref_type(aval.shape, aval.dtype, "smem") for aval in prefetched),
        *map(_block_type, grid_mapping.block_mappings),
        *(
            memref_type(aval.shape, aval.dtype, memory_name(aval.memory_space))
            for aval in grid_mapping.scratch_avals
        ),
    ]


def _operand_refs(
    grid_mapping: GridMapping, prefetched: Sequence[Any], memrefs: Sequence[Any]
) -> list[Any]:
    """Returns the kernel's references to the arguments ``memrefs`` of its MLIR function."""
    blocks = grid_mapping.block_mappings
    first, end = len(prefetched), len(prefetched) + len(blocks)

    def whole(memref: Any, aval: Any) -> Any:
        return ref_of(memref, aval.dtype, memory_name(aval.memory_space), aval.shape)

    def block_of(memref: Any, block: BlockMapping) -> Any:
        space = memory_name(block.block_aval.memory_space)
        return ref_of(memref, block.array_aval.dtype, space, block.sizes, block.squeezed_dims)

    return [
        *map(whole, memrefs[:first], prefetched),
        *map(block_of, memrefs[first:end], blocks),
        *map(whole, memrefs[end:], grid_mapping.scratch_avals),
    ]


def _is_cut(block: BlockMapping) -> bool:
    """Returns whether the pipeline copies blocks of the array to the core's memory."""
    return memory_name(block.block_aval.memory_space) in ("vmem", "smem")


def _block_type(block: BlockMapping) -> Any:
    return memref_type(
        block.sizes, block.array_aval.dtype, memory_name(block.block_aval.memory_space)
    )


def _dimension_semantics(grid_mapping: GridMapping, params: Any) -> Any:
    semantics = params.dimension_semantics
    own_dims = grid_mapping.own_dims
    if semantics is not None:
        grid_mapping.check_semantics(semantics)
    names = []
    for dim in range(len(grid_mapping.grid)):
        name: Any = "arbitrary"
        if semantics is not None and dim in own_dims:
            name = semantics[own_dims.index(dim)]
        name = str(getattr(name, "value", name)).lower()
        names.append(mlir.parsed(f"#tpu.dimension_semantics<{name}>"))
    return mlir.array(names)


def _window(number: int, block: BlockMapping) -> Any:
    if not _is_cut(block):
        return mlir.dictionary({})
    window = {
        "transform_indices": mlir.symbol(f"transform_{number}"),
        "window_bounds": mlir.i64_array(block.sizes),
    }
    mode = block.pipeline_mode
    whole = block.is_whole and memory_name(block.block_aval.memory_space) == "vmem"
    if whole or (mode is not None and mode.buffer_count == 1):
        window["pipeline_mode"] = mlir.parsed("#tpu.pipeline_mode<synchronous>")
    elif mode is not None and mode.buffer_count != 2:
        raise KernelLoweringError(
            f"an operand of a pipeline must have one or two buffers, got {mode} for {block.origin}"
        )
    if any(isinstance(dim, Element) for dim in block.block_shape):
        low = [dim.padding[0] for dim in block.block_shape if isinstance(dim, Element)]
        high = [dim.padding[1] for dim in block.block_shape if isinstance(dim, Element)]
        window["window_kind"] = mlir.parsed(f"#tpu.element_window<{low}, {high}>")
    return mlir.dictionary(window)


def _function(
    module: Any, name: str, types: Sequence[Any], results: Sequence[Any], attributes: Any
) -> Any:
    """Adds a function to a module, and returns the block of the function's operations."""
    location = mlir.unknown_location()
    signature = ir.FunctionType.get(list(types), list(results), context=mlir.context())
    function = ir.Operation.create(
        "func.func",
        [],
        [],
        {
            "sym_name": mlir.string(name),
            "function_type": type_attribute(signature),
            **attributes,
        },
        regions=1,
        loc=location,
        ip=ir.InsertionPoint(module.body),
        infer_type=False,
    )
    return function.regions[0].blocks.append(*types, arg_locs=[location] * len(types))


def _transform(
    module: Any, name: str, block: BlockMapping, rank: int, prefetched: Sequence[Any]
) -> None:
    """Adds the MLIR function that maps a program's indices to the indices of its block."""
    i32 = parsed_type("i32")
    types = [i32] * rank + [memref_type(aval.shape, aval.dtype, "smem") for aval in prefetched]
    results = [i32] * len(block.block_shape)
    body = _function(module, name, types, results, {})
    builder = MosaicBuilder(MosaicKernel([], (), name), body)
    arguments = list(body.arguments)
    refs = [
        ref_of(memref, aval.dtype, "smem", aval.shape)
        for memref, aval in zip(arguments[rank:], prefetched, strict=True)
    ]
    program = block.index_map_jaxpr
    positions = builder.lower(program, [*arguments[:rank], *refs])
    returned = []
    for dim, position, aval in zip(block.block_shape, positions, program.out_avals, strict=True):
        if isinstance(dim, BoundedSlice | Indirect):
            raise KernelLoweringError(
                f"the Mosaic lowering of kernels does not support the block dimension {dim} of "
                f"{block.origin}"
            )
        returned.append(cast(builder, position, np.dtype(aval.dtype), INT32))
    builder.operation("func.return", [], returned)
