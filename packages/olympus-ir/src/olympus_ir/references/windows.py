# SPDX-License-Identifier: Apache-2.0
"""Reading and writing the part of an array that an `NDIndexer` selects, by `lax` functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..lax.core.values import dtype_of, shape_of
from ..lax.elementwise.arithmetic import add, mul
from ..lax.elementwise.conversion import convert_element_type
from ..lax.elementwise.logic import lt, select_n
from ..lax.indexing.gathering import GatherDimensionNumbers, gather
from ..lax.indexing.scattering import ScatterDimensionNumbers, scatter, scatter_add
from ..lax.indexing.slicing import dynamic_slice, dynamic_update_slice
from ..lax.indexing.slicing import slice as slice_array
from ..lax.shaping.broadcasting import broadcast_in_dim, expand_dims
from ..lax.shaping.creation import iota
from ..lax.shaping.rearrangement import concatenate, reshape, squeeze, transpose

if TYPE_CHECKING:
    from .indexing import NDIndexer


def _is_slice(index: Any) -> bool:
    return hasattr(index, "stride") and hasattr(index, "start")


def spread(index: Any, shape: tuple[int, ...]) -> Any:
    """Broadcasts an index array or an integer to the common shape of all index arrays."""
    index_shape = shape_of(index)
    if index_shape == shape:
        return index
    if not index_shape and not hasattr(index, "dtype"):
        index = np.int32(index)
    offset = len(shape) - len(index_shape)
    kept = [
        position for position, size in enumerate(index_shape) if size == shape[offset + position]
    ]
    if len(kept) < len(index_shape):
        index = reshape(index, tuple([index_shape[position] for position in kept]))
    return broadcast_in_dim(index, shape, tuple([offset + position for position in kept]))


def layout(indexer: NDIndexer) -> list[tuple[Any, int]]:
    """Returns a pair of label and size for each dimension of the selected part.

    A label is the index of a sliced dimension, or ``("array", i)`` for dimension i of the index
    arrays.
    """
    slices = [
        (dimension, index.size)
        for dimension, index in enumerate(indexer.indices)
        if _is_slice(index)
    ]
    common = indexer.int_indexer_shape
    if not common:
        return slices
    arrays = [(("array", position), size) for position, size in enumerate(common)]
    positions = [position for position, index in enumerate(indexer.indices) if not _is_slice(index)]
    if positions != list(range(positions[0], positions[-1] + 1)):
        return [*arrays, *slices]
    before = [pair for pair in slices if pair[0] < positions[0]]
    return [*before, *arrays, *slices[len(before) :]]


def _is_window(indexer: NDIndexer) -> bool:
    """Returns whether an index has no index arrays, so that it selects one block of the array."""
    return not indexer.int_indexer_shape


def read(array: Any, indexer: NDIndexer) -> Any:
    """Returns the part of an array that an index selects."""
    if not _is_window(indexer):
        return _gathered(array, indexer)
    indices = indexer.indices
    starts = [index.start if _is_slice(index) else index for index in indices]
    strides = [index.stride if _is_slice(index) else 1 for index in indices]
    sizes = [index.size if _is_slice(index) else 1 for index in indices]
    spans = [(size - 1) * stride + 1 if size else 0 for size, stride in zip(sizes, strides)]
    if all(isinstance(start, int) for start in starts):
        starts = _known_starts(indexer, starts, spans)
        limits = [start + span for start, span in zip(starts, spans)]
        array = slice_array(array, starts, limits, strides if max(strides, default=1) > 1 else None)
    else:
        array = dynamic_slice(array, _of_one_dtype(starts), spans)
        if max(strides, default=1) > 1:
            array = slice_array(array, (0,) * len(spans), spans, strides)
    return squeeze(array, [d for d, index in enumerate(indices) if not _is_slice(index)])


def _known_starts(indexer: NDIndexer, starts: list, spans: list[int]) -> list[int]:
    """Returns nonnegative starts, clamped so the slices lie within the array."""
    return [
        min(max(start + size if start < 0 else start, 0), size - span)
        for start, size, span in zip(starts, indexer.shape, spans, strict=True)
    ]


def _of_one_dtype(starts: list[Any]) -> list[Any]:
    """Converts static and computed starts to a common dtype, as `dynamic_slice` requires."""
    computed = [dtype_of(start) for start in starts if not isinstance(start, int)]
    dtype = max(computed, key=lambda dtype: dtype.itemsize, default=np.dtype(np.int32))
    return [
        np.asarray(start, dtype)
        if isinstance(start, int)
        else start
        if dtype_of(start) == dtype
        else convert_element_type(start, dtype)
        for start in starts
    ]


def write(array: Any, indexer: NDIndexer, value: Any) -> Any:
    """Returns a copy of the array in which ``value`` replaces the indexed part."""
    indices = indexer.indices
    if not _is_window(indexer) or any(_is_slice(i) and i.stride != 1 for i in indices):
        return _scattered(scatter, array, indexer, value)
    starts = [index.start if _is_slice(index) else index for index in indices]
    value = expand_dims(value, [d for d, index in enumerate(indices) if not _is_slice(index)])
    return dynamic_update_slice(array, value, _of_one_dtype(starts))


def accumulate(array: Any, indexer: NDIndexer, value: Any) -> Any:
    """Returns the array with a value added at an index; repeated indices accumulate."""
    if indexer.is_trivial:
        return add(array, value)
    if not _is_window(indexer):
        return _scattered(scatter_add, array, indexer, value)
    return write(array, indexer, add(read(array, indexer), value))


# ---- reads and writes by index vectors ----


def _gathered(array: Any, indexer: NDIndexer) -> Any:
    vectors, mapped, labels, window = _index_vectors(indexer)
    if not mapped:
        return array
    batch = len(shape_of(vectors)) - 1
    collapsed = [d for d in range(len(indexer.shape)) if d not in window]
    sizes = [window.get(d, 1) for d in range(len(indexer.shape))]
    numbers = GatherDimensionNumbers(
        tuple(range(batch, batch + len(window))), tuple(collapsed), tuple(mapped)
    )
    result = gather(array, vectors, numbers, sizes, mode="clip")
    expected = [label for label, _ in layout(indexer)]
    order = [labels.index(label) for label in expected]
    return result if order == list(range(len(order))) else transpose(result, order)


def _scattered(operation: Any, array: Any, indexer: NDIndexer, value: Any) -> Any:
    vectors, mapped, labels, window = _index_vectors(indexer)
    batch = len(shape_of(vectors)) - 1
    inserted = [d for d in range(len(indexer.shape)) if d not in window]
    numbers = ScatterDimensionNumbers(
        tuple(range(batch, batch + len(window))), tuple(inserted), tuple(mapped)
    )
    own_labels = [label for label, _ in layout(indexer)]
    order = [own_labels.index(label) for label in labels]
    if order != list(range(len(order))):
        value = transpose(value, order)
    return operation(array, vectors, value, numbers)


def _index_vectors(indexer: NDIndexer) -> tuple[Any, list[int], list, dict[int, int]]:
    """Returns index vectors for `gather` and `scatter`.

    Slices with stride 1 become windows; slices with other strides become indices.

    Returns:
      The index vectors, the indexed dimension that each of their components refers to, the labels
      (see `layout`) of the dimensions of the gathered array, and the window sizes by dimension.
    """
    batch: list[tuple[Any, int]] = [
        (("array", position), size) for position, size in enumerate(indexer.int_indexer_shape)
    ]
    window: dict[int, int] = {}
    for dimension, index in enumerate(indexer.indices):
        if _is_slice(index):
            if index.stride == 1:
                window[dimension] = index.size
            else:
                batch.append((dimension, index.size))
    shape = tuple([size for _, size in batch])
    labels = [label for label, _ in batch]
    components = []
    mapped = []
    num_array_dims = len(indexer.int_indexer_shape)
    for dimension, (index, size) in enumerate(zip(indexer.indices, indexer.shape, strict=True)):
        if not _is_slice(index):
            place = _from_start(index, size)
            dims = tuple(range(num_array_dims)) if shape_of(place) else ()
        elif index.stride != 1:
            steps = mul(iota(np.int32, index.size), np.int32(index.stride))
            place = add(steps, _as_index(_from_start(index.start, size)))
            dims = (labels.index(dimension),)
        elif index.size == size and isinstance(index.start, int):
            continue
        else:
            place = _from_start(index.start, size)
            dims = ()
        components.append(broadcast_in_dim(_as_index(place), (*shape, 1), dims))
        mapped.append(dimension)
    labels += list(window)
    return concatenate(components, len(shape)), mapped, labels, window


def _as_index(value: Any) -> Any:
    if isinstance(value, int):
        return np.int32(value)
    return value if dtype_of(value) == np.int32 else convert_element_type(value, np.int32)


def _from_start(index: Any, size: int) -> Any:
    """Converts an index that may be negative to an index counted from the start."""
    if isinstance(index, int):
        return index + size if index < 0 else index
    dtype = dtype_of(index)
    if dtype.kind == "u":
        return index
    return select_n(lt(index, np.zeros((), dtype)), index, add(index, np.asarray(size, dtype)))
