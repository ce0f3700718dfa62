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
    """Base of meshes of cores: what `kernel` and `core_map` ask of them."""

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The names of the axes with their sizes."""
        raise TypeError(f"{type(self).__name__} must say what axes it has")

    @property
    def default_memory_space(self) -> Any:
        """The memory that operands of kernels lie in."""
        return MemorySpace.ANY

    def tracing_context(self) -> AbstractContextManager[None]:
        """Binds the names of the axes, for kernels that are traced meanwhile."""
        return extend_axes(dict(self.shape))

    def discharges_effect(self, effect: Any) -> bool:
        """Whether an effect of a kernel is nobody's concern outside."""
        return False

    def size_of_cores(self) -> int:
        """The number of cores."""
        return math.prod(self.shape.values())

    def axes_of(self, number: int) -> dict[Any, tuple[int, int]]:
        """For each axis the place of a core along it, and its size; the last moves fastest."""
        axes = {}
        for name, size in reversed(self.shape.items()):
            axes[name] = (number % size, size)
            number //= size
        return axes

    def owner(self, core: Any, aval: Any) -> Any:
        """Whom a scratch buffer of a type belongs to on simulated cores: each core its own."""
        return core.number

    def owner_of_globals(self, core: Any) -> Any:
        """Whom buffers of `get_global` belong to on simulated cores: each core its own."""
        return core.number

    def check_is_compatible_with(self, other_mesh: Any) -> None:
        """Raises where one kernel cannot run on this mesh and another at once.

        Raises:
          ValueError: always, unless a kind of mesh knows better.
        """
        raise ValueError(f"a kernel cannot run on {self} and {other_mesh} at once")
