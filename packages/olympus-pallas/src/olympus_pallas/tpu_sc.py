# SPDX-License-Identifier: Apache-2.0
"""What kernels for the sparse cores of TPUs have: meshes of subcores, scatters, gathers, scans.

They run on simulated subcores (``interpret=True``).
"""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import dtypes, lax
from olympus_ir.avals import ShapedArray, get_aval
from olympus_ir.effects import read_effect, write_effect
from olympus_ir.primitives import Primitive

from . import memory_access
from .memory import TpuMemorySpace
from .memory_access import ref_and_transforms
from .meshes import Mesh
from .sizes import cdiv
from .thread_effects import thread_effect
from .tpu_info import SparseCoreInfo, get_tpu_info
from .tpu_parameters import CoreType, GridDimensionSemantics

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
      >>> ScalarSubcoreMesh(axis_name="core", num_cores=2).shape
      OrderedDict([('core', 2)])
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


# ---- vectors ----


def cumsum(x: Any, *, mask: Any | None = None) -> Any:
    """Sums of all elements up to each, along the last dimension.

    Args:
      x: the array.
      mask: which elements count.

    Example:
      >>> cumsum(np.int32([1, 2, 3]), mask=np.array([True, False, True]))
      Array([1, 1, 4], dtype=int32)
    """
    if mask is not None:
        x = lax.select_n(mask, lax.full_like(x, 0), x)
    return lax.cumsum(x, axis=len(x.shape) - 1)


def cummax(x: Any, *, mask: Any | None = None) -> Any:
    """The largest of all elements up to each, along the last dimension.

    Args:
      x: the array.
      mask: which elements count; before the first of them the result is ``x``.

    Example:
      >>> cummax(np.int32([5, 1, 3]), mask=np.array([False, True, True]))
      Array([5, 1, 3], dtype=int32)
    """
    axis = len(x.shape) - 1
    if mask is None:
        return lax.cummax(x, axis=axis)
    is_float = dtypes.issubdtype(x.dtype, np.floating)
    least = -np.inf if is_float else dtypes.iinfo(x.dtype).min
    largest = lax.cummax(lax.select_n(mask, lax.full_like(x, least), x), axis=axis)
    seen = lax.cummax(lax.convert_element_type(mask, np.int32), axis=axis)
    return lax.select_n(lax.gt(seen, lax.full_like(seen, 0)), x, largest)


def _reduced(x: Any, reduce: int, value: Any) -> Any:
    size = x.shape[0]
    if len(x.shape) != 1 or size % reduce:
        raise ValueError(
            f"an array of one dimension, whose size {reduce} divides, is wanted; got {x.shape}"
        )
    return lax.broadcast_in_dim(lax.convert_element_type(value, np.int32), (size // reduce,), ())


def all_reduce_ffs(x: Any, *, reduce: int = 1) -> Any:
    """The index of the first true element, as each element of a vector.

    Args:
      x: booleans; where none is true, the result is their number.
      reduce: by how much shorter the result is.

    Example:
      >>> all_reduce_ffs(np.array([False, True, True]))
      Array([1, 1, 1], dtype=int32)
    """
    size = x.shape[0]
    places = lax.select_n(x, lax.full((size,), size, np.int32), lax.iota(np.int32, size))
    return _reduced(x, reduce, jnp.min(places))


def all_reduce_population_count(x: Any, *, reduce: int = 1) -> Any:
    """The number of true elements, as each element of a vector.

    Args:
      x: booleans.
      reduce: by how much shorter the result is.

    Example:
      >>> all_reduce_population_count(np.array([False, True, True]))
      Array([2, 2, 2], dtype=int32)
    """
    return _reduced(x, reduce, jnp.sum(x, dtype=np.int32))


def scan_count(x: Any, mask: Any | None = None) -> tuple[Any, Any]:
    """For each element how often it has occurred so far, and whether it is the last of its kind.

    Args:
      x: the array.
      mask: which elements count.

    Returns:
      The numbers, from 1 on; and a mask of the last occurrences, of those that count.

    Example:
      >>> scan_count(np.int32([3, 3, 5, 3]))
      (Array([1, 2, 1, 3], dtype=int32), Array([False, False,  True,  True], dtype=bool))
    """
    size = x.shape[0]
    same = lax.eq(jnp.broadcast_to(x[:, None], (size, size)), jnp.broadcast_to(x, (size, size)))
    valid = lax.full((size,), True, np.bool_) if mask is None else mask
    same = lax.bitwise_and(same, jnp.broadcast_to(valid, (size, size)))
    rows = lax.broadcasted_iota(np.int32, (size, size), 0)
    columns = lax.broadcasted_iota(np.int32, (size, size), 1)
    counts = jnp.sum(lax.bitwise_and(same, lax.le(columns, rows)), axis=1, dtype=np.int32)
    later = jnp.sum(lax.bitwise_and(same, lax.gt(columns, rows)), axis=1, dtype=np.int32)
    return counts, lax.bitwise_and(valid, lax.eq(later, lax.full_like(later, 0)))


def sort_key_val(
    keys: Any, values: Any, *, mask: Any | None = None, descending: bool = False
) -> tuple[Any, ...]:
    """Sorts keys, and values with them.

    Args:
      keys: the keys.
      values: the values.
      mask: which of them count; the others come last.
      descending: whether the largest key comes first.

    Returns:
      Keys and values in order, and where a mask is given, the mask in the same order.

    Example:
      >>> sort_key_val(np.int32([2, 3, 1]), np.int32([20, 30, 10]), descending=True)
      (Array([3, 2, 1], dtype=int32), Array([30, 20, 10], dtype=int32))
    """
    order = jnp.argsort(keys, descending=descending, stable=True)
    if mask is not None:
        invalid = lax.convert_element_type(lax.bitwise_not(mask), np.int32)
        order = order[jnp.argsort(invalid[order], stable=True)]
        return keys[order], values[order], mask[order]
    return keys[order], values[order]


def bitcast(x: Any, dtype: Any) -> Any:
    """The bits of numbers as others, of which the last dimension has more or fewer.

    Args:
      x: the array.
      dtype: the dtype of the others.

    Example:
      >>> bitcast(np.uint16([1, 2]), np.uint32)
      Array([131073], dtype=uint32)
    """
    dtype = dtypes.dtype(dtype)
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    shape = tuple(x.shape)
    if old == new:
        return lax.bitcast_convert_type(x, dtype)
    if old > new:
        pieces = lax.bitcast_convert_type(x, dtype)
        return lax.reshape(pieces, (*shape[:-1], shape[-1] * (old // new)))
    if shape[-1] % (new // old):
        raise ValueError(f"the last dimension of {shape} is no multiple of {new // old}")
    split = lax.reshape(x, (*shape[:-1], shape[-1] // (new // old), new // old))
    return lax.bitcast_convert_type(split, dtype)


class PackFormat(enum.Enum):
    """Where the elements of two arrays are in one: one array after the other, or by turns."""

    COMPRESSED = "compressed"
    INTERLEAVED = "interleaved"


_NARROW = {"float32": "bfloat16", "int32": "int16"}
_WIDE = {narrow: wide for wide, narrow in _NARROW.items()}


def _other_dtype(dtype: Any, preferred: Any, known: dict[str, str], scale: float) -> np.dtype:
    name = dtypes.name_of(np.dtype(dtype))
    if preferred is None:
        if name not in known:
            raise NotImplementedError(
                f"{' and '.join(known)} are packed and unpacked by themselves, got {name}; give "
                "preferred_element_type"
            )
        return dtypes.dtype(known[name])
    bits = int(dtypes.itemsize_bits(dtype) * scale)
    if dtypes.itemsize_bits(dtypes.dtype(preferred)) != bits:
        raise ValueError(f"preferred_element_type= must have {bits} bits, got {preferred}")
    return dtypes.dtype(preferred)


def pack(
    a: Any, b: Any, /, *, format: PackFormat, preferred_element_type: Any | None = None
) -> Any:
    """Two arrays as one of narrower numbers.

    Args:
      a: the one, of one dimension.
      b: the other, of the same type.
      format: `PackFormat.INTERLEAVED` for one dimension, the elements by turns, or `COMPRESSED` for
        a second dimension of size 2.
      preferred_element_type: the narrower dtype, half as wide.

    Raises:
      ValueError: where the types do not fit.

    Example:
      >>> pack(np.int32([1, 2]), np.int32([3, 4]), format=PackFormat.INTERLEAVED)
      Array([1, 3, 2, 4], dtype=int16)
    """
    one, other = get_aval(a), get_aval(b)
    if one.shape != other.shape or one.dtype != other.dtype or len(one.shape) != 1:  # type: ignore[attr-defined]
        raise ValueError(
            f"two arrays of one type and one dimension are packed, got {one.str_short()} and "
            f"{other.str_short()}"
        )
    narrow = _other_dtype(a.dtype, preferred_element_type, _NARROW, 0.5)
    pairs = jnp.stack([a, b], axis=1)
    pairs = lax.convert_element_type(pairs, narrow)
    return pairs.reshape(-1) if format is PackFormat.INTERLEAVED else pairs


def unpack(
    ab: Any, /, *, format: PackFormat, preferred_element_type: Any | None = None
) -> tuple[Any, Any]:
    """The two arrays that `pack` has made one.

    Args:
      ab: the packed array.
      format: how it is packed.
      preferred_element_type: the wider dtype, twice as wide.

    Raises:
      ValueError: where its shape does not fit the format.

    Example:
      >>> unpack(np.int16([1, 3, 2, 4]), format=PackFormat.INTERLEAVED)
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    wide = _other_dtype(ab.dtype, preferred_element_type, _WIDE, 2)
    shape = tuple(ab.shape)
    if format is PackFormat.INTERLEAVED:
        if len(shape) != 1 or shape[0] % 2:
            raise ValueError(f"an even number of elements by turns is wanted, got {shape}")
        ab = lax.reshape(ab, (shape[0] // 2, 2))
    elif len(shape) != 2 or shape[1] != 2:
        raise ValueError(f"a second dimension of size 2 is wanted, got {shape}")
    ab = lax.convert_element_type(ab, wide)
    return ab[:, 0], ab[:, 1]


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
