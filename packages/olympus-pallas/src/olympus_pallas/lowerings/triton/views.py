# SPDX-License-Identifier: Apache-2.0
"""References in Triton: pointers, and where the elements of a block lie."""

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
    """The dtype of elements in memory, where booleans take a byte, and narrow numbers share one."""
    return np.dtype(np.int8) if dtype == BOOL or bit_width(dtype) < 8 else np.dtype(dtype)


@dataclasses.dataclass(frozen=True)
class Dimension:
    """One dimension of a block.

    Attributes:
      size: how many elements of it the block has.
      stride: how far apart in memory neighbours are, in elements.
      origin: the first element's place along the dimension of the array; None for 0.
      step: how many places neighbours are apart.
      limit: the size of the array's dimension, where the block may hang over its edge.
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
      pointer: to the array's first element.
      dtype: of the elements.
      dimensions: those that the reference has.
      fixed: those that it does not have: at one place.
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
    """Where elements are read or written.

    Attributes:
      pointers: one an element.
      inside: which of them lie inside of the array; None where all do.
      shape: the shape of what is read or written.
      shifts: by how many bits elements are shifted in the bytes that they share, as numbers of
        eight bits; None where each has bytes of its own.
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
    """An integer times a known one."""
    if value is None or factor == 1:
        return value
    return builder.multiply(value, builder.full(factor, builder.shape_of(value), INT32))


def _as_int32(builder: TritonBuilder, index: Any, dtype: Any) -> Any:
    """An index as a 32-bit number; None for a known 0."""
    if isinstance(index, int):
        return builder.int32(index) if index else None
    return cast(builder, index, dtype, INT32)


def _taken(builder: TritonBuilder, dimension: Dimension, start: Any) -> Any:
    """The place along the array's dimension of an index into a block's."""
    return _sum(builder, dimension.origin, _scaled(builder, start, dimension.step))


def _viewed(builder: TritonBuilder, ref: TritonRef, indexer: NDIndexer, types: dict) -> TritonRef:
    """The part of a block that an index without arrays selects, as a block."""
    dimensions, fixed = [], list(ref.fixed)
    for dimension, index in zip(ref.dimensions, indexer.indices, strict=True):
        if isinstance(index, Slice):
            start = _as_int32(builder, index.start, types.get(id(index.start)))
            dimensions.append(
                dataclasses.replace(
                    dimension,
                    size=index.size,
                    origin=_taken(builder, dimension, start),
                    step=dimension.step * index.stride,
                )
            )
        else:
            if isinstance(index, int) and index < 0:
                index += dimension.size
            start = _as_int32(builder, index, types.get(id(index)))
            origin = _taken(builder, dimension, start)
            fixed.append(dataclasses.replace(dimension, size=1, origin=origin))
    return dataclasses.replace(ref, dimensions=tuple(dimensions), fixed=tuple(fixed))


def place(
    builder: TritonBuilder, ref: TritonRef, transforms: Sequence[Any], types: dict[int, Any]
) -> Places:
    """Where the elements lie that transforms of a reference select.

    Args:
      builder: where to build.
      ref: the reference.
      transforms: the transforms, with MLIR values as leaves.
      types: the dtypes of these values, by their identity.
    """
    arrays: NDIndexer | None = None
    for number, transform in enumerate(transforms):
        if isinstance(transform, NDIndexer):
            if not transform.int_indexer_shape:
                ref = _viewed(builder, ref, transform, types)
                continue
            if number == len(transforms) - 1:
                arrays = transform
                continue
        elif isinstance(transform, TransposeTransform):
            ref = dataclasses.replace(
                ref, dimensions=tuple(ref.dimensions[dim] for dim in transform.permutation)
            )
            continue
        raise KernelLoweringError(
            f"the Triton lowering of kernels does not know the view {transform} of a reference; "
            "read the reference first, and change what was read"
        )
    if arrays is None:
        shape = ref.shape
        coordinates = [
            (dimension, None if dimension.size == 1 else number)
            for number, dimension in enumerate(ref.dimensions)
        ]
        return _pointers(builder, ref, shape, coordinates, {})
    return _gathered(builder, ref, arrays, types)


def _gathered(
    builder: TritonBuilder, ref: TritonRef, indexer: NDIndexer, types: dict[int, Any]
) -> Places:
    """Places given by arrays of indices."""
    dims = layout(indexer)
    shape = tuple(size for _, size in dims)
    axes = {label: axis for axis, (label, _) in enumerate(dims)}
    array_axes = [axes[("array", number)] for number in range(len(indexer.int_indexer_shape))]
    coordinates, indices = [], {}
    kept = []
    for number, (dimension, index) in enumerate(zip(ref.dimensions, indexer.indices, strict=True)):
        if isinstance(index, Slice):
            start = _as_int32(builder, index.start, types.get(id(index.start)))
            dimension = dataclasses.replace(
                dimension,
                size=index.size,
                origin=_taken(builder, dimension, start),
                step=dimension.step * index.stride,
            )
            coordinates.append((dimension, axes[number]))
        else:
            values = cast(builder, index, types[id(index)], INT32)
            for axis in range(len(shape)):
                if axis not in array_axes:
                    values = builder.expand_dims(values, axis)
            values = builder.broadcast_to(values, shape)
            indices[len(coordinates)] = _scaled(builder, values, dimension.step)
            coordinates.append((dimension, None))
        kept.append(dimension)
    return _pointers(builder, ref, shape, coordinates, indices)


def _pointers(
    builder: TritonBuilder,
    ref: TritonRef,
    shape: tuple[int, ...],
    coordinates: Sequence[tuple[Dimension, int | None]],
    indices: dict[int, Any],
) -> Places:
    """Pointers from, for each dimension, the axis that its elements go along, or its indices."""
    base: Any = None  # offsets that are the same for all elements
    offsets: Any = None
    inside: Any = None

    def wide(value: Any) -> Any:
        return cast(builder, value, INT32, _INT64) if ref.is_large else value

    def scaled(value: Any, stride: int) -> Any:
        value = wide(value)
        if stride == 1:
            return value
        factor = builder.full(stride, builder.shape_of(value), _INT64 if ref.is_large else INT32)
        return builder.multiply(value, factor)

    def check(value: Any, limit: int | None) -> None:
        nonlocal inside
        if limit is None or value is None:
            return
        bound = builder.full(limit, builder.shape_of(value), INT32)
        below = builder.broadcast_to(builder.compare(2, value, bound), shape)  # signed less than
        inside = below if inside is None else builder.binary("arith.andi", inside, below)

    for dimension in ref.fixed:
        if dimension.origin is not None:
            base = _sum(builder, base, scaled(dimension.origin, dimension.stride))
            check(dimension.origin, dimension.limit)
    for number, (dimension, axis) in enumerate(coordinates):
        origin = dimension.origin
        if origin is not None:
            base = _sum(builder, base, scaled(origin, dimension.stride))
        along = indices.get(number)
        if axis is not None:
            along = builder.arange(0, dimension.size)
            along = _scaled(builder, along, dimension.step)
            along = builder.along(along, axis, shape)
        if along is not None:
            offsets = _sum(builder, offsets, scaled(along, dimension.stride))
        if dimension.limit is not None:
            if along is None:
                check(origin, dimension.limit)
            else:
                spread = None if origin is None else builder.splat(origin, shape)
                check(_sum(builder, spread, along), dimension.limit)
    pointers = ref.pointer
    bits = 8 if ref.dtype == BOOL else bit_width(ref.dtype)
    if bits < 8:
        spread = base if base is None or not shape else builder.splat(base, shape)
        numbers = _sum(builder, spread, offsets)
        index = _INT64 if ref.is_large else INT32
        if numbers is None:
            numbers = builder.full(0, shape, index)
        count = builder.full(8 // bits, shape, index)
        offsets = builder.binary("arith.divui", numbers, count)
        rest = builder.binary("arith.remui", numbers, count)
        shifts = builder.multiply(rest, builder.full(bits, shape, index))
        pointers = builder.splat(pointers, shape) if shape else pointers
        pointers = builder.create("tt.addptr", pointers.type, (pointers, offsets))
        return Places(pointers, inside, shape, cast(builder, shifts, index, np.int8))
    if base is not None:
        pointers = builder.create("tt.addptr", pointers.type, (pointers, base))
    if shape:
        pointers = builder.splat(pointers, shape)
        if offsets is not None:
            pointers = builder.create("tt.addptr", pointers.type, (pointers, offsets))
    return Places(pointers, inside, shape)


def block_ref(builder: TritonBuilder, pointer: Any, block: Any, starts: Sequence[Any]) -> TritonRef:
    """The reference to a program's block of an array.

    Args:
      builder: where to build.
      pointer: to the array's first element.
      block: the `BlockMapping`.
      starts: the block's first place along each dimension, as 32-bit numbers; None for 0.
    """
    shape = block.array_aval.shape
    dimensions, fixed = [], []
    squeezed = block.squeezed_dims
    for dim, (size, start) in enumerate(zip(block.sizes, starts, strict=True)):
        stride = product(shape[dim + 1 :])
        limit = shape[dim] if shape[dim] % size else None  # some blocks hang over the edge
        if dim in squeezed:
            fixed.append(Dimension(1, stride, start, 1, limit))
        else:
            dimensions.append(Dimension(size, stride, start, 1, limit))
    is_large = product(shape) >= 2**31
    return TritonRef(pointer, block.array_aval.dtype, tuple(dimensions), tuple(fixed), is_large)


def array_pointer_type(dtype: Any) -> Any:
    """The type of the pointer to an array with elements of a dtype."""
    return pointer_type(element_type(storage_dtype(dtype)))
