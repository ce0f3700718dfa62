# SPDX-License-Identifier: Apache-2.0
"""The kinds of memory that a value can lie in, as a part of its type."""

from __future__ import annotations

import enum


class MemorySpace(enum.Enum):
    """Where a value lies, whatever the device calls its memories.

    Example:
      >>> MemorySpace.Host
      MemorySpace.Host
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()  # the compiler decides

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(self.name.lower(), spec)  # as the types of values show it
