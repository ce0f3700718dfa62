# SPDX-License-Identifier: Apache-2.0
"""Data between the processes of a program: gathering, spreading, comparing, waiting.

All processes call these functions together, in the same order.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from olympus_batching.dimensions import BatchAxis
from olympus_batching.tables import axis_rules
from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.trees import pytrees
from olympus_ir.trees.pytree_prefix import spread_prefix
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import AxisType, PartitionSpec
from olympus_sharding.meshes.mesh import Mesh

from .._jaxlib import ArrayImpl, NamedSharding
from ..arrays.array import host_value
from ..arrays.assembly import _global_shape, make_array_from_single_device_arrays
from ..arrays.transfer import put_leaf
from ..calls.jit import jit
from ..platforms import backends
from .distributed import ProcessFailureError, live_processes, reached_sync_point

__all__ = [
    "ProcessFailureError",
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]


def _is_global(value: Any) -> bool:
    return type(value) is ArrayImpl and not value.is_fully_addressable


# ---- gathering and spreading ----


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Brings data of all processes to every process.

    Args:
      in_tree: a pytree. An array over the devices of several processes is given whole. Of other
        arrays, each process has its own, of the same shape.
      tiled: whether the processes' arrays are joined along the first dimension, rather than stacked
        along a new one.

    Returns:
      A pytree of NumPy arrays, the same in all processes.

    Example:
      >>> import numpy as np
      >>> process_allgather(np.arange(2)).shape
      (1, 2)
    """
    return pytrees.tree_map(lambda leaf: _allgather(leaf, tiled), in_tree)


def _allgather(value: Any, tiled: bool) -> np.ndarray:
    if _is_global(value):
        return host_value(put_leaf(value, _everywhere(value)))
    value = _on_host(value)
    if tiled and value.ndim == 0:
        value = value[None]
    if backends.process_count() == 1:
        return value if tiled else value[None]
    stacked = host_value(_replicate(_stack_of_processes(value)))
    return np.concatenate(stacked) if tiled else stacked


def _on_host(value: Any) -> np.ndarray:
    return host_value(value) if type(value) is ArrayImpl else np.asarray(value)


def _everywhere(array: ArrayImpl) -> NamedSharding:
    """The sharding that gives each device of an array the whole of it."""
    sharding = array.sharding
    if isinstance(sharding, NamedSharding):
        return NamedSharding(sharding.mesh, PartitionSpec())
    return NamedSharding(Mesh(np.array(sharding._device_assignment), ("all",)), PartitionSpec())


def _mesh_of_processes() -> Mesh:
    """The mesh of the first device of each process: data need not go to the others."""
    firsts: dict[int, Any] = {}
    for device in backends.devices():
        firsts.setdefault(device.process_index, device)
    devices = [firsts[process] for process in sorted(firsts)]
    return Mesh(np.array(devices), ("processes",), (AxisType.Auto,))


def _stack_of_processes(value: np.ndarray) -> ArrayImpl:
    """An array whose n-th slice is the value of the n-th process."""
    sharding = NamedSharding(_mesh_of_processes(), PartitionSpec("processes"))
    part = put_leaf(value[None], sharding.mesh.local_devices[0])
    shape = (sharding.mesh.size, *part.shape[1:])
    return make_array_from_single_device_arrays(shape, sharding, [part])


def _replicate(array: ArrayImpl) -> ArrayImpl:
    return put_leaf(array, _everywhere(array))


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Brings the data of one process to all.

    Args:
      in_tree: a pytree of arrays, of the same structure and shapes in all processes.
      is_source: whether the data of this process are the ones; true in one process. Process 0 where
        not given.

    Returns:
      A pytree of NumPy arrays: the source's.

    Example:
      >>> import numpy as np
      >>> broadcast_one_to_all({"a": np.arange(3)})
      {'a': array([0, 1, 2])}
    """
    if backends.process_count() == 1:
        return pytrees.tree_map(_on_host, in_tree)
    if is_source is None:
        is_source = backends.process_index() == 0
    return pytrees.tree_map(lambda leaf: _broadcast(_on_host(leaf), bool(is_source)), in_tree)


@jit
def _sum_over_processes(parts: Any) -> Any:
    return lax.reduce_sum(parts, (0,))


def _broadcast(value: np.ndarray, is_source: bool) -> np.ndarray:
    # Bytes, of which all but one process have zeros: their sum is exact for every dtype.
    contents = np.frombuffer(value.tobytes(), np.uint8)
    parts = _stack_of_processes(contents if is_source else np.zeros_like(contents))
    received = host_value(_replicate(_sum_over_processes(parts)))
    return np.frombuffer(received.tobytes(), value.dtype).reshape(value.shape)


# ---- comparing and waiting ----


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Checks that all processes have the same data.

    Args:
      in_tree: a pytree of arrays.
      fail_message: what to say otherwise.

    Raises:
      AssertionError: in the processes whose data differ from those of process 0.

    Example:
      >>> assert_equal(1)
    """
    expected = broadcast_one_to_all(in_tree)
    own_leaves = map(_on_host, pytrees.tree_leaves(in_tree))
    for own, other in zip(own_leaves, pytrees.tree_leaves(expected), strict=True):
        if own.shape != other.shape or own.tobytes() != other.tobytes():
            raise AssertionError(f"{fail_message} Expected: {expected}; got: {in_tree}.")


def sync_global_devices(name: str) -> None:
    """Waits until all processes have called it.

    Args:
      name: the same in all processes, to find out if they wait in different places.

    Raises:
      AssertionError: where another process waits under another name.

    Example:
      >>> sync_global_devices("after loading")
    """
    if backends.process_count() == 1:
        return
    checksum = np.uint32(zlib.crc32(name.encode()))
    assert_equal(checksum, f"sync_global_devices name mismatch ('{name}').")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether the processes should save their state at this step, since one is to be preempted.

    Args:
      step_id: the number of the step, counted alike in all processes.

    Returns:
      True in all processes at the same step, after one of them has been told to end.

    Raises:
      RuntimeError: where `olympus.distributed.initialize` has not been called.
    """
    return reached_sync_point(step_id)


@contextlib.contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """Those of some devices whose processes are alive; checked again at the end of the block.

    Args:
      devices: the devices.

    Raises:
      ProcessFailureError: where processes died during the block.
    """
    live = live_processes()
    present = [device for device in devices if device.process_index in live]
    yield present
    still_live = live_processes()
    failed = [device for device in present if device.process_index not in still_live]
    if failed:
        raise ProcessFailureError(failed)


# ---- arrays of one process, and of all ----


def _specs(pspecs: Any, tree: Any) -> list[PartitionSpec]:
    def is_leaf(value: Any) -> bool:
        return value is None or isinstance(value, PartitionSpec)

    specs = spread_prefix(pspecs, tree, is_leaf)
    return [PartitionSpec() if spec is None else spec for spec in specs]


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Joins the arrays that each process has into arrays over all devices of a mesh.

    Args:
      local_inputs: a pytree of arrays; in each process what its devices are to hold.
      global_mesh: a mesh over the devices of all processes.
      pspecs: a pytree of partition specs that is a prefix of ``local_inputs``.

    Returns:
      A pytree of arrays over the mesh.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> host_local_array_to_global_array(np.arange(2), mesh, olympus.P("i"))
      Array([0, 1], dtype=int32)
    """
    leaves, tree = pytrees.tree_flatten(local_inputs)
    results = [
        host_local_array_to_global_array_p.bind(leaf, global_mesh=global_mesh, pspec=spec)
        for leaf, spec in zip(leaves, _specs(pspecs, local_inputs), strict=True)
    ]
    return pytrees.tree_unflatten(tree, results)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The parts of arrays that are in this process, as arrays of its devices.

    Args:
      global_inputs: a pytree of arrays over the devices of all processes.
      global_mesh: a mesh over these devices.
      pspecs: a pytree of partition specs that is a prefix of ``global_inputs``: how the arrays are
        divided.

    Returns:
      A pytree of arrays over the mesh's devices in this process.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> array = olympus.device_put(np.arange(2), olympus.NamedSharding(mesh, olympus.P("i")))
      >>> global_array_to_host_local_array(array, mesh, olympus.P("i"))
      Array([0, 1], dtype=int32)
    """
    leaves, tree = pytrees.tree_flatten(global_inputs)
    results = [
        global_array_to_host_local_array_p.bind(leaf, global_mesh=global_mesh, pspec=spec)
        for leaf, spec in zip(leaves, _specs(pspecs, global_inputs), strict=True)
    ]
    return pytrees.tree_unflatten(tree, results)


def host_local_array_to_global_array_impl(arr: Any, *, global_mesh: Any, pspec: Any) -> Any:
    """`host_local_array_to_global_array` of one array."""
    if _is_global(arr):
        return arr
    sharding = NamedSharding(global_mesh, pspec)
    local = put_leaf(arr, NamedSharding(global_mesh.local_mesh, pspec))
    parts = [shard.data for shard in local.addressable_shards]
    return make_array_from_single_device_arrays(
        _global_shape(sharding, local.shape), sharding, parts
    )


def global_array_to_host_local_array_impl(arr: Any, *, global_mesh: Any, pspec: Any) -> Any:
    """`global_array_to_host_local_array` of one array."""
    if type(arr) is ArrayImpl and not _is_global(arr):
        return arr
    placed = put_leaf(arr, NamedSharding(global_mesh, pspec))
    local_sharding = NamedSharding(global_mesh.local_mesh, pspec)
    shape = _local_shape(placed.shape, global_mesh, pspec)
    parts = [shard.data for shard in placed.addressable_shards]
    return make_array_from_single_device_arrays(shape, local_sharding, parts)


def _local_shape(shape: tuple[int, ...], mesh: Any, spec: PartitionSpec) -> tuple[int, ...]:
    """The shape of what this process holds of an array."""
    part = NamedSharding(mesh, spec).shard_shape(shape)
    probe = tuple(mesh.size for _ in shape)
    local_part = NamedSharding(mesh.local_mesh, spec).shard_shape(probe)
    return tuple(
        size * (whole // own) for size, whole, own in zip(part, probe, local_part, strict=True)
    )


def ltg_abstract_eval(arr: ShapedArray, *, global_mesh: Any, pspec: Any) -> ShapedArray:
    """The type of a global array, given that of one process's part."""
    return ShapedArray(_global_shape(NamedSharding(global_mesh, pspec), arr.shape), arr.dtype)


def gtl_abstract_eval(arr: ShapedArray, *, global_mesh: Any, pspec: Any) -> ShapedArray:
    """The type of one process's part, given that of a global array."""
    return ShapedArray(_local_shape(arr.shape, global_mesh, pspec), arr.dtype)


def ltg_batcher(
    insert_axis: bool,
    axis_data: BatchAxis,
    vals_in: Sequence[Any],
    dims_in: Sequence[Any],
    global_mesh: Any,
    pspec: Any,
) -> tuple[Any, int]:
    """The batching rule of `host_local_array_to_global_array`.

    Args:
      insert_axis: whether the examples are divided over the mesh axes that the mapped axis names.
      axis_data: the mapped axis.
      vals_in: the operand.
      dims_in: its dimension that holds the examples.
      global_mesh: the mesh.
      pspec: how the array of one example is laid out over it.
    """
    (arr,), (dim,) = vals_in, dims_in
    entries = (*pspec, *(None,) * (dim - len(pspec)))
    examples = axis_data.spmd_name if insert_axis else None
    batched = PartitionSpec(*entries[:dim], examples, *entries[dim:])
    primitive = host_local_array_to_global_array_p
    return primitive.bind(arr, global_mesh=global_mesh, pspec=batched), dim


host_local_array_to_global_array_p = Primitive("host_local_array_to_global_array")
host_local_array_to_global_array_p.def_abstract_eval(ltg_abstract_eval)
host_local_array_to_global_array_p.def_impl(host_local_array_to_global_array_impl)
axis_rules.define(
    host_local_array_to_global_array_p,
    lambda axis, args, dims, **params: ltg_batcher(
        axis.spmd_name is not None, axis, args, dims, **params
    ),
)
global_array_to_host_local_array_p = Primitive("global_array_to_host_local_array")
global_array_to_host_local_array_p.def_abstract_eval(gtl_abstract_eval)
global_array_to_host_local_array_p.def_impl(global_array_to_host_local_array_impl)
