# SPDX-License-Identifier: Apache-2.0
"""Views of references as chains of transforms from the reference's array to the view.

A transform has the methods

- ``transform_type(aval)``: the type of the view of an array of type ``aval``;
- ``read(array)``: the view of an array;
- ``write(array, view)``: the array whose view is ``view``;
- ``pretty(shown)``: the transform's text in an equation, where ``shown(leaf)`` is the text of an
  operand;

and is registered as a node of pytrees, whose leaves are operands of the equation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..lax.elementwise.arithmetic import add
from ..lax.elementwise.conversion import bitcast_convert_type
from ..lax.shaping.rearrangement import reshape, transpose
from ..trees import pytrees
from ..trees.pytree_registry import register_pytree_node_class
from ..types import dtypes
from ..types.avals import ShapedArray, canonicalize_shape
from .indexing import NDIndexer

__all__ = [
    "BitcastTransform",
    "ReshapeTransform",
    "TransposeTransform",
    "accumulated",
    "read_view",
    "transformed_aval",
    "written",
]


class _StaticTransform:
    """Base of transforms that have no operands, but one static parameter.

    The parameter is part of the transform's pytree structure. There are no leaves.
    """

    __slots__ = ("_setting",)
    _field = ""

    def __init__(self, setting: Any) -> None:
        self._setting = setting

    def tree_flatten(self) -> tuple[tuple, tuple]:
        return (), (self._setting,)

    @classmethod
    def tree_unflatten(cls, setting: tuple, leaves: Sequence[Any]) -> Any:
        return cls(*setting)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._setting == other._setting  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._setting))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._field}={self._setting!r})"


@register_pytree_node_class
class ReshapeTransform(_StaticTransform):
    """Transform that reshapes to a shape with the same number of elements."""

    __slots__ = ()
    _field = "shape"

    @property
    def shape(self) -> tuple[int, ...]:
        return self._setting

    def transform_type(self, aval: ShapedArray) -> ShapedArray:
        if math.prod(self.shape) != math.prod(aval.shape):
            raise ValueError(
                f"Cannot reshape a reference of shape {aval.shape} to shape {self.shape}: the "
                "numbers of elements differ."
            )
        return aval.update(shape=self.shape)

    def read(self, array: Any) -> Any:
        return reshape(array, self.shape)

    def write(self, array: Any, view: Any) -> Any:
        return reshape(view, array.shape)

    def pretty(self, shown: Any) -> str:
        return f"{{reshape({list(self.shape)})}}"


@register_pytree_node_class
class TransposeTransform(_StaticTransform):
    """Transform that permutes the dimensions."""

    __slots__ = ()
    _field = "permutation"

    @property
    def permutation(self) -> tuple[int, ...]:
        return self._setting

    def transform_type(self, aval: ShapedArray) -> ShapedArray:
        if sorted(self.permutation) != list(range(len(aval.shape))):
            raise ValueError(
                f"{self.permutation} is not a permutation of the dimensions of a reference of "
                f"shape {aval.shape}"
            )
        return aval.update(shape=tuple([aval.shape[position] for position in self.permutation]))

    def read(self, array: Any) -> Any:
        return transpose(array, self.permutation)

    def write(self, array: Any, view: Any) -> Any:
        return transpose(view, np.argsort(self.permutation).tolist())

    def pretty(self, shown: Any) -> str:
        return f"{{transpose({list(self.permutation)})}}"


@register_pytree_node_class
class BitcastTransform(_StaticTransform):
    """Transform that reinterprets the bits of the elements as another dtype.

    If the widths of the dtypes differ, the second-to-last dimension changes size. For a vector, its
    only dimension changes size.
    """

    __slots__ = ()
    _field = "dtype"

    @property
    def dtype(self) -> Any:
        return self._setting

    def transform_type(self, aval: ShapedArray) -> ShapedArray:
        old, new = dtypes.itemsize_bits(aval.dtype), dtypes.itemsize_bits(self.dtype)
        if old == new:
            return aval.update(dtype=self.dtype, weak_type=False)
        axis = self._axis(aval.shape)
        bits = aval.shape[axis] * old
        if bits % new:
            raise ValueError(
                f"Cannot view a reference of type {aval.str_short()} as {self.dtype}: dimension "
                f"{axis} has {bits} bits, which is not a multiple of {new}."
            )
        shape = list(aval.shape)
        shape[axis] = bits // new
        return aval.update(shape=tuple(shape), dtype=self.dtype, weak_type=False)

    @staticmethod
    def _axis(shape: tuple[int, ...]) -> int:
        if not shape:
            raise ValueError("a reference to a scalar can only be viewed as a dtype of one width")
        return max(len(shape) - 2, 0)

    def read(self, array: Any) -> Any:
        return self._cast(array, self.dtype)

    def write(self, array: Any, view: Any) -> Any:
        return self._cast(view, array.dtype)

    def _cast(self, array: Any, dtype: Any) -> Any:
        old, new = dtypes.itemsize_bits(array.dtype), dtypes.itemsize_bits(dtype)
        if old == new:
            return bitcast_convert_type(array, dtype)
        axis = self._axis(array.shape)
        shape, ndim = array.shape, len(array.shape)
        if old > new:  # each element becomes several neighboring elements along the axis
            split = bitcast_convert_type(array, dtype)
            order = [*range(axis + 1), ndim, *range(axis + 1, ndim)]
            merged = (*shape[:axis], shape[axis] * (old // new), *shape[axis + 1 :])
            return reshape(transpose(split, order), merged)
        ratio = new // old
        split = reshape(array, (*shape[:axis], shape[axis] // ratio, ratio, *shape[axis + 1 :]))
        order = [*range(axis + 1), *range(axis + 2, ndim + 1), axis + 1]
        return bitcast_convert_type(transpose(split, order), dtype)

    def pretty(self, shown: Any) -> str:
        return f"{{bitcast({self.dtype})}}"


def reshape_of(shape: tuple[int, ...], args: tuple) -> ReshapeTransform:
    """Returns the transform for ``ref.reshape(*args)`` on a reference of a given shape."""
    if len(args) == 1 and not isinstance(args[0], int):
        (sizes,) = args
    else:
        sizes = args
    sizes = list(sizes)
    if -1 in sizes:
        rest = math.prod([size for size in sizes if size != -1])
        sizes[sizes.index(-1)] = math.prod(shape) // max(rest, 1)
    return ReshapeTransform(canonicalize_shape(sizes))


# ---- chains of transforms ----


def transformed_aval(aval: ShapedArray, transforms: Sequence[Any]) -> ShapedArray:
    """Returns the type of the view that results from a chain of transforms."""
    for transform in transforms:
        aval = transform.transform_type(aval)
    return aval


def read_view(array: Any, transforms: Sequence[Any]) -> Any:
    """Applies a chain of transforms to an array."""
    for transform in transforms:
        array = transform.read(array)
    return array


def written(array: Any, transforms: Sequence[Any], view: Any) -> Any:
    """Returns the array in which ``view`` replaces the view that a chain of transforms selects."""
    if not transforms:
        return view
    first, *rest = transforms
    if rest:
        view = written(first.read(array), rest, view)
    return first.write(array, view)


def accumulated(array: Any, transforms: Sequence[Any], value: Any) -> Any:
    """Returns the array with a value added to its view through a chain of transforms."""
    if not transforms:
        return add(array, value)
    first, *rest = transforms
    if not rest and isinstance(first, NDIndexer):
        return first.accumulate(array, value)
    view = accumulated(first.read(array), rest, value)
    return first.write(array, view)


def flatten_transforms(transforms: Sequence[Any]) -> tuple[list[Any], Any]:
    """Returns the operands and the structure (parameter ``tree``) of a chain of transforms."""
    leaves, tree = pytrees.tree_flatten(tuple(transforms))
    # Static indices have the same dtype whether 64-bit types are enabled or not.
    return [np.int32(leaf) if type(leaf) is int else leaf for leaf in leaves], tree


def unflatten_transforms(leaves: Sequence[Any], tree: Any) -> tuple:
    """Returns the chain of transforms with the given leaves."""
    return pytrees.tree_unflatten(
        tree, [int(leaf) if isinstance(leaf, np.integer) else leaf for leaf in leaves]
    )
