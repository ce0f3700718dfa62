# SPDX-License-Identifier: Apache-2.0
"""Functions that kernels for GPUs call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, AxisName, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray

from ..core_maps.kernels import core_map
from ..memory import access as memory_access
from ..memory.annotations import DeviceId, IntLike, RefLike
from ..operations import transfers
from .layouts import Layout
from .meshes import WarpMesh
from .operations import aval_of_view, bind_operation, operation
from .types import OOBFillMode

__all__ = [
    "SemaphoreSignal",
    "async_copy_smem_to_tmem",
    "async_load_tmem",
    "async_prefetch",
    "async_store_smem",
    "async_store_tmem",
    "atomic_add",
    "atomic_and",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "barrier_arrive",
    "barrier_test",
    "barrier_wait",
    "broadcasted_iota",
    "commit_smem",
    "commit_smem_to_gmem_group",
    "commit_tmem",
    "copy_gmem_to_smem",
    "copy_smem_to_gmem",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "layout_cast",
    "load",
    "multimem_load_reduce",
    "multimem_store",
    "semaphore_signal",
    "semaphore_signal_multicast",
    "semaphore_signal_parallel",
    "semaphore_wait",
    "set_max_registers",
    "wait_load_tmem",
    "wait_smem_to_gmem",
    "warp_map",
]

_BOOL = ShapedArray((), np.dtype(np.bool_))


def _same_shape(name: str, source: Any, target: Any) -> None:
    source, target = aval_of_view(source), aval_of_view(target)
    if source.shape != target.shape or source.dtype != target.dtype:
        raise ValueError(
            f"the references of {name} must have one shape and dtype, got {source.str_short()} "
            f"and {target.str_short()}"
        )


# ---- copies ----

copy_gmem_to_smem_p = operation("copy_gmem_to_smem")
copy_smem_to_gmem_p = operation("copy_smem_to_gmem")
commit_group_p = operation("commit_smem_to_gmem_group")
wait_smem_to_gmem_p = operation("wait_smem_to_gmem")
async_store_smem_p = operation("async_store_smem")
fence_p = operation("fence")


def copy_gmem_to_smem(
    src: RefLike,
    dst: RefLike,
    barrier: RefLike,
    *,
    collective_axes: str | tuple[str, ...] | None = None,
    leader_tracked: Any | None = None,
    oob_mode: OOBFillMode = OOBFillMode.ZEROS,
) -> None:
    """Starts a copy from global to shared memory, which arrives at a barrier when it is complete.

    Args:
      src: source, a reference in GMEM.
      dst: destination, a reference in SMEM.
      barrier: the barrier; the copy counts as one of its arrivals.
      collective_axes: axes of the cluster along which the blocks make the same copy together.
      leader_tracked: a `CopyPartition`, with which the copy arrives only at the barrier of the
        first block of the cluster; not supported.
      oob_mode: value that is written for elements outside of the array.

    Raises:
      ValueError: shapes or dtypes differ, or ``leader_tracked`` is given.
    """
    _same_shape("copy_gmem_to_smem", src, dst)
    if leader_tracked is not None:
        raise ValueError(
            "copies that the first block of a cluster keeps track of are not simulated; omit "
            "leader_tracked, so that each block waits for its own"
        )
    bind_operation(copy_gmem_to_smem_p, (src, dst, barrier), oob_mode=OOBFillMode(oob_mode))


def copy_smem_to_gmem(
    src: RefLike,
    dst: RefLike,
    predicate: ArrayLike | None = None,
    *,
    commit_group: bool = True,
    reduction_op: str | None = None,
) -> None:
    """Starts a copy from shared to global memory; see `wait_smem_to_gmem`.

    Args:
      src: source, a reference in SMEM; call `commit_smem` after writing it.
      dst: destination, a reference in GMEM.
      predicate: a boolean scalar, whether to make the copy.
      commit_group: whether the copy ends a group, as `commit_smem_to_gmem_group` does.
      reduction_op: the combination of old and new elements: ``"add"``, ``"min"``, ``"max"``,
        ``"and"``, ``"or"``, ``"xor"``; None to replace the old elements.

    Raises:
      ValueError: shapes or dtypes differ.
    """
    _same_shape("copy_smem_to_gmem", src, dst)
    bind_operation(
        copy_smem_to_gmem_p,
        (src, dst, predicate),
        commit_group=commit_group,
        reduction_op=reduction_op,
    )


def commit_smem_to_gmem_group() -> None:
    """Ends a group of copies to global memory, for which `wait_smem_to_gmem` can wait."""
    bind_operation(commit_group_p, ())


def wait_smem_to_gmem(n: int, wait_read_only: bool = False) -> None:
    """Waits until at most ``n`` groups of copies to global memory are pending.

    Args:
      n: the number of groups.
      wait_read_only: whether to wait only until the copies have read their sources.
    """
    bind_operation(wait_smem_to_gmem_p, (n,), wait_read_only=wait_read_only)


def async_store_smem(
    src: ArrayLike,
    ref: RefLike,
    barrier: RefLike,
    *,
    cluster_idx: IntLike,
    cluster_dim: Hashable | int,
    optimized: bool = True,
    atomic: Literal["add", "max", "min", "and", "or", "xor"] | None = None,
) -> None:
    """Stores an array in another block's shared memory, and arrives at a barrier of that block.

    Args:
      src: the array.
      ref: destination, a reference in SMEM.
      barrier: the barrier of the other block.
      cluster_idx: the index of the other block along an axis of the cluster.
      cluster_dim: the axis of the cluster.
      optimized: whether the compiler raises an error for a slow store.
      atomic: the combination of old and new elements; None to replace old elements.
    """
    bind_operation(
        async_store_smem_p, (src, ref, barrier, cluster_idx), axis=cluster_dim, atomic=atomic
    )


def _fence(name: str, summary: str) -> Callable[[], None]:
    def function() -> None:
        bind_operation(fence_p, (), kind=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function


commit_smem = _fence(
    "commit_smem", "Makes writes to SMEM visible to later asynchronous copies and MMA."
)
commit_tmem = _fence(
    "commit_tmem", "Makes this thread's writes to TMEM visible to other threads and to later MMA."
)
wait_load_tmem = _fence(
    "wait_load_tmem", "Waits until this thread's asynchronous loads from TMEM have completed."
)
griddepcontrol_wait = _fence(
    "griddepcontrol_wait",
    "Waits until the kernels that this one depends on have completed their writes.",
)
griddepcontrol_launch_dependents = _fence(
    "griddepcontrol_launch_dependents", "Lets the kernels that depend on this one start."
)


def async_prefetch(
    ref: RefLike,
    *,
    collective_axes: str | tuple[str, ...] | None = None,
    leader_tracked: Any | None = None,
) -> None:
    """Prefetches a part of global memory into the cache.

    Args:
      ref: a reference in GMEM.
      collective_axes: axes of the cluster along which each block fetches a part.
      leader_tracked: the way in which blocks share the copies that follow.
    """
    bind_operation(fence_p, (), kind="async_prefetch")


def set_max_registers(n: int, *, action: Literal["increase", "decrease"]) -> None:
    """Sets the number of registers of each lane of this thread.

    Args:
      n: the number of registers, a multiple of 8.
      action: whether the number increases or decreases.

    Raises:
      ValueError: ``n`` is not a multiple of 8, or the action is unknown.
    """
    if n % 8:
        raise ValueError(f"the number of registers must be a multiple of 8, got {n}")
    if action not in ("increase", "decrease"):
        raise ValueError(f"action must be 'increase' or 'decrease', got {action!r}")
    bind_operation(fence_p, (), kind=f"set_max_registers_{action}")


# ---- barriers ----

barrier_arrive_p = operation("barrier_arrive")
barrier_wait_p = operation("barrier_wait")
barrier_test_p = operation("barrier_test")


def barrier_arrive(barrier: RefLike) -> None:
    """Arrives at a barrier."""
    bind_operation(barrier_arrive_p, (barrier,))


def barrier_wait(barrier: RefLike) -> None:
    """Waits until a barrier completes the next phase that this thread has not waited for."""
    bind_operation(barrier_wait_p, (barrier,))


def barrier_test(barrier: RefLike) -> Array:
    """Returns whether `barrier_wait` would return without waiting."""
    return bind_operation(barrier_test_p, (barrier,), (_BOOL,))[0]


# ---- semaphores ----

semaphore_multicast_p = operation("semaphore_signal_multicast")


def semaphore_signal(
    semaphore: RefLike,
    inc: IntLike = 1,
    *,
    device_id: DeviceId | None = None,
    memory_scope: Literal["sys", "gpu"] = "sys",
) -> None:
    """Adds to a semaphore.

    Args:
      semaphore: the semaphore.
      inc: the increment.
      device_id: the device of the semaphore; this device by default.
      memory_scope: the devices that see the signal: all devices, or only this one.
    """
    _check_scope(memory_scope)
    transfers.semaphore_signal(semaphore, inc, device_id=device_id)


def semaphore_wait(
    semaphore: RefLike,
    value: IntLike = 1,
    *,
    decrement: bool = True,
    memory_scope: Literal["sys", "gpu"] = "sys",
) -> None:
    """Waits until a semaphore is at least ``value``.

    Args:
      semaphore: the semaphore.
      value: the value.
      decrement: whether to subtract the value after the wait.
      memory_scope: the devices whose writes are visible after the wait: all, or only this one.
    """
    _check_scope(memory_scope)
    transfers.semaphore_wait(semaphore, value, decrement=decrement)


def _check_scope(memory_scope: str) -> None:
    if memory_scope not in ("sys", "gpu"):
        raise ValueError(f"memory_scope must be 'sys' or 'gpu', got {memory_scope!r}")


def semaphore_signal_multicast(
    semaphore: RefLike, value: IntLike = 1, *, collective_axes: Hashable | tuple[Hashable, ...]
) -> None:
    """Adds to the semaphores of all devices along axes of the mesh.

    Args:
      semaphore: the semaphore.
      value: the increment.
      collective_axes: the axes of the mesh.
    """
    bind_operation(semaphore_multicast_p, (semaphore, value), axes=_axes(collective_axes))


def _axes(axes: Any) -> tuple[Any, ...]:
    return tuple(axes) if isinstance(axes, tuple | list) else (axes,)


class SemaphoreSignal:
    """A semaphore and its increment, for `semaphore_signal_parallel`.

    Args:
      ref: the semaphore.
      device_id: the device of the semaphore; None for this device.
      inc: the increment.
    """

    inc: IntLike = 1

    def __init__(self, ref: RefLike, *, device_id: DeviceId | None, inc: IntLike = 1) -> None:
        self.ref = ref
        self.device_id = device_id
        self.inc = inc


def semaphore_signal_parallel(*signals: SemaphoreSignal) -> None:
    """Adds to several semaphores, in an unspecified order.

    Args:
      *signals: the semaphores and their increments.
    """
    for signal in signals:
        transfers.semaphore_signal(signal.ref, signal.inc, device_id=signal.device_id)


# ---- tensor memory and registers ----

copy_to_tmem_p = operation("async_copy_smem_to_tmem")


def async_copy_smem_to_tmem(
    smem_ref: RefLike, tmem_ref: RefLike, collective_axis: AxisName | None = None
) -> None:
    """Starts a copy from shared memory to tensor memory.

    Args:
      smem_ref: source, a reference in SMEM.
      tmem_ref: destination, a reference in TMEM.
      collective_axis: the axis along which two blocks make the copy together; not supported.

    Raises:
      ValueError: shapes or dtypes differ, or ``collective_axis`` is given.
    """
    if collective_axis is not None:
        raise ValueError("copies of two blocks are not simulated")
    _same_shape("async_copy_smem_to_tmem", smem_ref, tmem_ref)
    bind_operation(copy_to_tmem_p, (smem_ref, tmem_ref))


def async_load_tmem(src: RefLike, *, layout: Any | None = None) -> Array:
    """Loads from tensor memory. Call `wait_load_tmem` before you write to the same memory.

    Args:
      src: the reference.
      layout: the distribution of the elements over threads.

    Returns:
      An array of the reference's shape and dtype.
    """
    return src[...]


def async_store_tmem(ref: RefLike, value: ArrayLike) -> None:
    """Stores to tensor memory. Call `commit_tmem` before other threads read it.

    Args:
      ref: the reference.
      value: the array.
    """
    ref[...] = value


def load(src: RefLike, idx: Any, *, layout: Any | None = None, optimized: bool = True) -> Array:
    """Reads a reference.

    Args:
      src: the reference.
      idx: index of a part of the reference.
      layout: the distribution of the elements over threads.
      optimized: whether the compiler raises an error for a slow load.

    Returns:
      An array of the shape and dtype of the part.
    """
    return src[idx]


def layout_cast(x: Any, new_layout: Layout | Any) -> Any:
    """Changes the layout of an array in registers.

    Args:
      x: the array.
      new_layout: the new layout.

    Returns:
      An array of the shape and dtype of ``x``.
    """
    return x


def broadcasted_iota(
    dtype: DTypeLike, shape: Sequence[int], dimension: int, *, layout: Any | None = None
) -> Array:
    """Returns an array that counts along a dimension.

    Args:
      dtype: the dtype.
      shape: the shape.
      dimension: the dimension.
      layout: the distribution of the elements over threads.

    Example:
      >>> broadcasted_iota("int32", (2, 2), 1)
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    return lax.broadcasted_iota(dtypes.dtype(dtype), tuple(shape), dimension)


# ---- atomic updates ----


def _atomic(kind: str, verb: str) -> Callable[[RefLike, ArrayLike], None]:
    update = getattr(memory_access, f"atomic_{kind}")

    def function(ref: RefLike, val: ArrayLike) -> None:
        update(ref, (), val)

    function.__name__ = function.__qualname__ = f"atomic_{kind}"
    function.__doc__ = f"""Atomically {verb}, element by element.

    Args:
      ref: the reference.
      val: an array of its shape and dtype.
    """
    return function


atomic_add = _atomic("add", "adds to a reference")
atomic_and = _atomic("and", "keeps the bits that a value has too")
atomic_max = _atomic("max", "takes the maximum of the old value and a new one")
atomic_min = _atomic("min", "takes the minimum of the old value and a new one")
atomic_or = _atomic("or", "adds the bits of a value")
atomic_xor = _atomic("xor", "flips the bits of a value")


# ---- several devices ----

multimem_store_p = operation("multimem_store")
multimem_load_reduce_p = operation("multimem_load_reduce")


def multimem_store(
    source: ArrayLike, ref: RefLike, collective_axes: Hashable | tuple[Hashable, ...]
) -> None:
    """Stores an array in the buffers of all devices along axes of the mesh.

    Args:
      source: the array.
      ref: destination, a reference in GMEM.
      collective_axes: the axes of the mesh.
    """
    bind_operation(multimem_store_p, (source, ref), axes=_axes(collective_axes))


def multimem_load_reduce(
    ref: RefLike, *, collective_axes: Hashable | tuple[Hashable, ...], reduction_op: str
) -> Array:
    """Loads the buffers of all devices along axes of the mesh, and reduces them to one array.

    Args:
      ref: the reference, in GMEM.
      collective_axes: the axes of the mesh.
      reduction_op: ``"add"``, ``"min"``, ``"max"``, ``"and"``, ``"or"`` or ``"xor"``.

    Returns:
      An array of the reference's shape and dtype.
    """
    return bind_operation(
        multimem_load_reduce_p,
        (ref,),
        (aval_of_view(ref),),
        axes=_axes(collective_axes),
        reduction_op=reduction_op,
    )[0]


# ---- warps ----


def warp_map(f: Callable[[Any], Any], /) -> None:
    """Calls a function for each of the four warps of this warpgroup, with the index of the warp.

    Args:
      f: the function. It has side effects on references, and returns nothing.
    """
    axis = object()

    def body() -> None:
        f(lax.axis_index(axis))

    core_map(WarpMesh(axis_name=axis), name="warp_map")(body)
