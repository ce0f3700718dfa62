# SPDX-License-Identifier: Apache-2.0
"""What kernels for the sparse cores of TPUs have: meshes of subcores, scatters, gathers, scans.

They run on simulated subcores (``interpret=True``).
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.effects import read_effect, write_effect

from ..memory import access as memory_access
from ..memory.spaces import TpuMemorySpace
from ..memory.access import ref_and_transforms
from ..core_maps.meshes import Mesh
from ..grids.sizes import cdiv
from .vectors import PackFormat as PackFormat
from .vectors import all_reduce_ffs as all_reduce_ffs
from .vectors import all_reduce_population_count as all_reduce_population_count
from .vectors import bitcast as bitcast
from .vectors import cummax as cummax
from .vectors import cumsum as cumsum
from .vectors import pack as pack
from .vectors import scan_count as scan_count
from .vectors import sort_key_val as sort_key_val
from .vectors import unpack as unpack
from ..operations.thread_effects import thread_effect
from ..tpu.info import SparseCoreInfo, get_tpu_info
from ..tpu.parameters import CoreType, GridDimensionSemantics

__all__ = [
    "PackFormat",
    "ScalarSubcoreMesh",
    "VectorSubcoreMesh",
    "addupdate",
    "addupdate_compressed",
    "addupdate_scatter",
    "all_reduce_ffs",
    "all_reduce_population_count",
    "bitcast",
    "cummax",
    "cumsum",
    "fetch_and_add",
    "get_sparse_core_info",
    "load_expanded",
    "load_gather",
    "pack",
    "parallel_loop",
    "scan_count",
    "sort_key_val",
    "store_compressed",
    "store_scatter",
    "subcore_barrier",
    "unpack",
]


def get_sparse_core_info() -> SparseCoreInfo:
    """What the sparse cores have of the devices that programs run on.

    Raises:
      RuntimeError: where they have none.
      ValueError: where the devices are no TPUs that are known.
    """
    info = get_tpu_info().sparse_core
    if info is None:
        raise RuntimeError("the TPU that programs run on has no sparse cores")
    return info


# ---- meshes ----


class _SubcoreMesh(Mesh):
    """What meshes of subcores have in common."""

    @property
    def size(self) -> int:
        """The number of subcores."""
        return self.size_of_cores()

    @property
    def default_memory_space(self) -> TpuMemorySpace:
        """The memory that operands of kernels lie in."""
        return TpuMemorySpace.HBM

    def check_is_compatible_with(self, other_mesh: Any) -> None:
        """Raises where one kernel cannot run on this mesh and another at once.

        Raises:
          ValueError: where the other is of the same kind, or no mesh of sparse cores.
        """
        if not isinstance(other_mesh, _SubcoreMesh) or type(self) is type(other_mesh):
            raise ValueError(f"a kernel cannot run on {self} and {other_mesh} at once")


def _default_cores() -> int:
    return get_sparse_core_info().num_cores


def _default_subcores() -> int:
    return get_sparse_core_info().num_subcores


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScalarSubcoreMesh(_SubcoreMesh):
    """The subcores for scalars, one of each sparse core.

    Args:
      axis_name: the name of the axis of cores.
      num_cores: how many there are; by default as the device has.

    Example:
      >>> dict(ScalarSubcoreMesh(axis_name="core", num_cores=2).shape)
      {'core': 2}
    """

    axis_name: str
    num_cores: int = dataclasses.field(default_factory=_default_cores)

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The name of the axis with its size."""
        return OrderedDict([(self.axis_name, self.num_cores)])

    @property
    def core_type(self) -> CoreType:
        """The kind of cores."""
        return CoreType.SC_SCALAR_SUBCORE

    @property
    def dimension_semantics(self) -> Sequence[GridDimensionSemantics]:
        """For each axis where its cores are."""
        return [GridDimensionSemantics.CORE_PARALLEL]

    @property
    def supported_memory_spaces(self) -> Sequence[TpuMemorySpace]:
        """The memories that buffers may be made in."""
        return [TpuMemorySpace.SMEM, TpuMemorySpace.VMEM_SHARED, TpuMemorySpace.SEMAPHORE]


@dataclasses.dataclass(frozen=True, kw_only=True)
class VectorSubcoreMesh(_SubcoreMesh):
    """The subcores for vectors, several of each sparse core.

    Args:
      core_axis_name: the name of the axis of cores.
      subcore_axis_name: the name of the axis of their subcores.
      num_cores: how many cores there are; by default as the device has.
      num_subcores: how many subcores each has; by default as the device has.

    Example:
      >>> VectorSubcoreMesh(core_axis_name="c", subcore_axis_name="s", num_cores=2,
      ...                   num_subcores=4).size
      8
    """

    core_axis_name: str
    subcore_axis_name: str
    num_cores: int = dataclasses.field(default_factory=_default_cores)
    num_subcores: int = dataclasses.field(default_factory=_default_subcores)

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The names of the axes with their sizes."""
        return OrderedDict(
            [(self.core_axis_name, self.num_cores), (self.subcore_axis_name, self.num_subcores)]
        )

    @property
    def core_type(self) -> CoreType:
        """The kind of cores."""
        return CoreType.SC_VECTOR_SUBCORE

    @property
    def dimension_semantics(self) -> Sequence[GridDimensionSemantics]:
        """For each axis where its cores are."""
        return [GridDimensionSemantics.CORE_PARALLEL, GridDimensionSemantics.SUBCORE_PARALLEL]

    @property
    def supported_memory_spaces(self) -> Sequence[TpuMemorySpace]:
        """The memories that buffers may be made in."""
        return [
            TpuMemorySpace.VMEM,
            TpuMemorySpace.VMEM_SHARED,
            TpuMemorySpace.SMEM,
            TpuMemorySpace.SEMAPHORE,
        ]

    def owner(self, core: Any, aval: Any) -> Any:
        """Whom a scratch buffer belongs to: shared memory to all subcores of a core."""
        if aval.memory_space is TpuMemorySpace.VMEM_SHARED:
            return ("shared", core.places[self.core_axis_name])
        return core.number

    def number_of(self, core: Any, subcore: int) -> int:
        """The number of a subcore of the same core."""
        return core.places[self.core_axis_name] * self.num_subcores + subcore


# ---- subcores together ----

subcore_barrier_p = Primitive("subcore_barrier", multiple_results=True)
fetch_and_add_p = Primitive("fetch_and_add")
fetch_and_add_p.takes_refs = True
fetch_and_add_p.spreads_varying = False


@subcore_barrier_p.def_effectful_abstract_eval
def _barrier_types() -> Any:
    return (), frozenset({thread_effect})


@fetch_and_add_p.def_effectful_abstract_eval
def _fetch_types(ref: Any, value: Any, subcore: Any) -> Any:
    if ref.inner_aval.shape not in ((), (1,)):
        raise ValueError(f"fetch_and_add works on one number, got {ref}")
    return (
        ShapedArray(ref.inner_aval.shape, ref.inner_aval.dtype),
        frozenset({thread_effect, read_effect, write_effect}),
    )


def subcore_barrier() -> None:
    """Waits until all subcores of the same core have come here."""
    subcore_barrier_p.bind()


def fetch_and_add(x_ref: Any, value: Any, *, subcore_id: Any) -> Any:
    """Adds to a number in another subcore's memory, in one step.

    Args:
      x_ref: a reference to one number in scalar memory, whole.
      value: what is added.
      subcore_id: the other subcore, of the same core.

    Returns:
      What was there.

    Raises:
      ValueError: where ``x_ref`` is a view of a larger one.
    """
    ref, transforms = ref_and_transforms("fetch_and_add", x_ref)
    if transforms:
        raise ValueError("fetch_and_add works on whole references, not on views")
    value = lax.convert_element_type(value, ref.dtype)
    subcore = lax.convert_element_type(subcore_id, np.int32)
    return fetch_and_add_p.bind(ref, value, subcore)


# ---- memory ----


def load_gather(ref: Any, indices: Sequence[Any], *, mask: Any | None = None) -> Any:
    """Reads elements at indices.

    Args:
      ref: the reference.
      indices: for each dimension an array of indices, all of one shape.
      mask: which of them are read; the others are what memory holds that nobody has written.
    """
    return memory_access.load(ref.at[tuple(indices)], mask=mask)


def store_scatter(ref: Any, indices: Sequence[Any], x: Any, *, mask: Any | None = None) -> None:
    """Writes elements at indices, of which none stands twice.

    Args:
      ref: the reference.
      indices: for each dimension an array of indices, all of one shape.
      x: the values.
      mask: which of them are written.
    """
    if mask is None:
        ref[tuple(indices)] = x
    else:
        memory_access.store(ref.at[tuple(indices)], x, mask=mask)


def addupdate(ref: Any, x: Any) -> None:
    """Adds to a reference, in one step.

    Args:
      ref: the reference.
      x: an array of its shape.
    """
    memory_access.atomic_add(ref, (), x)


def addupdate_scatter(ref: Any, indices: Sequence[Any], x: Any, *, mask: Any | None = None) -> None:
    """Adds to elements at indices, as often as they stand there, in one step.

    Args:
      ref: the reference.
      indices: for each dimension an array of indices, all of one shape.
      x: the values.
      mask: which of them are added.
    """
    memory_access.atomic_add(ref, tuple(indices), x, mask=mask)


def _compressed(mask: Any) -> Any:
    """Where elements go when those under a mask come first."""
    chosen = lax.convert_element_type(mask, np.int32)
    others = lax.sub(np.int32(1), chosen)
    before = lax.sub(lax.cumsum(chosen), np.int32(1))
    after = lax.sub(lax.add(jnp.sum(chosen, dtype=np.int32), lax.cumsum(others)), np.int32(1))
    return lax.select_n(mask, after, before)


def load_expanded(ref: Any, *, mask: Any) -> Any:
    """Reads as many elements as a mask has places, in order, and puts them there.

    Args:
      ref: the reference, of one dimension.
      mask: the places.

    Returns:
      An array of the mask's shape; elsewhere is what memory holds that nobody has written.
    """
    return memory_access.load(ref.at[_compressed(mask)], mask=mask)


def store_compressed(ref: Any, x: Any, *, mask: Any) -> None:
    """Writes the elements under a mask, one after the other, from the beginning.

    Args:
      ref: the reference, of one dimension.
      x: the values.
      mask: which of them are written.
    """
    memory_access.store(ref.at[_compressed(mask)], x, mask=mask)


def addupdate_compressed(ref: Any, x: Any, *, mask: Any) -> None:
    """Adds the elements under a mask, one after the other, from the beginning, in one step.

    Args:
      ref: the reference, of one dimension.
      x: the values.
      mask: which of them are added.
    """
    memory_access.atomic_add(ref, (_compressed(mask),), x, mask=mask)


def parallel_loop(
    lower: Any, upper: Any, step: Any = 1, *, unroll: int = 1, carry: Any = None
) -> Callable[[Callable[..., Any]], Any]:
    """Runs the decorated function for numbers of a range, in an order that does not matter.

    Args:
      lower: the first number.
      upper: the number before which it ends.
      step: the distance between the numbers.
      unroll: how many runs are written out in one step of the loop.
      carry: what is passed on from run to run, at first. With it, the function takes the number and
        the carry, and returns the next one.

    Returns:
      A decorator that runs the loop at once, and gives the last carry.
    """

    def run(body: Callable[..., Any]) -> Any:
        def one(number: Any, value: Any) -> Any:
            index = lower + number * step
            if carry is None:
                body(index)
                return None
            return body(index, value)

        return lax.fori_loop(0, cdiv(upper - lower, step), one, carry, unroll=unroll)

    return run
