# SPDX-License-Identifier: Apache-2.0
"""Copies of arrays by compiled programs. `olympus_xla.evaluator` sets the functions in `arrays`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.staging import StagingTrace
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import PartitionSpec

from .._jaxlib import ArrayImpl, NamedSharding, SingleDeviceSharding
from ..arrays.assembly import make_array_from_single_device_arrays
from ..arrays.layouts import Layout, layout_of, layouts_in_use, same_layout
from ..arrays.transfer import put_leaf
from ..compiling.placement.placements import Placement, platform_of
from .jit import jit

if TYPE_CHECKING:
    from ..compiling import program_lowering
    from . import compiled
else:
    program_lowering = deferred("..compiling.program_lowering", milliseconds=180.0)
    compiled = deferred(".compiled", milliseconds=200.0)


def _identity(x: Any) -> Any:
    return x


def copy_with_sharding(value: Any, sharding: Any) -> ArrayImpl:
    """Returns an array with the contents of ``value``, with the given sharding."""
    return jit(_identity, out_shardings=sharding)(value)


def copy_between_devices(array: ArrayImpl, sharding: Any) -> ArrayImpl:
    """Returns an array with the contents of ``array`` on other devices, with ``sharding``.

    The devices cut the shards and exchange them. If the sets of devices differ, each device of
    ``array`` holds the whole array during the copy.
    """
    current = array._sharding
    if current.device_set == sharding.device_set:
        return copy_with_sharding(array, sharding)
    if not current.is_fully_replicated:
        array = copy_with_sharding(array, NamedSharding(current.mesh, PartitionSpec()))
    whole = {shard.device: shard.data for shard in array.addressable_shards}
    source = next(iter(whole.values()))
    parts = [
        put_leaf(whole.get(device, source)[index], device)
        for device, index in sharding.addressable_devices_indices_map(array.shape).items()
    ]
    return make_array_from_single_device_arrays(array.shape, sharding, parts)


def copy_with_layout(array: ArrayImpl, layout: Layout) -> ArrayImpl:
    """Returns the array with another layout, on the same devices."""
    current = layout_of(array)
    if same_layout(current, layout):
        return array
    layouts_in_use.in_use = True
    executable = _copy_program(array.aval, array._sharding, array._committed, current, layout)
    (result,) = executable.loaded.execute_sharded([array]).consume_with_handlers(
        executable.handlers
    )
    return result


@functools.lru_cache(maxsize=256)
def _copy_program(
    aval: ShapedArray, sharding: Any, committed: bool, source: Layout, target: Layout
) -> Any:
    """Returns the executable that copies an array from one layout to another."""
    trace = StagingTrace()
    value = trace.new_input(aval.strip_layout())
    closed = ClosedOlympuspr(*trace.to_olympuspr([value]))
    trace.finish()
    devices = tuple(sharding._internal_device_list)
    if type(sharding) is SingleDeviceSharding:
        mesh, shardings = None, ()
    else:
        mesh, shardings = sharding.mesh, (sharding,)
    placement = Placement(devices, mesh, shardings, shardings, committed, (source,), (target,))
    lowered = program_lowering.lower(
        closed, name="relayout", platforms=(platform_of(devices[0]),), placement=placement
    )
    return compiled.compile_lowered(lowered, placement).executable
