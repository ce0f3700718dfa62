# SPDX-License-Identifier: Apache-2.0
"""Indices of references, which select the elements to read or write."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..diagnostics.errors import NonConcreteBooleanIndexError
from ..programs.tracing import Tracer
from ..trees.pytree_registry import register_pytree_node_class
from ..types import dtypes
from ..types.arrays import Array
from ..types.avals import ShapedArray, get_aval
from . import windows

__all__ = ["NDIndexer", "Slice", "ds", "dslice"]


@register_pytree_node_class
class Slice:
    """Slice of fixed size whose start may be computed, in an index of an array or a reference.

    Args:
      start: the first index, an integer or a scalar array of integer dtype.
      size: the number of elements.
      stride: the distance between neighboring elements.

    Example:
      >>> Slice(1, 4)
      Slice(start=1, size=4, stride=1)
    """

    __slots__ = ("size", "start", "stride")
    # Pytrees of slices may have any leaves.
    start: Any
    size: Any
    _is_slice_of_size = True  # tells indices of arrays, which do not import this module

    def __init__(self, start: int | Array, size: int | Array, stride: int = 1) -> None:
        if isinstance(stride, int) and stride < 0:
            raise ValueError(f"stride must be >= 0, got {stride}")
        self.start = start
        self.size = size
        self.stride = stride

    @property
    def is_dynamic_start(self) -> bool:
        """True if the start is computed."""
        return not isinstance(self.start, int)

    @property
    def is_dynamic_size(self) -> bool:
        """True if the size is computed."""
        return not isinstance(self.size, int)

    @classmethod
    def from_slice(cls, bounds: slice, size: int) -> Slice:
        """Converts a Python slice of a dimension of ``size`` elements.

        Raises:
          ValueError: if the step is negative.
          TypeError: if the bounds are not integers.
        """
        for bound in (bounds.start, bounds.stop):
            if isinstance(bound, Tracer):
                raise TypeError(
                    f"the bounds of a slice of a reference must be known while tracing, got "
                    f"{bounds}; use `ds(start, size)` for a slice with a computed start."
                )
        start, stop, step = bounds.indices(size)
        if step < 1:
            raise ValueError(f"slice must have a step >= 1 (found: {step})")
        return cls(start, max((stop - start + step - 1) // step, 0), step)

    def tree_flatten(self) -> tuple[tuple, tuple]:
        # Known values are part of the structure; computed values are children.
        known = tuple([part if isinstance(part, int) else None for part in (self.start, self.size)])
        children = tuple(
            [None if isinstance(part, int) else part for part in (self.start, self.size)]
        )
        return children, (*known, self.stride)

    @classmethod
    def tree_unflatten(cls, known: tuple, children: tuple) -> Slice:
        start, size = (
            child if part is None else part for part, child in zip(known, children, strict=False)
        )
        new = object.__new__(cls)
        new.start, new.size, new.stride = start, size, known[2]
        return new

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slice) and (self.start, self.size, self.stride) == (
            other.start,
            other.size,
            other.stride,
        )

    def __hash__(self) -> int:
        return hash((self.start, self.size, self.stride))

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"


def dslice(
    start: int | np.integer | Array | None,
    size: int | Array | None = None,
    stride: int | None = None,
) -> slice | Slice:
    """Returns a slice with a start and a size, for indices of arrays and references.

    Args:
      start: the first index, which may be computed. Without ``size``, ``start`` is the size of a
        slice from the beginning. None selects a whole dimension.
      size: the number of elements.
      stride: the distance between neighboring elements, 1 if not given.

    Raises:
      ValueError: if ``start`` is None and a stride or size is given.

    Example:
      >>> ds(2, 8)
      Slice(start=2, size=8, stride=1)
    """
    if start is None:
        if size is not None or stride is not None:
            raise ValueError("a slice of a whole dimension has neither size nor stride")
        return slice(None)
    if size is None:
        if not isinstance(start, int):
            raise ValueError(f"a slice from the beginning needs an integer size, got {start!r}")
        return Slice(0, start, 1 if stride is None else stride)
    first = start if isinstance(start, int | Array) else _index_or_array(start)
    return Slice(first, size, 1 if stride is None else stride)


ds = dslice


@register_pytree_node_class
class NDIndexer:
    """Index of an array, with one entry for each dimension.

    The result's dimensions are in NumPy's order: the common dimensions of index arrays are at the
    position of the first index array, or come first if slices separate the index arrays.

    Attributes:
      indices: for each dimension a `Slice`, an integer (static or computed) or an array of
        integers.
      shape: the shape of the indexed array.
      int_indexer_shape: the common shape of the index arrays; () if there are none.
      validate: whether static indices have been checked against the shape.
    """

    __slots__ = ("indices", "int_indexer_shape", "shape", "validate")

    def __init__(
        self,
        indices: tuple,
        shape: tuple[int, ...],
        int_indexer_shape: tuple[int, ...] = (),
        validate: bool = False,
    ) -> None:
        self.indices = indices
        self.shape = shape
        self.int_indexer_shape = int_indexer_shape
        self.validate = validate
        if validate:
            self._check_bounds()

    @classmethod
    def from_indices_shape(
        cls, indices: Any, shape: tuple[int, ...], validate: bool = False
    ) -> NDIndexer:
        """Converts a user's index to an indexer.

        Args:
          indices: the index, as given in brackets.
          shape: the shape of the indexed array.
          validate: whether to check static indices against the shape.

        Raises:
          ValueError: there are too many indices, or static indices are out of bounds.
          TypeError: an index is not an integer, slice, `ds`, integer array or mask.
          NonConcreteBooleanIndexError: the values of a mask are not known.
        """
        complete = _complete(_without_masks(indices, shape), shape)
        normal = [_normal_index(index, size) for index, size in zip(complete, shape, strict=True)]
        array_shapes = [
            get_aval(index).shape  # type: ignore[attr-defined]
            for index in normal
            if not isinstance(index, Slice | int)
        ]
        try:
            common = np.broadcast_shapes(*array_shapes)
        except ValueError:
            raise ValueError(
                f"the index arrays of a reference must broadcast, got shapes {array_shapes}"
            ) from None
        if common:
            normal = [
                index if isinstance(index, Slice) else windows.spread(index, common)
                for index in normal
            ]
        return cls(tuple(normal), tuple(shape), tuple(common), validate)

    @classmethod
    def make_trivial_indexer(cls, shape: tuple[int, ...]) -> NDIndexer:
        """Returns the indexer that selects the whole array."""
        return cls(tuple([Slice(0, size) for size in shape]), tuple(shape))

    def _check_bounds(self) -> None:
        for index, size in zip(self.indices, self.shape, strict=True):
            if isinstance(index, Slice):
                start = known_integer(index.start)
                if start is None or index.is_dynamic_size:
                    continue
                if start + max(index.size - 1, 0) * index.stride >= size and index.size:
                    raise ValueError(
                        f"Out of bound slice: start={start}, size={index.size}, "
                        f"stride={index.stride}, dim={size}."
                    )
            else:
                position = known_integer(index)
                if position is not None and not -size <= position < size:
                    raise ValueError(f"Out of bound indexer: idx={position}, dim={size}.")

    # ---- the selected part ----

    @property
    def is_trivial(self) -> bool:
        """True if the index selects the whole array in order."""
        return all(
            isinstance(index, Slice)
            and index.stride == 1
            and not index.is_dynamic_start
            and index.start == 0
            and index.size == size
            for index, size in zip(self.indices, self.shape, strict=True)
        )

    def get_indexer_shape(self) -> tuple[int, ...]:
        """Returns the shape of the selected part."""
        return tuple([size for _, size in windows.layout(self)])

    def transform_type(self, aval: ShapedArray) -> ShapedArray:
        """Returns the type of the selected part of an array."""
        if aval.shape != self.shape:
            raise ValueError(f"an index of the shape {self.shape} was applied to {aval}")
        for index, size in zip(self.indices, self.shape, strict=True):
            if not isinstance(index, Slice):
                continue
            start = 0 if index.is_dynamic_start else index.start
            if start + (index.size - 1) * index.stride >= size > 0:
                raise ValueError(
                    f"Out of bound slice: start={start}, size={index.size}, "
                    f"stride={index.stride}, dim={size}."
                )
        if aval.layout is not None and not all(isinstance(i, Slice) for i in self.indices):
            raise TypeError(
                "sharded ref (array reference) can only be indexed by slices, not integers: "
                f"{self.pretty(str)} was applied to {aval.str_short()}"
            )
        return aval.update(shape=self.get_indexer_shape())

    def read(self, array: Any) -> Any:
        """Returns the selected part of an array."""
        return array if self.is_trivial else windows.read(array, self)

    def write(self, array: Any, value: Any) -> Any:
        """Returns the array with the selected part replaced."""
        return value if self.is_trivial else windows.write(array, self, value)

    def accumulate(self, array: Any, value: Any) -> Any:
        """Returns the array with a value added at the index; repeated indices accumulate."""
        return windows.accumulate(array, self, value)

    # ---- pytree: computed indices are the leaves ----

    def tree_flatten(self) -> tuple[list, tuple]:
        leaves, tree = _pytrees.tree_flatten(self.indices)
        return leaves, (tree, self.shape, self.int_indexer_shape)

    @classmethod
    def tree_unflatten(cls, structure: tuple, leaves: Sequence[Any]) -> NDIndexer:
        tree, shape, int_indexer_shape = structure
        return cls(_pytrees.tree_unflatten(tree, leaves), shape, int_indexer_shape)

    # ---- text ----

    def pretty(self, shown: Any) -> str:
        """Returns the text in an equation; ``shown`` returns the text of a computed index."""
        return f"[{','.join([_pretty_index(i, n, shown) for i, n in self._with_sizes()])}]"

    def _with_sizes(self) -> Any:
        return zip(self.indices, self.shape, strict=True)

    def __repr__(self) -> str:
        return (
            f"NDIndexer(indices={self.indices}, shape={self.shape}, "
            f"int_indexer_shape={self.int_indexer_shape}, validate={self.validate})"
        )


def known_integer(index: Any) -> int | None:
    """Returns the value of a scalar index; None if it is unknown."""
    if isinstance(index, int):
        return index
    if isinstance(index, Tracer):
        index = index.concrete_or_none()
    if index is None or getattr(index, "shape", ()) != ():
        return None
    try:
        return operator.index(index)
    except TypeError:
        return None


def _without_masks(indices: Any, shape: tuple[int, ...]) -> tuple:
    """Replaces each array of booleans by the indices of its true elements, one array a dimension.

    Raises:
      NonConcreteBooleanIndexError: the values of a mask are not known.
      IndexError: a mask has another shape than the dimensions that it selects from.
    """
    entries = indices if isinstance(indices, tuple) else (indices,)
    counts = [_dimensions_of(index) for index in entries]
    parts: list[Any] = []
    position = 0
    for index, count in zip(entries, counts, strict=True):
        if _is_mask(index):
            parts.extend(_true_places(index, shape[position : position + count]))
        else:
            parts.append(index)
        position += len(shape) - sum(counts) if index is Ellipsis else count
    return tuple(parts)


def _is_mask(index: Any) -> bool:
    dtype = np.asarray(index).dtype if isinstance(index, list) else getattr(index, "dtype", None)
    return dtype == np.bool_ and np.ndim(index) > 0


def _dimensions_of(index: Any) -> int:
    """Returns the number of dimensions of the reference that an entry of an index selects from."""
    if index is Ellipsis or index is None:
        return 0
    return np.ndim(index) if _is_mask(index) else 1


def _true_places(mask: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    known = mask.concrete_or_none() if isinstance(mask, Tracer) else mask
    if known is None:
        raise NonConcreteBooleanIndexError(mask)
    if np.shape(known) != shape:
        raise IndexError(
            f"boolean index did not match the dimensions of the reference: a mask of shape "
            f"{np.shape(known)} selects from dimensions of shape {shape}."
        )
    return np.nonzero(np.asarray(known))


def _complete(indices: Any, shape: tuple[int, ...]) -> tuple:
    """Expands the ellipsis, and adds missing indices: one index for each dimension."""
    if indices is None:
        indices = ()
    if not isinstance(indices, tuple):
        indices = (indices,)
    if any(index is None for index in indices):
        if indices == (None,):
            indices = ()
        else:
            raise ValueError(
                f"an index of a reference cannot add dimensions, got None among {indices}; add "
                "them to the value read."
            )
    positions = [position for position, index in enumerate(indices) if index is Ellipsis]
    if len(positions) > 1:
        raise ValueError("Only one ellipsis is supported.")
    if len(indices) - len(positions) > len(shape):
        raise ValueError(
            f"`indices` must not be longer than `shape`: indices={indices}, shape={shape}"
        )
    missing = (slice(None),) * (len(shape) - len(indices) + len(positions))
    if not positions:
        return (*indices, *missing)
    return (*indices[: positions[0]], *missing, *indices[positions[0] + 1 :])


def _normal_index(index: Any, size: int) -> Any:
    if isinstance(index, slice):
        return Slice.from_slice(index, size)
    if isinstance(index, Slice):
        return index
    return _index_or_array(index)


def _index_or_array(index: Any) -> Any:
    """Converts an index to an integer or an array of integers.

    A concrete scalar becomes a Python integer.
    """
    if type(index) is int:
        return index
    if isinstance(index, list):
        index = np.asarray(index)
    try:
        aval = get_aval(index)
    except TypeError:
        raise TypeError(
            f"an index of a reference must be an integer, a slice, `ds` or an array of integers, "
            f"got {index!r} of type {type(index).__name__}"
        ) from None
    dtype = aval.dtype  # type: ignore[attr-defined]
    if dtype == np.bool_ and isinstance(index, Tracer):
        raise NonConcreteBooleanIndexError(index)
    if not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(
            f"an index of a reference must be of integers, got {aval.str_short()}: {index!r}"
        )
    known = None if isinstance(index, Tracer) else known_integer(index)
    return index if known is None else known


def _pretty_index(index: Any, size: int, shown: Any) -> str:
    if not isinstance(index, Slice):
        return shown(index)
    if index.is_dynamic_start or index.is_dynamic_size:
        start = shown(index.start)
        length = shown(index.size) if index.is_dynamic_size else index.size
        return f"{start}:{start}+{length}"
    stop = index.start + index.size
    start = "" if index.start == 0 else str(index.start)
    return f"{start}:{'' if stop == size else stop}"


from ..trees import pytrees as _pytrees  # noqa: E402 - it registers its own nodes first
