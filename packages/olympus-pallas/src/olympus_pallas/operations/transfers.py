# SPDX-License-Identifier: Apache-2.0
"""Semaphores, and copies between the memories of a TPU.

A parameter of each primitive holds the structure of its operands, which are flattened. The
primitives are:

- ``semaphore_signal(ref, transforms, inc, device_id, core_index)`` adds to a semaphore,
- ``semaphore_wait(ref, transforms, value, decrement)`` waits for a value, and may subtract it,
- ``semaphore_read(ref, transforms)`` returns the value of a semaphore,
- ``dma_start(source, its transforms, target, its transforms, semaphore, its transforms)`` starts a
  copy; ``dma_wait`` of the same operands waits for it. A copy to another device also has
  ``sent, its transforms, device_id``: ``sent`` is signaled when the source has been read;
- ``get_barrier_semaphore()`` returns the semaphore at which the devices of a kernel meet.

The interpreter of array programs runs one program after another. There a copy is complete when it
starts, and waits return immediately. `olympus_pallas.machine` simulates several devices.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation, Olympuspr, olympusprs_in_params
from olympus_ir.programs.primitives import Primitive
from olympus_ir.references.discharge import discharge_rules
from olympus_ir.references.primitives import ref_and_transforms
from olympus_ir.references.transforms import read_view, transformed_aval, written
from olympus_ir.trees import pytrees
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.effects import read_effect, write_effect

from ..memory.annotations import DeviceId, IntLike, RefLike
from ..memory.selection import with_selected
from ..memory.spaces import SemaphoreType
from .effects import semaphore_effect
from .scoped import run_scoped

__all__ = [
    "AsyncCopy",
    "DeviceIdType",
    "async_copy",
    "async_remote_copy",
    "communicates",
    "dma_start_p",
    "dma_wait_p",
    "get_barrier_semaphore",
    "get_barrier_semaphore_p",
    "is_remote",
    "make_async_copy",
    "make_async_remote_copy",
    "semaphore_read",
    "semaphore_read_p",
    "semaphore_signal",
    "semaphore_signal_p",
    "semaphore_wait",
    "semaphore_wait_p",
    "sync_copy",
]


class DeviceIdType(enum.Enum):
    """Kinds of device ids: the indices along the axes of the mesh, or one logical id."""

    MESH = "mesh"
    LOGICAL = "logical"

    def __repr__(self) -> str:
        return f"DeviceIdType.{self.name}"


semaphore_signal_p = Primitive.declare("semaphore_signal", multiple_results=True)
semaphore_wait_p = Primitive.declare("semaphore_wait", multiple_results=True)
semaphore_read_p = Primitive("semaphore_read")
dma_start_p = Primitive.declare("dma_start", multiple_results=True)
dma_wait_p = Primitive.declare("dma_wait", multiple_results=True)
get_barrier_semaphore_p = Primitive("get_barrier_semaphore")
for _primitive in (semaphore_signal_p, semaphore_wait_p, semaphore_read_p, dma_start_p, dma_wait_p):
    _primitive.takes_refs = True
    _primitive.spreads_varying = False

_EFFECTS = frozenset({semaphore_effect, read_effect, write_effect})


def _check_one(operation: str, ref: Any, transforms: Sequence[Any]) -> None:
    view = transformed_aval(ref.inner_aval, transforms)
    if view.shape:
        raise ValueError(
            f"`{operation}` expects a single semaphore, got an array of shape {view.shape}; "
            "index it."
        )


@semaphore_signal_p.def_effectful_abstract_eval
def _signal_types(*flat: Any, args_tree: Any, device_id_type: Any) -> Any:
    ref, transforms, *_ = pytrees.tree_unflatten(args_tree, flat)
    _check_one("semaphore_signal", ref, transforms)
    return (), _EFFECTS


@semaphore_wait_p.def_effectful_abstract_eval
def _wait_types(*flat: Any, args_tree: Any) -> Any:
    ref, transforms, *_ = pytrees.tree_unflatten(args_tree, flat)
    _check_one("semaphore_wait", ref, transforms)
    return (), _EFFECTS


@semaphore_read_p.def_effectful_abstract_eval
def _read_types(*flat: Any, args_tree: Any) -> Any:
    ref, transforms = pytrees.tree_unflatten(args_tree, flat)
    _check_one("semaphore_read", ref, transforms)
    return ShapedArray((), np.dtype(np.int32)), _EFFECTS


def _dma_types(*flat: Any, tree: Any, **params: Any) -> Any:
    parts = pytrees.tree_unflatten(tree, flat)
    source, source_view, target, target_view, semaphore, position = parts[:6]
    source_aval = transformed_aval(source.inner_aval, source_view)
    target_aval = transformed_aval(target.inner_aval, target_view)
    if source_aval.shape != target_aval.shape or source_aval.dtype != target_aval.dtype:
        raise ValueError(
            "the references of a copy must have one shape and dtype, got "
            f"{source_aval.str_short()} and {target_aval.str_short()}"
        )
    _check_one("make_async_copy", semaphore, position)
    if len(parts) > 6:
        _check_one("make_async_remote_copy", parts[6], parts[7])
    return (), _EFFECTS


dma_start_p.def_effectful_abstract_eval(_dma_types)
dma_wait_p.def_effectful_abstract_eval(_dma_types)


@get_barrier_semaphore_p.def_abstract_eval
def _barrier_semaphore_type() -> Any:
    return SemaphoreType.BARRIER.get_ref_aval()


def is_remote(equation: Equation) -> bool:
    """Returns whether a copy or a signal goes to another device."""
    name = "args_tree" if equation.primitive is semaphore_signal_p else "tree"
    parts = pytrees.tree_unflatten(equation.params[name], equation.invars)
    if equation.primitive is semaphore_signal_p:
        return parts[3] is not None
    return len(parts) > 6


def communicates(program: Olympuspr) -> bool:
    """Returns whether a kernel communicates with other devices."""
    return any(map(_communicates, program.eqns))


def _communicates(equation: Equation) -> bool:
    primitive = equation.primitive
    if primitive is get_barrier_semaphore_p:
        return True
    if primitive is dma_start_p or primitive is semaphore_signal_p:
        return is_remote(equation)
    return any(map(communicates, olympusprs_in_params(equation.params)))


# ---- functions ----


def _int32(value: Any) -> Any:
    return np.int32(value) if isinstance(value, int) else lax.convert_element_type(value, np.int32)


def semaphore_signal(
    sem_or_view: RefLike,
    inc: IntLike = 1,
    *,
    device_id: DeviceId | None = None,
    device_id_type: DeviceIdType = DeviceIdType.MESH,
    core_index: IntLike | None = None,
) -> None:
    """Adds to a semaphore.

    Args:
      sem_or_view: the semaphore.
      inc: the increment.
      device_id: the device of the semaphore; this device by default.
      device_id_type: the kind of ``device_id``.
      core_index: the core of the semaphore.
    """
    ref, transforms = ref_and_transforms("semaphore_signal", sem_or_view)
    flat, tree = pytrees.tree_flatten([ref, transforms, _int32(inc), device_id, core_index])
    semaphore_signal_p.bind(*flat, args_tree=tree, device_id_type=device_id_type)


def semaphore_wait(sem_or_view: RefLike, value: IntLike = 1, *, decrement: bool = True) -> None:
    """Waits until a semaphore is at least ``value``; by default, then subtracts the value.

    Args:
      sem_or_view: the semaphore.
      value: the value.
      decrement: whether to subtract the value.
    """
    ref, transforms = ref_and_transforms("semaphore_wait", sem_or_view)
    flat, tree = pytrees.tree_flatten([ref, transforms, _int32(value), np.bool_(decrement)])
    semaphore_wait_p.bind(*flat, args_tree=tree)


def semaphore_read(sem_or_view: RefLike) -> Array:
    """Returns the value of a semaphore, an int32 scalar.

    Args:
      sem_or_view: the semaphore.

    Returns:
      An int32 scalar.
    """
    ref, transforms = ref_and_transforms("semaphore_read", sem_or_view)
    flat, tree = pytrees.tree_flatten([ref, transforms])
    return semaphore_read_p.bind(*flat, args_tree=tree)


class AsyncCopy:
    """A copy from one reference to another that runs asynchronously.

    Attributes:
      src_ref: source of the copy.
      dst_ref: destination of the copy.
      dst_sem: semaphore that counts the bytes that have arrived.
      src_sem: semaphore that counts the bytes read from the source, for a copy to another device.
      device_id: the other device, for a copy to another device.
      device_id_type: the kind of ``device_id``.
    """

    __slots__ = (
        "_used",
        "device_id",
        "device_id_type",
        "dst_ref",
        "dst_sem",
        "src_ref",
        "src_sem",
    )

    def __init__(
        self,
        src_ref: Any,
        dst_ref: Any,
        dst_sem: Any,
        src_sem: Any = None,
        device_id: Any = None,
        device_id_type: DeviceIdType = DeviceIdType.MESH,
    ) -> None:
        self.src_ref = src_ref
        self.dst_ref = dst_ref
        self.dst_sem = dst_sem
        self.src_sem = src_sem
        self.device_id = device_id
        self.device_id_type = device_id_type

    @property
    def is_remote(self) -> bool:
        """Returns whether the copy goes to another device."""
        return self.src_sem is not None

    def _operands(self, *refs: Any) -> tuple[list[Any], Any]:
        parts: list[Any] = []
        for ref in refs:
            parts += ref_and_transforms("make_async_copy", ref)
        if self.is_remote:
            parts += [*ref_and_transforms("make_async_copy", self.src_sem), self.device_id]
        return pytrees.tree_flatten(tuple(parts))

    def start(self, priority: int = 0, *, add: bool = False) -> None:
        """Starts the copy.

        Args:
          priority: the copy's priority.
          add: whether the copy adds to the destination's elements.
        """

        def begin(*refs: Any) -> None:
            flat, tree = self._operands(*refs)
            dma_start_p.bind(
                *flat, tree=tree, device_id_type=self.device_id_type, priority=priority, add=add
            )

        with_selected((self.src_ref, self.dst_ref, self.dst_sem), begin)

    def wait(self) -> None:
        """Waits until the copy is complete.

        For a copy to another device, also waits until its source has been read.
        """
        if self.is_remote:
            self.wait_send()
        self.wait_recv()

    def wait_recv(self) -> None:
        """Waits until as many bytes as the copy moves have arrived on this device."""
        with_selected((self.src_ref, self.dst_ref, self.dst_sem), self._wait)

    def wait_send(self) -> None:
        """Waits until the source is read, so that it may be overwritten.

        Raises:
          ValueError: the copy is not to another device.
        """
        if not self.is_remote:
            raise ValueError("Cannot `wait_send` on a local copy.")
        with_selected((self.dst_ref, self.src_ref, self.src_sem), self._wait)

    def _wait(self, *refs: Any) -> None:
        flat, tree = self._operands(*refs)
        dma_wait_p.bind(*flat, tree=tree, device_id_type=self.device_id_type)


def make_async_copy(src_ref: RefLike, dst_ref: RefLike, sem: RefLike) -> AsyncCopy:
    """Returns a copy that has not started.

    Its method ``start()`` starts the copy, and ``wait()`` waits for it.

    Args:
      src_ref: source of the copy.
      dst_ref: destination of the copy.
      sem: a semaphore for copies, ``tpu.SemaphoreType.DMA``.

    Returns:
      The `AsyncCopy`.
    """
    return AsyncCopy(src_ref, dst_ref, sem)


def async_copy(
    src_ref: RefLike, dst_ref: RefLike, sem: RefLike, *, priority: int = 0, add: bool = False
) -> AsyncCopy:
    """Starts a copy. The method ``wait()`` of the result waits for the copy.

    Args:
      src_ref: source of the copy.
      dst_ref: destination of the copy.
      sem: a semaphore for copies.
      priority: the copy's priority.
      add: whether the copy adds to the destination's elements.

    Returns:
      The `AsyncCopy`.
    """
    copy = AsyncCopy(src_ref, dst_ref, sem)
    copy.start(priority, add=add)
    return copy


def make_async_remote_copy(
    src_ref: RefLike,
    dst_ref: RefLike,
    send_sem: RefLike,
    recv_sem: RefLike,
    device_id: DeviceId | None,
    device_id_type: DeviceIdType = DeviceIdType.MESH,
) -> AsyncCopy:
    """Returns a copy to another device that has not started; ``start()`` starts it.

    All devices run the same kernel, so ``dst_ref`` and ``recv_sem`` name the buffer and the
    semaphore of the other device. ``wait_send()`` waits until the source on this device has been
    read. ``wait_recv()`` waits until as many bytes as the copy moves have arrived on this
    device, from any sender. ``wait()`` does both.

    Args:
      src_ref: source of the copy.
      dst_ref: destination of the copy, in the other device's memory.
      send_sem: a semaphore for copies, of this device.
      recv_sem: a semaphore for copies, of the other device.
      device_id: the other device: its logical id, or its indices along the axes of the mesh. The
        indices are a tuple for all axes, or a dictionary for the axes along which the devices
        differ.
      device_id_type: kind of ``device_id``.

    Returns:
      The `AsyncCopy`.
    """
    return AsyncCopy(src_ref, dst_ref, recv_sem, send_sem, device_id, device_id_type)


def async_remote_copy(
    src_ref: RefLike,
    dst_ref: RefLike,
    send_sem: RefLike,
    recv_sem: RefLike,
    device_id: DeviceId | None,
    device_id_type: DeviceIdType = DeviceIdType.MESH,
) -> AsyncCopy:
    """Starts a copy to another device; see `make_async_remote_copy`.

    Args:
      src_ref: source of the copy.
      dst_ref: destination of the copy, in the other device's memory.
      send_sem: a semaphore for copies, of this device.
      recv_sem: a semaphore for copies, of the other device.
      device_id: the device.
      device_id_type: the kind of ``device_id``.

    Returns:
      The `AsyncCopy`.
    """
    copy = AsyncCopy(src_ref, dst_ref, recv_sem, send_sem, device_id, device_id_type)
    copy.start()
    return copy


def get_barrier_semaphore() -> RefLike:
    """Returns the barrier semaphore of the devices that run kernels of one ``collective_id``.

    The semaphore outlives the kernel. So each device must subtract as much as the other devices
    have added to its semaphore.
    """
    return get_barrier_semaphore_p.bind()


def sync_copy(src_ref: RefLike, dst_ref: RefLike, *, add: bool = False) -> None:
    """Copies from one reference to another, and waits until the copy is complete.

    Args:
      src_ref: source of the copy.
      dst_ref: destination of the copy.
      add: whether the copy adds to the destination's elements.
    """
    run_scoped(
        lambda semaphore: async_copy(src_ref, dst_ref, semaphore, add=add).wait(),
        SemaphoreType.DMA,
    )


# ---- in the interpreter ----


_ONE_DEVICE = (
    "kernels that communicate with other devices are interpreted on CPUs, on several simulated "
    "devices: in shard_map, with interpret=tpu.InterpretParams()."
)


def _set_first(operands: Sequence[Any], value: Any) -> list[Any]:
    return [value, *[None] * (len(operands) - 1)]


@discharge_rules.define(semaphore_signal_p)
def _signal(equation: Any, operands: Sequence[Any]) -> Any:
    count, transforms, inc, device_id, _ = pytrees.tree_unflatten(
        equation.params["args_tree"], operands
    )
    if device_id is not None:
        raise ValueError(_ONE_DEVICE)
    return _set_first(
        operands, written(count, transforms, lax.add(read_view(count, transforms), inc))
    ), []


@discharge_rules.define(semaphore_wait_p)
def _wait(equation: Any, operands: Sequence[Any]) -> Any:
    count, transforms, value, decrement = pytrees.tree_unflatten(
        equation.params["args_tree"], operands
    )
    now = read_view(count, transforms)
    after = lax.select_n(decrement, now, lax.sub(now, value))
    return _set_first(operands, written(count, transforms, after)), []


@discharge_rules.define(semaphore_read_p)
def _read(equation: Any, operands: Sequence[Any]) -> Any:
    count, transforms = pytrees.tree_unflatten(equation.params["args_tree"], operands)
    return [None] * len(operands), [read_view(count, transforms)]


@discharge_rules.define(dma_start_p)
def _start(equation: Any, operands: Sequence[Any]) -> Any:
    params = equation.params
    if is_remote(equation):
        raise ValueError(_ONE_DEVICE)
    positions = pytrees.tree_unflatten(params["tree"], range(len(operands)))
    source, source_view, target, target_view, *_ = pytrees.tree_unflatten(params["tree"], operands)
    value = read_view(source, source_view)
    if params["add"]:
        value = lax.add(read_view(target, target_view), value)
    changes: list[Any] = [None] * len(operands)
    changes[positions[2]] = written(target, target_view, value)
    return changes, []


@discharge_rules.define(dma_wait_p)
def _arrived(equation: Any, operands: Sequence[Any]) -> Any:
    return [None] * len(operands), []
