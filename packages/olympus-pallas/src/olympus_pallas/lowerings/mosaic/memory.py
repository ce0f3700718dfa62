# SPDX-License-Identifier: Apache-2.0
"""Lowering of references to Mosaic: arrays in the TPU's memories, their loads and stores."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.references import primitives as references
from olympus_ir.references.indexing import NDIndexer, Slice
from olympus_ir.references.transforms import BitcastTransform, ReshapeTransform
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray

from ...memory.access import load_p, swap_p
from ...mlir.attributes import i32_array
from ...mlir.building import INT32, KernelLoweringError, element_type, is_float
from ...mlir.elementwise import cast
from ...mlir.tables import mosaic_rules
from .builder import MosaicBuilder, memref_type, storage_dtype

__all__ = [
    "Axis",
    "KeyWords",
    "MosaicRef",
    "load_view",
    "memref_of",
    "ref_of",
    "store_view",
    "viewed",
]


@dataclasses.dataclass(frozen=True)
class Axis:
    """One dimension of the array of a reference.

    Attributes:
      size: the number of elements along the dimension that the reference covers.
      start: the index of the first of these elements, an integer if known, else a 32-bit value.
      stride: the distance between consecutive elements that the reference covers.
      kept: whether the reference has the dimension; otherwise an integer index has removed it.
    """

    size: int
    start: Any = 0
    stride: int = 1
    kept: bool = True


@dataclasses.dataclass(frozen=True)
class MosaicRef:
    """A reference to an array in one of the TPU's memories, or to a part of it.

    Attributes:
      memref: the array.
      dtype: the dtype of the array's elements, as the kernel sees them.
      space: the memory's name.
      axes: the dimensions of the array.
    """

    memref: Any
    dtype: Any
    space: str
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes if axis.kept)

    @property
    def is_whole(self) -> bool:
        """Returns whether the reference covers the whole array, apart from dimensions of size 1."""
        return all(axis.start == 0 and axis.stride == 1 for axis in self.axes)


def ref_of(memref: Any, dtype: Any, space: str, sizes: Sequence[int], squeezed: Any = ()) -> Any:
    """Returns the reference to a whole array."""
    axes = tuple(Axis(size, kept=dim not in squeezed) for dim, size in enumerate(sizes))
    return MosaicRef(memref, dtype, space, axes)


def _sum(builder: MosaicBuilder, left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, int) and left == 0:
        return right
    if isinstance(right, int) and right == 0:
        return left
    left, right = (builder.int32(v) if isinstance(v, int) else v for v in (left, right))
    return builder.add(left, right)


def _scaled(builder: MosaicBuilder, value: Any, factor: int) -> Any:
    if factor == 1:
        return value
    if isinstance(value, int):
        return value * factor
    return builder.multiply(value, builder.int32(factor))


def _number(builder: MosaicBuilder, value: Any, types: dict[int, Any]) -> Any:
    """Returns an index as an integer if it is known, else as a 32-bit value."""
    if isinstance(value, int):
        return value
    return cast(builder, value, types[id(value)], INT32)


def memref_of(builder: MosaicBuilder, ref: MosaicRef) -> Any:
    """Returns the part of an array that a reference sees, as a memref."""
    memref = ref.memref
    if any(axis.stride != 1 for axis in ref.axes):
        raise KernelLoweringError(
            "references with strides can be read and written in Mosaic, but not copied, "
            "reshaped or bitcast"
        )
    whole = ref.is_whole and builder.shape_of(memref) == tuple(axis.size for axis in ref.axes)
    if not whole:
        starts = [
            builder.int32(axis.start) if isinstance(axis.start, int) else axis.start
            for axis in ref.axes
        ]
        kind = memref_type([axis.size for axis in ref.axes], ref.dtype, ref.space)
        attributes = {"operandSegmentSizes": i32_array((1, len(starts), 0))}
        memref = builder.create("tpu.memref_slice", kind, (memref, *starts), attributes)
    if not all(axis.kept for axis in ref.axes):
        kind = memref_type(ref.shape, ref.dtype, ref.space)
        memref = builder.create("tpu.memref_squeeze", kind, (memref,))
    return memref


def _bitcast_or_reshaped(builder: MosaicBuilder, ref: MosaicRef, transform: Any) -> MosaicRef:
    """Bitcasts or reshapes a reference."""
    aval = transform.transform_type(ShapedArray(ref.shape, ref.dtype))
    is_bitcast = isinstance(transform, BitcastTransform)
    name = "tpu.memref_bitcast" if is_bitcast else "tpu.memref_reshape"
    kind = memref_type(aval.shape, aval.dtype, ref.space)
    memref = builder.create(name, kind, (memref_of(builder, ref),))
    return ref_of(memref, aval.dtype, ref.space, aval.shape)


def viewed(
    builder: MosaicBuilder, ref: MosaicRef, transforms: Sequence[Any], types: dict[int, Any]
) -> MosaicRef:
    """Applies a chain of indices, shapes and dtypes to a reference."""
    for transform in transforms:
        if isinstance(transform, BitcastTransform | ReshapeTransform):
            ref = _bitcast_or_reshaped(builder, ref, transform)
            continue
        if not isinstance(transform, NDIndexer) or transform.int_indexer_shape:
            raise KernelLoweringError(
                f"the Mosaic lowering of kernels does not support the view {transform} of a "
                "reference, which must be read and written by integers and slices. Change the "
                "value read, or loop over the indices."
            )
        indices = iter(transform.indices)
        axes = []
        for axis in ref.axes:
            if not axis.kept:
                axes.append(axis)
                continue
            index = next(indices)
            if isinstance(index, Slice):
                start = _scaled(builder, _number(builder, index.start, types), axis.stride)
                axes.append(
                    Axis(index.size, _sum(builder, axis.start, start), axis.stride * index.stride)
                )
            else:
                if isinstance(index, int) and index < 0:
                    index += axis.size
                start = _scaled(builder, _number(builder, index, types), axis.stride)
                axes.append(Axis(1, _sum(builder, axis.start, start), 1, kept=False))
        ref = dataclasses.replace(ref, axes=tuple(axes))
    return ref


def _starts(builder: MosaicBuilder, ref: MosaicRef) -> list[Any]:
    return [builder.as_index(axis.start) for axis in ref.axes]


def _check_memory(ref: MosaicRef, verb: str) -> None:
    if ref.space not in ("vmem", "smem"):
        raise ValueError(
            f"Loads and stores are only allowed on VMEM and SMEM references, but a reference in "
            f"{ref.space} is {verb}. Copy it to vector memory with tpu.make_async_copy or "
            "tpu.sync_copy first."
        )
    if ref.space == "smem" and any(axis.kept for axis in ref.axes):
        raise ValueError(
            f"Can only {'load' if verb == 'read' else 'store'} scalars "
            f"{'from' if verb == 'read' else 'to'} SMEM, got a part of shape {ref.shape}; index it "
            "with integers."
        )


@dataclasses.dataclass(frozen=True)
class KeyWords:
    """The words of a random key, as scalars."""

    words: tuple[Any, ...]


def _load_key(builder: MosaicBuilder, ref: MosaicRef) -> KeyWords:
    if ref.shape:
        raise ValueError(f"keys must be loaded one by one, got an array of shape {ref.shape}")
    physical = ref.dtype.physical_element_aval()
    starts = _starts(builder, ref)
    words = []
    for position in np.ndindex(*physical.shape):
        index = [*starts, *(builder.index(coordinate) for coordinate in position)]
        words.append(
            builder.create("memref.load", element_type(physical.dtype), (ref.memref, *index))
        )
    return KeyWords(tuple(words))


def load_view(builder: MosaicBuilder, ref: MosaicRef) -> Any:
    """Loads the elements that a reference sees."""
    if dtypes.issubdtype(ref.dtype, dtypes.prng_key):
        return _load_key(builder, ref)
    _check_memory(ref, "read")
    stored = storage_dtype(ref.dtype)
    element = element_type(stored)
    starts = _starts(builder, ref)
    if ref.space == "smem":
        value = builder.create("memref.load", element, (ref.memref, *starts))
        return cast(builder, value, stored, ref.dtype)
    kind = builder.shaped_type([axis.size for axis in ref.axes], element)
    strides = [axis.stride for axis in ref.axes]
    if any(stride != 1 for stride in strides):
        value = builder.create(
            "tpu.strided_load", kind, (ref.memref, *starts), {"strides": i32_array(strides)}
        )
    else:
        value = builder.create("vector.load", kind, (ref.memref, *starts))
    value = builder.reshape(value, ref.shape)
    return cast(builder, value, stored, ref.dtype)


def store_view(builder: MosaicBuilder, ref: MosaicRef, value: Any, mask: Any = None) -> None:
    """Writes a value to the elements that a reference sees, where the mask is true."""
    _check_memory(ref, "written")
    value = cast(builder, value, ref.dtype, storage_dtype(ref.dtype))
    starts = _starts(builder, ref)
    if ref.space == "smem":
        builder.operation("memref.store", [], (value, ref.memref, *starts))
        return
    if not ref.shape:
        raise ValueError(
            "Cannot store scalars to VMEM: write a block of at least one element, such as "
            "ref[0:1, 0:1], or keep scalars in SMEM."
        )
    shape = [axis.size for axis in ref.axes]
    value = builder.reshape(value, shape)
    strides = [axis.stride for axis in ref.axes]
    if any(stride != 1 for stride in strides):
        if mask is not None:
            raise KernelLoweringError("stores with strides and masks have no Mosaic form")
        builder.operation(
            "tpu.strided_store",
            [],
            (value, ref.memref, *starts),
            {"strides": i32_array(strides)},
        )
        return
    operands = [value, ref.memref, *starts]
    if mask is not None:
        operands.append(builder.reshape(mask, shape))
    attributes = {
        "strides": i32_array(()),
        "operandSegmentSizes": i32_array((1, 1, len(starts), 0 if mask is None else 1)),
    }
    builder.operation("tpu.vector_store", [], operands, attributes)


# ---- rules ----


def _types(builder: MosaicBuilder, operands: Sequence[Any]) -> dict[int, Any]:
    return {
        id(operand): aval.dtype for operand, aval in zip(operands, builder.avals_in, strict=True)
    }


@mosaic_rules.define(references.get_p)
def _get(builder: MosaicBuilder, *operands: Any, tree: Any) -> Any:
    ref, *leaves = operands
    transforms = references.transforms_of(builder.with_known_indices(leaves, 1), tree)
    return load_view(builder, viewed(builder, ref, transforms, _types(builder, operands)))


@mosaic_rules.define(references.swap_p)
def _swap(builder: MosaicBuilder, *operands: Any, tree: Any) -> Any:
    ref, value, *leaves = operands
    transforms = references.transforms_of(builder.with_known_indices(leaves, 2), tree)
    view = viewed(builder, ref, transforms, _types(builder, operands))
    used = builder.equation.outvars[0] in builder.used
    previous = load_view(builder, view) if used else None
    store_view(builder, view, value)
    return previous


@mosaic_rules.define(references.addupdate_p)
def _addupdate(builder: MosaicBuilder, *operands: Any, tree: Any) -> list[Any]:
    ref, value, *leaves = operands
    transforms = references.transforms_of(builder.with_known_indices(leaves, 2), tree)
    view = viewed(builder, ref, transforms, _types(builder, operands))
    name = "arith.addf" if is_float(ref.dtype) else "arith.addi"
    store_view(builder, view, builder.binary(name, load_view(builder, view), value))
    return []


@mosaic_rules.define(load_p)
def _load(builder: MosaicBuilder, *operands: Any, args_tree: Any, **params: Any) -> Any:
    ref, _, mask, other = pytrees.tree_unflatten(args_tree, operands)
    transforms = pytrees.tree_unflatten(args_tree, builder.with_known_indices(operands))[1]
    value = load_view(builder, viewed(builder, ref, transforms, _types(builder, operands)))
    if mask is None:
        return value
    aval = builder.aval_out
    if other is None:
        other = builder.full(0, aval.shape, aval.dtype)
    elif aval.shape:
        other = builder.broadcast_to(other, aval.shape)
    return builder.create("arith.select", value.type, (mask, value, other))


@mosaic_rules.define(swap_p)
def _masked_swap(builder: MosaicBuilder, *operands: Any, args_tree: Any, **params: Any) -> Any:
    ref, _, value, mask = pytrees.tree_unflatten(args_tree, operands)
    transforms = pytrees.tree_unflatten(args_tree, builder.with_known_indices(operands))[1]
    view = viewed(builder, ref, transforms, _types(builder, operands))
    used = builder.equation.outvars[0] in builder.used
    previous = load_view(builder, view) if used else None
    store_view(builder, view, value, mask)
    return previous
