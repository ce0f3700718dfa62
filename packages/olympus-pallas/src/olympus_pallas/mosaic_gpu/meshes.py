# SPDX-License-Identifier: Apache-2.0
"""Meshes of a GPU: clusters, their blocks, and the warpgroups of a block."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.types.annotations import AxisName, PyTree

from ..calls.pallas_call import CompilerParams
from ..core_maps import meshes
from ..core_maps.kernels import kernel as kernel_over_mesh
from ..machine.evaluation import Core
from ..machine.runs import Site
from .types import GMEM, MemorySpace

__all__ = ["Mesh", "WarpMesh", "kernel"]

_MOST_THREADS = 16
WARPS = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mesh(meshes.Mesh):
    """A grid of clusters of blocks. Each thread of a block is a warpgroup of the GPU.

    Args:
      grid: the numbers of clusters along each axis.
      grid_names: the names of the axes of the grid.
      cluster: the numbers of blocks of a cluster along each axis.
      cluster_names: the names of the axes of a cluster.
      num_threads: the number of threads of a block; each stands for 128 threads of the GPU.
      thread_name: the name of the axis of threads.
      kernel_name: name of the kernel in profiles.

    Raises:
      ValueError: the numbers of names and axes differ, or there are too many threads.

    Example:
      >>> dict(Mesh(grid=(4,), grid_names=("i",), num_threads=2, thread_name="wg").shape)
      {'i': 4, 'wg': 2}
    """

    grid: Sequence[int] = ()
    grid_names: Sequence[str] = ()
    cluster: Sequence[int] = ()
    cluster_names: Sequence[str] = ()
    num_threads: int | None = None
    thread_name: str | None = None
    kernel_name: str | None = None

    def __post_init__(self) -> None:
        for name in ("grid", "grid_names", "cluster", "cluster_names"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("grid", "cluster"):
            if len(getattr(self, name)) != len(getattr(self, f"{name}_names")):
                raise ValueError(f"{name}_names must have the same length as {name}, got {self}.")
        if (self.num_threads is None) != (self.thread_name is None):
            raise ValueError(
                f"num_threads and thread_name must be either both set or both None, got {self}"
            )
        if self.num_threads is not None and self.num_threads > _MOST_THREADS:
            raise ValueError(
                "Requested too many CUDA threads per block. Each Mosaic thread corresponds to 128 "
                f"CUDA threads. At most {_MOST_THREADS} are supported, got {self}"
            )

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The sizes of the axes, by name."""
        pairs = [
            *zip(self.grid_names, self.grid, strict=True),
            *zip(self.cluster_names, self.cluster, strict=True),
        ]
        if self.thread_name is not None and self.num_threads is not None:
            pairs.append((self.thread_name, self.num_threads))
        return OrderedDict(pairs)

    @property
    def core_type(self) -> str:
        """The kind of cores."""
        return "gpu"

    @property
    def default_memory_space(self) -> MemorySpace:
        """The default memory space of operands."""
        return GMEM

    @property
    def supported_memory_spaces(self) -> Sequence[MemorySpace]:
        """The memory spaces of buffers."""
        return list(MemorySpace)

    # ---- on simulated cores ----

    def block_of(self, core: Core, places: dict[Any, int] | None = None) -> tuple:
        """Returns the index of a core's block; ``places`` selects another block of the cluster."""
        all_places = {**core.places, **(places or {})}
        return tuple(all_places[name] for name in (*self.grid_names, *self.cluster_names))

    def owner(self, core: Core, aval: Any) -> Any:
        """Returns the owner of a scratch buffer. Threads of a block share the block's memory."""
        collective = getattr(aval.dtype, "collective_axes", ())
        if collective:
            return ("cluster", self.block_of(core, dict.fromkeys(collective, -1)))
        if aval.memory_space is GMEM:
            return None
        if aval.memory_space is MemorySpace.REGS:
            return core.number
        return ("block", self.block_of(core))

    def owner_of_globals(self, core: Core) -> Any:
        """Returns the owner of the buffers of `get_global`, which all blocks of a device share."""
        return None

    def in_block(self, core: Core, site: Site, places: dict[Any, int]) -> Site:
        """Returns the part of another block's buffer that corresponds to ``site``."""
        buffer = site.buffer
        owner = buffer.core
        if not isinstance(owner, tuple) or owner[0] != "block":
            raise ValueError(
                f"only shared memory can be accessed from another block, got {buffer.name}"
            )
        block = ("block", self.block_of(core, places))
        with core.run.changed:
            key = (core.device, block, buffer.name)
            core.run.wait_until(
                core, lambda: key in core.run.buffers, f"block {block[1]} has no {buffer.name}"
            )
            return Site(core.run.buffers[key], site.transforms)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WarpMesh(meshes.Mesh):
    """The four warps of a warpgroup, which is one thread of a kernel; for `core_map` in a kernel.

    Args:
      axis_name: the name of the axis of warps.

    Example:
      >>> dict(WarpMesh(axis_name="warp").shape)
      {'warp': 4}
    """

    axis_name: AxisName

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The size of the axis, by name."""
        return OrderedDict([(self.axis_name, WARPS)])

    @property
    def core_type(self) -> str:
        """The kind of cores."""
        return "gpu"

    @property
    def default_memory_space(self) -> MemorySpace:
        """Raises an error, since warps use the references of their thread.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError("warps see the references of their thread")

    @property
    def supported_memory_spaces(self) -> Sequence[MemorySpace]:
        """The memory spaces of buffers."""
        return [MemorySpace.GMEM, MemorySpace.SMEM, MemorySpace.TMEM]


_not_given: Any = object()


def kernel(
    body: Callable[..., None] = _not_given,
    out_shape: PyTree = _not_given,
    *,
    out_type: PyTree = _not_given,
    scratch_types: PyTree = _not_given,
    scratch_shapes: PyTree = _not_given,
    compiler_params: CompilerParams | None = None,
    grid: tuple[int, ...] = (),
    grid_names: tuple[str, ...] = (),
    cluster: tuple[int, ...] = (),
    cluster_names: tuple[str, ...] = (),
    num_threads: int | None = None,
    thread_name: str | None = None,
    interpret: Any = None,
    **mesh_kwargs: Any,
) -> Any:
    """Makes a function of arrays from a kernel that runs on each thread of each block of a GPU.

    Args:
      body: takes references to the inputs, the outputs, and scratch buffers. Without it, a
        decorator is returned.
      out_shape: the older name of ``out_type``.
      out_type: the types of the outputs.
      scratch_types: buffers of a block, in `SMEM` and `TMEM`, and its barriers.
      scratch_shapes: the older name of ``scratch_types``.
      compiler_params: parameters of the compiler.
      grid: the numbers of clusters along each axis.
      grid_names: the names of the axes of the grid, for ``lax.axis_index``.
      cluster: the numbers of blocks of a cluster along each axis.
      cluster_names: the names of the axes of a cluster.
      num_threads: the number of threads of a block.
      thread_name: the name of the axis of threads.
      interpret: whether the kernel runs on simulated threads: True, or an ``InterpretParams``.
      **mesh_kwargs: further fields of `Mesh`.

    Returns:
      A function that takes the inputs and returns the outputs.

    Raises:
      ValueError: both names of an argument are given.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import ShapeDtypeStruct, lax
      >>> from olympus_pallas import mosaic_gpu as plgpu
      >>> def square(x_ref, o_ref):
      ...     i = lax.axis_index("i")
      ...     o_ref[i] = x_ref[i] * x_ref[i]
      >>> plgpu.kernel(square, ShapeDtypeStruct((4,), "int32"), grid=(4,), grid_names=("i",),
      ...              interpret=True)(np.arange(4))
      Array([0, 1, 4, 9], dtype=int32)
    """
    out = _one_of("out_shape", out_shape, "out_type", out_type)
    scratch = _one_of("scratch_shapes", scratch_shapes, "scratch_types", scratch_types)
    mesh = Mesh(
        grid=grid,
        grid_names=grid_names,
        cluster=cluster,
        cluster_names=cluster_names,
        num_threads=num_threads,
        thread_name=thread_name,
        **mesh_kwargs,
    )

    def decorate(function: Callable[..., None]) -> Any:
        return kernel_over_mesh(
            function,
            out,
            mesh=mesh,
            scratch_types=scratch,
            compiler_params=compiler_params,
            interpret=interpret,
            name=mesh.kernel_name or getattr(function, "__name__", None),
        )

    return decorate if body is _not_given else decorate(body)


def _one_of(old_name: str, old: Any, name: str, new: Any) -> Any:
    if old is not _not_given and new is not _not_given:
        raise ValueError(f"{name} and {old_name} are names of one argument, give one of them")
    return next((value for value in (new, old) if value is not _not_given), ())
