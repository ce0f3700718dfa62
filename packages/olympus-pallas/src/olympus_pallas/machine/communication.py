# SPDX-License-Identifier: Apache-2.0
"""Evaluation rules of semaphores and copies on simulated cores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.olympuspr import Equation
from olympus_ir.references.indexing import NDIndexer
from olympus_ir.trees import pytrees

from ..operations.transfers import (
    DeviceIdType,
    dma_start_p,
    dma_wait_p,
    get_barrier_semaphore_p,
    semaphore_read_p,
    semaphore_signal_p,
    semaphore_wait_p,
)
from .evaluation import Core, machine_rules
from .operations import viewed
from .runs import Buffer, RowsOf, Site, Transfer
from .views import read

__all__ = ["place_of", "remote"]


def place_of(core: Core, device_id: Any, kind: DeviceIdType) -> tuple[int, Any]:
    """Returns the id of a device and the index of a core.

    The index of the core is None if ``device_id`` names no core. `remote` then keeps the index of
    the core that has the buffer.
    """
    sizes = dict(core.mesh_axes)
    on_core: Any = None
    if kind is DeviceIdType.LOGICAL and not isinstance(device_id, Mapping | tuple):
        return int(device_id), None
    position = {name: core.places[name] for name in sizes}
    if isinstance(device_id, Mapping):
        for name, index in device_id.items():
            names = name if isinstance(name, tuple) else (name,)
            index = int(index)
            for axis in reversed(names):
                size = core.sizes[axis]
                if axis in sizes:
                    position[axis] = index % size
                else:
                    on_core = index % size if on_core is None else on_core
                index //= size
    else:
        indices = device_id if isinstance(device_id, tuple | list) else (device_id,)
        if len(indices) != len(sizes):
            raise ValueError(
                f"a device must be named by its place along mesh axes {tuple(sizes)}, got "
                f"{len(indices)} numbers"
            )
        position = dict(zip(sizes, map(int, indices), strict=True))
    number = 0
    for name, size in sizes.items():
        number = number * size + position[name]
    return number, on_core


def remote(core: Core, site: Site, device: int, on_core: Any = None) -> Site:
    """Returns the part of another device's buffer that corresponds to ``site``."""
    if device == core.device and on_core in (None, core.number):
        return site
    if not 0 <= device < core.run.num_devices:
        raise ValueError(
            f"device {device} is not among the {core.run.num_devices} devices of the kernel"
        )
    with core.run.changed:
        return Site(core.run.elsewhere(core, site.buffer, device, on_core), site.transforms)


@machine_rules.define(semaphore_signal_p)
def _signal(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    params = equation.params
    site, transforms, inc, device_id, core_index = pytrees.tree_unflatten(
        params["args_tree"], operands
    )
    semaphore = viewed(core, site, transforms)
    on_core = None if core_index is None else int(core_index)
    device = core.device
    if device_id is not None:
        device, named = place_of(core, device_id, params["device_id_type"])
        on_core = named if on_core is None else on_core
    core.run.signal(core, remote(core, semaphore, device, on_core), int(inc))
    return []


@machine_rules.define(semaphore_wait_p)
def _wait(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    site, transforms, value, decrement = pytrees.tree_unflatten(
        equation.params["args_tree"], operands
    )
    core.run.wait(core, viewed(core, site, transforms), int(value), bool(decrement))
    return []


@machine_rules.define(semaphore_read_p)
def _read(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    site, transforms = pytrees.tree_unflatten(equation.params["args_tree"], operands)
    with core.run.changed:
        return np.asarray(core.run.value(viewed(core, site, transforms)), np.int32)


@machine_rules.define(get_barrier_semaphore_p)
def _barrier_semaphore(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    with core.run.changed:
        key = (core.device, None, "barrier semaphore")
        if key not in core.run.buffers:
            core.run.buffers[key] = Buffer(np.zeros((), np.int32), key[2], core.device, None)
            core.run.touch()
        return Site(core.run.buffers[key])


def _kept_rows(source: Site, target: Site) -> tuple[Site, Site]:
    """Returns the source and the target of a copy, reduced to the rows that both keep."""
    for site in (source, target):
        if isinstance(site, RowsOf):
            kept = np.flatnonzero(site.kept)
            source, target = _rows(source, kept), _rows(target, kept)
    return source, target


def _rows(site: Site, rows: np.ndarray) -> Site:
    transforms = site.transforms
    # The last transform of a `RowsOf` has the indices of all its rows. The given rows are selected.
    if isinstance(site, RowsOf):
        *transforms, last = transforms
        numbers, *rest = last.indices
        index = NDIndexer((numbers[rows], *rest), last.shape, rows.shape)
    else:
        index = NDIndexer.from_indices_shape((rows,), _shape(site))
    return Site(site.buffer, (*transforms, index))


def _parts(core: Core, equation: Equation, operands: Sequence[Any]) -> tuple[Any, ...]:
    parts = pytrees.tree_unflatten(equation.params["tree"], operands)
    source, source_view, target, target_view, received, received_view, *rest = parts
    sent, sent_view, device_id = rest or (None, (), None)
    source, target = _kept_rows(
        viewed(core, source, source_view), viewed(core, target, target_view)
    )
    return (
        source,
        target,
        viewed(core, received, received_view),
        None if sent is None else viewed(core, sent, sent_view),
        device_id,
    )


@machine_rules.define(dma_start_p)
def _start(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    source, target, received, sent, device_id = _parts(core, equation, operands)
    if device_id is not None:
        device, on_core = place_of(core, device_id, equation.params["device_id_type"])
        target = remote(core, target, device, on_core)
        received = remote(core, received, device, on_core)
    core.run.start(core, Transfer(source, target, received, sent, equation.params["add"]))
    return []


@machine_rules.define(dma_wait_p)
def _arrived(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    _, target, received, _, _ = _parts(core, equation, operands)
    size = target.buffer.array.dtype.itemsize * math.prod(_shape(target))
    core.run.wait(core, received, size)
    return []


def _shape(site: Site) -> tuple[int, ...]:
    """Returns the shape of a view, without reading its elements."""
    array = np.broadcast_to(np.zeros((), np.int8), site.buffer.array.shape)
    return read(array, site.transforms).shape
