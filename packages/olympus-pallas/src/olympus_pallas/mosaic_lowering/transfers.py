# SPDX-License-Identifier: Apache-2.0
"""Scoped buffers, semaphores and copies in Mosaic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import pytrees
from olympus_ir.olympuspr import Olympuspr, close_olympuspr, constants_as_inputs
from olympus_xla.lowering import mlir

from ..lowering.attributes import i32_array
from ..lowering.building import INT32, KernelLoweringError, element_type
from ..lowering.tables import mosaic_rules
from ..memory import SemaphoreDType
from ..scoped import run_scoped_p
from ..transfers import (
    dma_start_p,
    dma_wait_p,
    semaphore_read_p,
    semaphore_signal_p,
    semaphore_wait_p,
)
from .builder import MosaicBuilder, memory_name, memref_type
from .memory import MosaicRef, ref_of, viewed


def _types(builder: MosaicBuilder, operands: Sequence[Any]) -> dict[int, Any]:
    return {
        id(operand): aval.dtype for operand, aval in zip(operands, builder.avals_in, strict=True)
    }


@mosaic_rules.define(run_scoped_p)
def _run_scoped(
    builder: MosaicBuilder, *operands: Any, jaxpr: Olympuspr, collective_axes: Any, **params: Any
) -> list[Any]:
    if collective_axes:
        raise KernelLoweringError(
            f"buffers that cores share have no Mosaic form here, got {collective_axes=}"
        )
    types = [builder.value_type(atom.aval) for atom in jaxpr.outvars]
    region = builder.operation("tpu.region", types, [], regions=1)
    inner = builder.region(region, 0)
    refs = []
    for var in jaxpr.invars:
        aval = var.aval
        space = memory_name(aval.memory_space)
        kind = memref_type(aval.shape, aval.dtype, space)
        if isinstance(aval.dtype, SemaphoreDType):
            memref = inner.create("tpu.sem_alloc", kind)
        else:
            attributes = {"operandSegmentSizes": i32_array((0, 0))}
            memref = inner.create("memref.alloca", kind, (), attributes)
        refs.append(ref_of(memref, aval.dtype, space, aval.shape))
    program = close_olympuspr(constants_as_inputs(jaxpr))
    inner.end(inner.lower(program, [*operands, *refs]), "tpu.yield")
    return list(region.results)


def memref_of(builder: MosaicBuilder, ref: MosaicRef) -> Any:
    """The part of an array that a reference sees, as an array of its own."""
    memref = ref.memref
    if any(axis.stride != 1 for axis in ref.axes):
        raise KernelLoweringError("copies of references with strides have no Mosaic form")
    whole = ref.is_whole and builder.shape_of(memref) == tuple(axis.size for axis in ref.axes)
    if not whole:
        starts = [
            builder.int32(axis.start) if isinstance(axis.start, int) else axis.start
            for axis in ref.axes
        ]
        kind = memref_type([axis.size for axis in ref.axes], ref.dtype, ref.space)
        attributes = {"operandSegmentSizes": i32_array((1, len(starts), 0))}
        memref = builder.create("tpu.memref_slice", kind, (memref, *starts), attributes)
    if not all(axis.kept for axis in ref.axes):
        kind = memref_type(ref.shape, ref.dtype, ref.space)
        memref = builder.create("tpu.memref_squeeze", kind, (memref,))
    return memref


def _semaphore(
    builder: MosaicBuilder, ref: MosaicRef, transforms: Sequence[Any], types: dict[int, Any]
) -> Any:
    return memref_of(builder, viewed(builder, ref, transforms, types))


@mosaic_rules.define(semaphore_signal_p)
def _signal(
    builder: MosaicBuilder, *operands: Any, args_tree: Any, device_id_type: Any
) -> list[Any]:
    ref, _, inc, device_id, core_index = pytrees.tree_unflatten(args_tree, operands)
    transforms = pytrees.tree_unflatten(args_tree, builder.with_known_indices(operands))[1]
    if isinstance(device_id, tuple | list):
        raise KernelLoweringError(
            "devices are named by their number in kernels (DeviceIdType.LOGICAL), got a place in "
            f"the mesh: {device_id}"
        )
    semaphore = _semaphore(builder, ref, transforms, _types(builder, operands))
    optional = [value for value in (device_id, core_index) if value is not None]
    sizes = (1, 1, int(device_id is not None), int(core_index is not None), 0)
    builder.operation(
        "tpu.sem_signal",
        [],
        (semaphore, inc, *optional),
        {"operandSegmentSizes": i32_array(sizes)},
    )
    return []


@mosaic_rules.define(semaphore_wait_p)
def _wait(builder: MosaicBuilder, *operands: Any, args_tree: Any) -> list[Any]:
    ref, _, value, _ = pytrees.tree_unflatten(args_tree, operands)
    transforms = pytrees.tree_unflatten(args_tree, builder.with_known_indices(operands))[1]
    decrement = pytrees.tree_unflatten(args_tree, builder.equation.invars)[3]
    if not getattr(decrement, "val", True):
        raise KernelLoweringError("semaphores are decremented when they are waited for in Mosaic")
    semaphore = _semaphore(builder, ref, transforms, _types(builder, operands))
    builder.operation("tpu.sem_wait", [], (semaphore, value))
    return []


@mosaic_rules.define(semaphore_read_p)
def _read(builder: MosaicBuilder, *operands: Any, args_tree: Any) -> Any:
    ref, transforms = pytrees.tree_unflatten(args_tree, builder.with_known_indices(operands))
    semaphore = _semaphore(builder, ref, transforms, _types(builder, operands))
    return builder.create("tpu.sem_read", element_type(INT32), (semaphore,))


def _copy(builder: MosaicBuilder, operands: Sequence[Any], tree: Any) -> tuple[Any, Any, Any]:
    types = _types(builder, operands)
    parts = pytrees.tree_unflatten(tree, builder.with_known_indices(operands))
    source, target, semaphore = (
        memref_of(builder, viewed(builder, parts[place], parts[place + 1], types))
        for place in (0, 2, 4)
    )
    return source, target, semaphore


@mosaic_rules.define(dma_start_p)
def _start(
    builder: MosaicBuilder, *operands: Any, tree: Any, priority: int, add: bool, **params: Any
) -> list[Any]:
    if add:
        raise KernelLoweringError("copies that add have no Mosaic form; copy, and add then")
    source, target, semaphore = _copy(builder, operands, tree)
    attributes = {
        "operandSegmentSizes": i32_array((1, 0, 1, 1, 0, 0, 0)),
        "priority": mlir.i32(priority),
    }
    builder.operation("tpu.enqueue_dma", [], (source, target, semaphore), attributes)
    return []


@mosaic_rules.define(dma_wait_p)
def _arrived(builder: MosaicBuilder, *operands: Any, tree: Any, **params: Any) -> list[Any]:
    source, target, semaphore = _copy(builder, operands, tree)
    attributes = {"operandSegmentSizes": i32_array((1, 1, 1, 0, 0))}
    builder.operation("tpu.wait_dma2", [], (semaphore, source, target), attributes)
    return []
