# SPDX-License-Identifier: Apache-2.0
"""`Lengths`: true and padded sizes of symbolic dimensions, and masks of the valid elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..symbolic.expressions import SymbolicDim, evaluate
from ..types import dtypes
from ..types.avals import ShapedArray

__all__ = ["Lengths", "is_symbolic"]


def is_symbolic(shape: Sequence[Any]) -> bool:
    """Returns whether a shape has a symbolic dimension."""
    return any(isinstance(size, SymbolicDim) for size in shape)


def _modulo(x: Any, y: Any) -> Any:
    return lax.rem(lax.add(lax.rem(x, y), y), y)


def _floor_divide(x: Any, y: Any) -> Any:
    return lax.div(lax.sub(x, _modulo(x, y)), y)


class _Size:
    """An int32 scalar with the operators that evaluate a symbolic size.

    The scalar is the value of a dimension variable or of an expression.
    """

    __slots__ = ("scalar",)

    def __init__(self, scalar: Any) -> None:
        self.scalar = scalar

    def __add__(self, other: Any) -> _Size:
        return _Size(lax.add(self.scalar, _int32(other)))

    def __mul__(self, other: Any) -> _Size:
        return _Size(lax.mul(self.scalar, _int32(other)))

    __radd__ = __add__
    __rmul__ = __mul__


def _int32(size: Any) -> Any:
    return size.scalar if isinstance(size, _Size) else np.int32(size)


def _of_sizes(operation: Callable[..., Any]) -> Callable[..., _Size]:
    return lambda x, y: _Size(operation(_int32(x), _int32(y)))


# The operations that occur in symbolic sizes.
_ARITHMETIC = {
    "floordiv": _of_sizes(_floor_divide),
    "mod": _of_sizes(_modulo),
    "max": _of_sizes(lax.max),
    "min": _of_sizes(lax.min),
}


class Lengths:
    """The sizes of the dimensions of a program whose arrays are padded.

    Args:
      values: the true values of the dimension variables: int32 scalars. Equations that count
        elements, such as `lax.true_positions`, add the variables that they define.
    """

    __slots__ = ("variables",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.variables: dict[str, Any] = dict(values)

    def inner(self) -> Lengths:
        """Returns a copy for a nested program, which may define variables of its own."""
        return Lengths(self.variables)

    def capacity(self, dimension: Any) -> int:
        """Returns the size of a dimension in padded arrays: the upper bound of its true size.

        Raises:
          NotImplementedError: the dimension has no upper bound.
        """
        if not isinstance(dimension, SymbolicDim):
            return dimension
        _, upper = dimension.bounds()
        if upper == math.inf:
            raise NotImplementedError(
                f"the size {dimension} has no known upper bound, so no padded array can hold it"
            )
        return max(int(upper), 0)

    def shape(self, shape: Sequence[Any]) -> tuple[int, ...]:
        """Returns the padded shape."""
        return tuple(map(self.capacity, shape))

    def value(self, dimension: Any) -> Any:
        """Returns the true size: a Python integer, or an int32 scalar of the running program."""
        if not isinstance(dimension, SymbolicDim):
            return dimension
        unknown = dimension.variables() - self.variables.keys()
        if unknown:
            raise NotImplementedError(
                f"the size {dimension} depends on {', '.join(sorted(unknown))}, which is counted "
                "inside of a loop or a branch: arrays of this size cannot leave it"
            )
        sizes = {name: _Size(value) for name, value in self.variables.items()}
        return evaluate(dimension, sizes, _ARITHMETIC).scalar

    def positions(self, shape: Sequence[Any], axis: int) -> Any:
        """Returns the positions along an axis, in an int32 array of the padded shape."""
        return lax.broadcasted_iota(np.int32, self.shape(shape), axis)

    def valid(self, shape: Sequence[Any], axes: Sequence[int] | None = None) -> Any:
        """Returns the mask of the valid elements; None if all elements are valid.

        Args:
          shape: the symbolic shape.
          axes: the axes along which padding is masked; all by default.
        """
        mask = None
        for axis in range(len(shape)) if axes is None else axes:
            if isinstance(shape[axis], SymbolicDim):
                inside = lax.lt(self.positions(shape, axis), self._spread(shape, axis))
                mask = inside if mask is None else lax.bitwise_and(mask, inside)
        return mask

    def _spread(self, shape: Sequence[Any], axis: int) -> Any:
        return lax.broadcast(self.value(shape[axis]), self.shape(shape))

    def filled(
        self, x: Any, aval: ShapedArray, value: Any, axes: Sequence[int] | None = None
    ) -> Any:
        """Returns a padded array whose padding along some axes is replaced by a value.

        Args:
          x: the padded array.
          aval: the type of the array, with the symbolic shape.
          value: a scalar.
          axes: the axes; all by default.
        """
        mask = self.valid(aval.shape, axes)
        if mask is None:
            return x
        return lax.select(mask, x, lax.full_like(x, value))

    def guarded(self, x: Any, aval: ShapedArray) -> Any:
        """Returns a padded array that blocks the cotangents of its padding.

        Padding may be computed from valid elements, for example by broadcasting. Its cotangents may
        be any values, even NaN, and must not be added to the cotangents of these elements.
        """
        if not dtypes.issubdtype(aval.dtype, np.inexact):
            return x
        mask = self.valid(aval.shape)
        return x if mask is None else lax.select(mask, x, lax.stop_gradient(x))
