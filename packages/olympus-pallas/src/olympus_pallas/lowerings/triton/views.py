# SPDX-License-Identifier: Apache-2.0
"""Lowering of references to Triton, as pointers and offsets of elements."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.references.indexing import NDIndexer, Slice
from olympus_ir.references.transforms import TransposeTransform
from olympus_ir.references.windows import layout

from ...mlir.building import BOOL, INT32, KernelLoweringError, bit_width, element_type, product
from ...mlir.elementwise import cast
from .builder import TritonBuilder, pointer_type

__all__ = ["Dimension", "Places", "TritonRef", "place", "storage_dtype"]

_INT64 = np.dtype(np.int64)


def storage_dtype(dtype: Any) -> Any:
    """Returns the dtype of elements in memory.

    A boolean takes a byte. Two or more numbers narrower than a byte share a byte.
    """
    return np.dtype(np.int8) if dtype == BOOL or bit_width(dtype) < 8 else np.dtype(dtype)


@dataclasses.dataclass(frozen=True)
class Dimension:
    """One dimension of a block.

    Attributes:
      size: the number of the block's elements along the dimension.
      stride: the distance of neighboring elements of the array in memory, in elements.
      origin: the index of the block's first element along the array's dimension; None for 0.
      step: the difference of the array indices of neighboring elements of the block.
      limit: the size of the array's dimension if the block may extend beyond it.
    """

    size: int
    stride: int
    origin: Any = None
    step: int = 1
    limit: int | None = None


@dataclasses.dataclass(frozen=True)
class TritonRef:
    """A reference to a block.

    Attributes:
      pointer: the pointer to the array's first element.
      dtype: the dtype of the elements.
      dimensions: the block's dimensions that the reference has.
      fixed: the block's dimensions that the reference does not have. Each of them has a fixed
        index.
      is_large: whether offsets take 64 bits.
    """

    pointer: Any
    dtype: Any
    dimensions: tuple[Dimension, ...]
    fixed: tuple[Dimension, ...] = ()
    is_large: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(dimension.size for dimension in self.dimensions)


@dataclasses.dataclass(frozen=True)
class Places:
    """Pointers to the elements that are read or written.

    Attributes:
      pointers: one for each element.
      inside: mask of the pointers that lie inside of the array; None if all do.
      shape: the shape of the accessed elements.
      shifts: the number of bits by which each element is shifted in the byte that it shares, as
        8-bit numbers; None if elements share no bytes.
    """

    pointers: Any
    inside: Any
    shape: tuple[int, ...]
    shifts: Any = None


def _sum(builder: TritonBuilder, left: Any, right: Any) -> Any:
    if left is None:
        return right
    return left if right is None else builder.add(left, right)


def _scaled(builder: TritonBuilder, value: Any, factor: int) -> Any:
    """Multiplies an integer value by a constant."""
    if value is None or factor == 1:
        return value
    return builder.multiply(value, builder.full(factor, builder.shape_of(value), INT32))


def _as_int32(builder: TritonBuilder, index: Any, dtype: Any) -> Any:
    """Returns an index as a 32-bit value; None for a constant 0."""
    if isinstance(index, int):
        return builder.int32(index) if index else None
    return cast(builder, index, dtype, INT32)


def _index_in_array(builder: TritonBuilder, dimension: Dimension, start: Any) -> Any:
    """Converts an index within a block to an index of the array."""
    return _sum(builder, dimension.origin, _scaled(builder, start, dimension.step))


def _sliced(builder: TritonBuilder, dimension: Dimension, part: Slice, types: dict) -> Dimension:
    """Returns the part of a block's dimension that a slice selects."""
    start = _as_int32(builder, part.start, types.get(id(part.start)))
    return dataclasses.replace(
        dimension,
        size=part.size,
        origin=_index_in_array(builder, dimension, start),
        step=dimension.step * part.stride,
    )


def _viewed(builder: TritonBuilder, ref: TritonRef, indexer: NDIndexer, types: dict) -> TritonRef:
    """Returns the part of a block that an index without arrays selects, as a block."""
    dimensions, fixed = [], list(ref.fixed)
    for dimension, index in zip(ref.dimensions, indexer.indices, strict=True):
        if isinstance(index, Slice):
            dimensions.append(_sliced(builder, dimension, index, types))
        else:
            if isinstance(index, int) and index < 0:
                index += dimension.size
            start = _as_int32(builder, index, types.get(id(index)))
            origin = _index_in_array(builder, dimension, start)
            fixed.append(dataclasses.replace(dimension, size=1, origin=origin))
    return dataclasses.replace(ref, dimensions=tuple(dimensions), fixed=tuple(fixed))


def place(
    builder: TritonBuilder, ref: TritonRef, transforms: Sequence[Any], types: dict[int, Any]
) -> Places:
    """Returns pointers to the elements that transforms of a reference select.

    Args:
      builder: builder of the operations.
      ref: the reference.
      transforms: the transforms, with MLIR values as leaves.
      types: the dtypes of these values, by their identity.
    """
    arrays: NDIndexer | None = None
    for index, transform in enumerate(transforms):
        if isinstance(transform, NDIndexer):
            if not transform.int_indexer_shape:
                ref = _viewed(builder, ref, transform, types)
                continue
            if index == len(transforms) - 1:
                arrays = transform
                continue
        elif isinstance(transform, TransposeTransform):
            ref = dataclasses.replace(
                ref, dimensions=tuple(ref.dimensions[dim] for dim in transform.permutation)
            )
            continue
        raise KernelLoweringError(
            f"the Triton lowering of kernels does not support the view {transform} of a reference; "
            "read the reference first, and change the value read"
        )
    if arrays is None:
        places = [
            (
                dimension,
                None if dimension.size == 1 else _along(builder, dimension, axis, ref.shape),
            )
            for axis, dimension in enumerate(ref.dimensions)
        ]
        return _pointers(builder, ref, ref.shape, places)
    return _gathered(builder, ref, arrays, types)


def _gathered(
    builder: TritonBuilder, ref: TritonRef, indexer: NDIndexer, types: dict[int, Any]
) -> Places:
    """Returns pointers to the elements that arrays of indices select."""
    dims = layout(indexer)
    shape = tuple(size for _, size in dims)
    axes = {label: axis for axis, (label, _) in enumerate(dims)}
    array_axes = [axes[("array", position)] for position in range(len(indexer.int_indexer_shape))]
    places = []
    entries = zip(ref.dimensions, indexer.indices, strict=True)
    for position, (dimension, index) in enumerate(entries):
        if isinstance(index, Slice):
            dimension = _sliced(builder, dimension, index, types)
            places.append((dimension, _along(builder, dimension, axes[position], shape)))
        else:
            values = cast(builder, index, types[id(index)], INT32)
            for axis in range(len(shape)):
                if axis not in array_axes:
                    values = builder.expand_dims(values, axis)
            values = builder.broadcast_to(values, shape)
            places.append((dimension, _scaled(builder, values, dimension.step)))
    return _pointers(builder, ref, shape, places)


def _along(builder: TritonBuilder, dimension: Dimension, axis: int, shape: tuple[int, ...]) -> Any:
    """Returns the offsets of a block's elements from its origin, broadcast along an axis."""
    places = _scaled(builder, builder.arange(0, dimension.size), dimension.step)
    return builder.along(places, axis, shape)


class _Offsets:
    """Offsets of elements from an array's first element, as a sum over the dimensions.

    Attributes:
      uniform: the part that is the same for all elements; None for 0.
      varying: the part that differs between elements, of the elements' shape; None for 0.
      inside: whether each element lies inside of the array; None where all do.
    """

    def __init__(self, builder: TritonBuilder, ref: TritonRef, shape: tuple[int, ...]) -> None:
        self.builder = builder
        self.ref = ref
        self.shape = shape
        self.dtype = _INT64 if ref.is_large else INT32
        self.uniform: Any = None
        self.varying: Any = None
        self.inside: Any = None

    def add(self, dimension: Dimension, along: Any = None) -> None:
        """Adds the offsets along a dimension.

        Args:
          dimension: the dimension.
          along: the positions relative to the block's origin; None stands for 0.
        """
        if dimension.origin is not None:
            offset = self._strided(dimension.origin, dimension.stride)
            self.uniform = _sum(self.builder, self.uniform, offset)
        if along is not None:
            offset = self._strided(along, dimension.stride)
            self.varying = _sum(self.builder, self.varying, offset)
        if dimension.limit is not None:
            self._check(self._place(dimension.origin, along), dimension.limit)

    def _strided(self, value: Any, stride: int) -> Any:
        if self.ref.is_large:
            value = cast(self.builder, value, INT32, _INT64)
        if stride == 1:
            return value
        factor = self.builder.full(stride, self.builder.shape_of(value), self.dtype)
        return self.builder.multiply(value, factor)

    def _place(self, origin: Any, along: Any) -> Any:
        if along is not None and origin is not None:
            origin = self.builder.splat(origin, self.shape)
        return _sum(self.builder, origin, along)

    def _check(self, place: Any, limit: int) -> None:
        if place is None:
            return
        bound = self.builder.full(limit, self.builder.shape_of(place), INT32)
        # 2 stands for the predicate "signed less than".
        below = self.builder.compare(2, place, bound)
        below = self.builder.broadcast_to(below, self.shape)
        if self.inside is not None:
            below = self.builder.binary("arith.andi", self.inside, below)
        self.inside = below


def _pointers(
    builder: TritonBuilder,
    ref: TritonRef,
    shape: tuple[int, ...],
    places: Sequence[tuple[Dimension, Any]],
) -> Places:
    """Returns pointers to elements.

    Args:
      builder: builder of the operations.
      ref: the reference.
      shape: the shape of the accessed elements.
      places: pairs of a dimension and the elements' positions relative to the dimension's origin;
        None stands for 0.
    """
    offsets = _Offsets(builder, ref, shape)
    for dimension in ref.fixed:
        offsets.add(dimension)
    for dimension, along in places:
        offsets.add(dimension, along)
    bits = 8 if ref.dtype == BOOL else bit_width(ref.dtype)
    return _packed(builder, offsets, bits) if bits < 8 else _unpacked(builder, offsets)


def _unpacked(builder: TritonBuilder, offsets: _Offsets) -> Places:
    """Returns pointers to unpacked elements, which share no bytes."""
    pointers = offsets.ref.pointer
    if offsets.uniform is not None:
        pointers = builder.create("tt.addptr", pointers.type, (pointers, offsets.uniform))
    if offsets.shape:
        pointers = builder.splat(pointers, offsets.shape)
        if offsets.varying is not None:
            pointers = builder.create("tt.addptr", pointers.type, (pointers, offsets.varying))
    return Places(pointers, offsets.inside, offsets.shape)


def _packed(builder: TritonBuilder, offsets: _Offsets, bits: int) -> Places:
    """Returns pointers to the bytes that packed elements share, and the elements' bit shifts."""
    shape, dtype = offsets.shape, offsets.dtype
    uniform = offsets.uniform
    if uniform is not None and shape:
        uniform = builder.splat(uniform, shape)
    numbers = _sum(builder, uniform, offsets.varying)
    if numbers is None:
        numbers = builder.full(0, shape, dtype)
    count = builder.full(8 // bits, shape, dtype)
    byte_offsets = builder.binary("arith.divui", numbers, count)
    rest = builder.binary("arith.remui", numbers, count)
    shifts = builder.multiply(rest, builder.full(bits, shape, dtype))
    pointers = offsets.ref.pointer
    if shape:
        pointers = builder.splat(pointers, shape)
    pointers = builder.create("tt.addptr", pointers.type, (pointers, byte_offsets))
    return Places(pointers, offsets.inside, shape, cast(builder, shifts, dtype, np.int8))


def block_ref(builder: TritonBuilder, pointer: Any, block: Any, starts: Sequence[Any]) -> TritonRef:
    """Returns the reference to a program's block of an array.

    Args:
      builder: builder of the operations.
      pointer: the pointer to the array's first element.
      block: the `BlockMapping`.
      starts: the index of the block's first element along each dimension, as 32-bit numbers; None
        stands for 0.
    """
    shape = block.array_aval.shape
    dimensions, fixed = [], []
    squeezed = block.squeezed_dims
    for dim, (size, start) in enumerate(zip(block.sizes, starts, strict=True)):
        stride = product(shape[dim + 1 :])
        limit = shape[dim] if shape[dim] % size else None  # some blocks extend beyond the edge
        if dim in squeezed:
            fixed.append(Dimension(1, stride, start, 1, limit))
        else:
            dimensions.append(Dimension(size, stride, start, 1, limit))
    is_large = product(shape) >= 2**31
    return TritonRef(pointer, block.array_aval.dtype, tuple(dimensions), tuple(fixed), is_large)


def array_pointer_type(dtype: Any) -> Any:
    """Returns the type of the pointer to an array of a dtype."""
    return pointer_type(element_type(storage_dtype(dtype)))
