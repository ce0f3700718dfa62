# SPDX-License-Identifier: Apache-2.0
"""Communication between the processes of a program: gathering, broadcasting, checks, barriers.

All processes call these functions together, in the same order.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.trees import pytrees
from olympus_ir.types.placement import AxisType, PartitionSpec
from olympus_sharding.meshes.mesh import Mesh

from .._jaxlib import ArrayImpl, NamedSharding
from ..arrays.array import host_value
from ..arrays.assembly import make_array_from_single_device_arrays
from ..arrays.transfer import put_leaf
from ..calls.jit import jit
from ..platforms import backends
from .distributed import ProcessFailureError, live_processes, reached_sync_point
from .mesh_arrays import is_global

__all__ = [
    "ProcessFailureError",
    "assert_equal",
    "broadcast_one_to_all",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]


# ---- gathering and broadcasting ----


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Gathers the data of all processes in every process.

    Args:
      in_tree: a pytree. An array over the devices of several processes is returned as a whole.
        Other arrays are local to each process, and must have the same shape in all processes.
      tiled: whether to join the local arrays along the first dimension, rather than stack them
        along a new dimension.

    Returns:
      A pytree of NumPy arrays, the same in all processes.

    Example:
      >>> import numpy as np
      >>> process_allgather(np.arange(2)).shape
      (1, 2)
    """
    return pytrees.tree_map(lambda leaf: _allgather(leaf, tiled), in_tree)


def _allgather(value: Any, tiled: bool) -> np.ndarray:
    if is_global(value):
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
    """Returns the sharding that replicates an array over its devices."""
    sharding = array.sharding
    if isinstance(sharding, NamedSharding):
        return NamedSharding(sharding.mesh, PartitionSpec())
    return NamedSharding(Mesh(np.array(sharding._device_assignment), ("all",)), PartitionSpec())


def _mesh_of_processes() -> Mesh:
    """Returns a mesh of the first devices of all processes; other devices need no data."""
    firsts: dict[int, Any] = {}
    for device in backends.devices():
        firsts.setdefault(device.process_index, device)
    devices = [firsts[process] for process in sorted(firsts)]
    return Mesh(np.array(devices), ("processes",), (AxisType.Auto,))


def _stack_of_processes(value: np.ndarray) -> ArrayImpl:
    """Returns an array whose n-th slice is the n-th process's value."""
    sharding = NamedSharding(_mesh_of_processes(), PartitionSpec("processes"))
    part = put_leaf(value[None], sharding.mesh.local_devices[0])
    shape = (sharding.mesh.size, *part.shape[1:])
    return make_array_from_single_device_arrays(shape, sharding, [part])


def _replicate(array: ArrayImpl) -> ArrayImpl:
    return put_leaf(array, _everywhere(array))


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Sends the data of one process to all processes.

    Args:
      in_tree: a pytree of arrays, of the same structure and shapes in all processes.
      is_source: whether this process is the source; true in exactly one process. By default
        process 0 is the source.

    Returns:
      A pytree of NumPy arrays with the data of the source.

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
    # All processes except the source contribute zeros. Summing bytes is exact for every dtype.
    contents = np.frombuffer(value.tobytes(), np.uint8)
    parts = _stack_of_processes(contents if is_source else np.zeros_like(contents))
    received = host_value(_replicate(_sum_over_processes(parts)))
    return np.frombuffer(received.tobytes(), value.dtype).reshape(value.shape)


# ---- checks and barriers ----


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Checks that all processes have the same data.

    Args:
      in_tree: a pytree of arrays.
      fail_message: the message of the error.

    Raises:
      AssertionError: raised in the processes whose data differ from process 0's data.

    Example:
      >>> assert_equal(1)
    """
    expected = broadcast_one_to_all(in_tree)
    own_leaves = map(_on_host, pytrees.tree_leaves(in_tree))
    for own, other in zip(own_leaves, pytrees.tree_leaves(expected), strict=True):
        if own.shape != other.shape or own.tobytes() != other.tobytes():
            raise AssertionError(f"{fail_message} Expected: {expected}; got: {in_tree}.")


def sync_global_devices(name: str) -> None:
    """Waits until all processes have called this function.

    Args:
      name: a name, the same in all processes, by which waits at different places are detected.

    Raises:
      AssertionError: another process waits under another name.

    Example:
      >>> sync_global_devices("after loading")
    """
    if backends.process_count() == 1:
        return
    checksum = np.uint32(zlib.crc32(name.encode()))
    assert_equal(checksum, f"sync_global_devices name mismatch ('{name}').")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Returns whether the processes should save their state now because of a preemption.

    Args:
      step_id: the index of the step, which must be the same in all processes.

    Returns:
      True in all processes at the same step, after one process has received the termination signal.

    Raises:
      RuntimeError: `olympus.distributed.initialize` has not been called.
    """
    return reached_sync_point(step_id)


@contextlib.contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """Context manager that yields the devices of live processes.

    At the end of the block, checks that these processes are still alive.

    Args:
      devices: the devices to choose from.

    Raises:
      ProcessFailureError: processes died during the block.
    """
    live = live_processes()
    present = [device for device in devices if device.process_index in live]
    yield present
    still_live = live_processes()
    failed = [device for device in present if device.process_index not in still_live]
    if failed:
        raise ProcessFailureError(failed)
