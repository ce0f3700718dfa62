# SPDX-License-Identifier: Apache-2.0
"""Mosaic lowering of scoped buffers, semaphores and copies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Olympuspr, close_olympuspr, constants_as_inputs
from olympus_ir.trees import pytrees
from olympus_xla.compiling.lowering import mlir

from ...memory.spaces import SemaphoreDType, SemaphoreType
from ...mlir.attributes import i32_array
from ...mlir.building import INT32, KernelLoweringError, element_type
from ...mlir.tables import mosaic_rules
from ...operations.scoped import run_scoped_p
from ...operations.transfers import (
    DeviceIdType,
    dma_start_p,
    dma_wait_p,
    get_barrier_semaphore_p,
    semaphore_read_p,
    semaphore_signal_p,
    semaphore_wait_p,
)
from .builder import MosaicBuilder, memory_name, memref_type
from .memory import MosaicRef, memref_of, ref_of, viewed


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
            f"buffers that cores share have no Mosaic form, got {collective_axes=}"
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
    if device_id is not None:
        device_id, named = device_number(builder, device_id, device_id_type)
        core_index = named if core_index is None else core_index
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
        raise KernelLoweringError("in Mosaic, a wait always decrements the semaphore")
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
        memref_of(builder, viewed(builder, parts[coordinates], parts[coordinates + 1], types))
        for coordinates in (0, 2, 4)
    )
    return source, target, semaphore


def _destination(
    builder: MosaicBuilder, operands: Sequence[Any], tree: Any, device_id_type: Any
) -> tuple[Any, Any, Any]:
    """Returns the sending semaphore, the device and the core of a copy to another device."""
    parts = pytrees.tree_unflatten(tree, builder.with_known_indices(operands))
    if len(parts) == 6:
        return None, None, None
    sent = memref_of(builder, viewed(builder, parts[6], parts[7], _types(builder, operands)))
    device_id = pytrees.tree_unflatten(tree, operands)[8]
    return (sent, *device_number(builder, device_id, device_id_type))


def device_number(builder: MosaicBuilder, device_id: Any, kind: DeviceIdType) -> tuple[Any, Any]:
    """Returns the id of a device, and the index of its core; None if no core is given."""
    sizes = dict(builder.kernel.mesh_axes)
    if not isinstance(device_id, Mapping | tuple | list):
        if kind is DeviceIdType.LOGICAL or len(sizes) == 1:
            return device_id, None
        device_id = (device_id,)
    if not isinstance(device_id, Mapping):
        if len(device_id) != len(sizes):
            raise ValueError(
                f"a device must be named by its place along mesh axes {tuple(sizes)}, got "
                f"{len(device_id)} numbers"
            )
        device_id = dict(zip(sizes, device_id, strict=True))
    coordinates: dict[Any, Any] = {}
    core = None
    for name, index in device_id.items():
        if name in builder.kernel.core_axes:
            core = index
        elif name in sizes:
            coordinates[name] = index
        else:
            raise NameError(
                f"unbound axis name: {name} (axes of the mesh: "
                f"{', '.join(map(repr, sizes)) or 'none'})"
            )
    number = None
    for name, size in sizes.items():
        index = coordinates[name] if name in coordinates else mesh_index(builder, name)
        if number is None:
            number = index
        else:
            number = builder.add(builder.multiply(number, builder.int32(size)), index)
    return builder.int32(0) if number is None else number, core


def mesh_index(builder: MosaicBuilder, name: Any) -> Any:
    """Returns the index of this device, or of this core, along a named axis."""
    kernel = builder.kernel
    if name in kernel.core_axes:
        return kernel.program_ids[kernel.core_axes[name]]
    names = [axis for axis, _ in kernel.mesh_axes]
    if name not in names:
        known = ", ".join(map(repr, [*names, *kernel.core_axes])) or "none"
        raise NameError(f"unbound axis name: {name} (axes known in the kernel: {known})")
    coordinates = names.index(name)
    stride = math.prod(size for _, size in kernel.mesh_axes[coordinates + 1 :])
    number = builder.create("tpu.device_id", element_type(INT32))
    if stride != 1:
        number = builder.binary("arith.divsi", number, builder.int32(stride))
    size = builder.int32(kernel.mesh_axes[coordinates][1])
    return builder.binary("arith.remsi", number, size)


@mosaic_rules.define(lax.axis_index_p)
def _axis_index(builder: MosaicBuilder, *, axis_name: Any) -> Any:
    return mesh_index(builder, axis_name)


@mosaic_rules.define(get_barrier_semaphore_p)
def _barrier_semaphore(builder: MosaicBuilder) -> Any:
    dtype = SemaphoreType.BARRIER.dtype
    memref = builder.create("tpu.sem_barrier", memref_type((), dtype, "semaphore_mem"))
    return ref_of(memref, dtype, "semaphore_mem", ())


@mosaic_rules.define(dma_start_p)
def _start(
    builder: MosaicBuilder,
    *operands: Any,
    tree: Any,
    priority: int,
    add: bool,
    device_id_type: Any,
) -> list[Any]:
    if add:
        raise KernelLoweringError("copies that add have no Mosaic form; copy first, then add")
    source, target, semaphore = _copy(builder, operands, tree)
    sent, device, core = _destination(builder, operands, tree, device_id_type)
    segments = [source, sent, target, semaphore, device, core]
    attributes = {
        "operandSegmentSizes": i32_array([*(int(value is not None) for value in segments), 0]),
        "priority": mlir.i32(priority),
    }
    present = [value for value in segments if value is not None]
    builder.operation("tpu.enqueue_dma", [], present, attributes)
    return []


@mosaic_rules.define(dma_wait_p)
def _arrived(builder: MosaicBuilder, *operands: Any, tree: Any, device_id_type: Any) -> list[Any]:
    source, target, semaphore = _copy(builder, operands, tree)
    _, device, core = _destination(builder, operands, tree, device_id_type)
    optional = [value for value in (device, core) if value is not None]
    sizes = (1, 1, 1, int(device is not None), int(core is not None))
    attributes = {"operandSegmentSizes": i32_array(sizes)}
    builder.operation("tpu.wait_dma2", [], (semaphore, source, target, *optional), attributes)
    return []
