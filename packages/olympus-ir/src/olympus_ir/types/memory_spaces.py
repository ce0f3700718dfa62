# SPDX-License-Identifier: Apache-2.0
"""Memory spaces: the kinds of memory that can hold a value. A value's type includes its space."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any


class MemorySpace(enum.Enum):
    """Memory space of a value, independent of the names that devices use.

    Example:
      >>> MemorySpace.Host
      MemorySpace.Host
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()  # the compiler chooses the memory

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(self.name.lower(), spec)  # the name in printed types


# The devices' names for the memories.
MEMORY_KINDS = {MemorySpace.Device: "device", MemorySpace.Host: "pinned_host"}


def space_of_kind(kind: str | None) -> MemorySpace:
    """Returns the memory space of a kind of memory.

    Args:
      kind: the device's name for the memory; None for its default memory.

    Example:
      >>> space_of_kind("pinned_host"), space_of_kind("device")
      (MemorySpace.Host, MemorySpace.Device)
    """
    return MemorySpace.Host if kind == "pinned_host" else MemorySpace.Device


def on_host(avals: Sequence[Any]) -> bool:
    """Returns whether any of the types has memory space `MemorySpace.Host`."""
    return any(getattr(aval, "memory_space", None) is MemorySpace.Host for aval in avals)


def results_on_host(primitive: Any, avals: Sequence[Any], results: tuple) -> tuple:
    """Returns the types of results with the memory space of the operands.

    Results are on the host if all non-scalar operands are on the host. Scalars may be anywhere.

    Args:
      primitive: the operation.
      avals: the types of the operands.
      results: the types of the results, whose memory spaces are replaced.

    Raises:
      ValueError: some operands are on the host and others on the device, and the primitive has a
        single result. A primitive with several results keeps their types unchanged in this case.
    """
    arrays = [aval for aval in avals if getattr(aval, "shape", ())]
    in_host_memory = [aval for aval in arrays if aval.memory_space is MemorySpace.Host]
    if not in_host_memory:
        return tuple(_moved(aval, MemorySpace.Device) for aval in results)
    if len(in_host_memory) < len(arrays):
        if primitive.multiple_results:
            return results
        other = next(aval for aval in arrays if aval.memory_space is not MemorySpace.Host)
        raise ValueError(
            f"memory_space of all inputs passed to `{primitive.name}` must be the same. Got one "
            f"operand with type: {in_host_memory[0].str_short()} and another operand with type: "
            f"{other.str_short()}. Move one of them with device_put."
        )
    return tuple(_moved(aval, MemorySpace.Host) for aval in results)


def _moved(aval: Any, space: MemorySpace) -> Any:
    if getattr(aval, "memory_space", space) is space:
        return aval
    return aval.update(memory_space=space)
