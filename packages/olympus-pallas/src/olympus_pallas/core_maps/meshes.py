# SPDX-License-Identifier: Apache-2.0
"""Meshes of cores, on which `kernel` and `core_map` run.

A kernel over a grid describes one program and its blocks. A kernel over a mesh describes one core
and the whole operands. The axes of the mesh have names: `lax.axis_index` gives the core's index.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from contextlib import AbstractContextManager
from typing import Any

from olympus_ir.programs.tracing import extend_axes

from ..memory.spaces import MemorySpace

__all__ = ["Mesh"]


class Mesh:
    """Base class of meshes of cores, which `kernel` and `core_map` use."""

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The sizes of the axes, by name."""
        raise TypeError(f"{type(self).__name__} must define `shape`")

    @property
    def default_memory_space(self) -> Any:
        """The default memory space of operands."""
        return MemorySpace.ANY

    def tracing_context(self) -> AbstractContextManager[None]:
        """Returns a context manager that binds the names of the axes, for tracing a kernel."""
        return extend_axes(dict(self.shape))

    def discharges_effect(self, effect: Any) -> bool:
        """Returns whether an effect of a kernel is invisible outside of the kernel."""
        return False

    def size_of_cores(self) -> int:
        """The number of cores."""
        return math.prod(self.shape.values())

    def axes_of(self, number: int) -> dict[Any, tuple[int, int]]:
        """Returns, for each axis, the index of core ``number`` and the size of the axis.

        The cores are numbered in row-major order.
        """
        axes = {}
        for name, size in reversed(self.shape.items()):
            axes[name] = (number % size, size)
            number //= size
        return axes

    def owner(self, core: Any, aval: Any) -> Any:
        """Returns the owner of a scratch buffer on simulated cores; by default the core itself."""
        return core.number

    def owner_of_globals(self, core: Any) -> Any:
        """Returns the owner of buffers of `get_global` on simulated cores; by default the core."""
        return core.number

    def check_is_compatible_with(self, other_mesh: Any) -> None:
        """Checks that one kernel can run on this mesh and on another mesh at the same time.

        Raises:
          ValueError: always; classes of meshes that can run together override the method.
        """
        raise ValueError(f"a kernel cannot run on {self} and {other_mesh} at the same time")
