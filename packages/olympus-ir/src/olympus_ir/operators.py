# SPDX-License-Identifier: Apache-2.0
"""Operators of arrays for use without olympus-numpy, which installs NumPy's operators.

The operators apply operations of `lax`. Both operands must have the same dtype. Their shapes must
be equal, except for scalars and sizes of one. A Python scalar is converted to the dtype of the
other operand if that dtype can represent it. Indices are integers, slices, None and the ellipsis.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import lax
from .lax.core.values import shape_of
from .programs.tracing import is_constant_dim
from .types import dtypes
from .types.arrays import Array, attach_methods
from .types.avals import is_valid_value

_RANKS = {bool: 0, int: 1, float: 2, complex: 3}


def _operand(value: Any, dtype: Any) -> Any:
    """Returns the second operand of an operator, given the dtype of the first.

    Converts a Python scalar to ``dtype`` if ``dtype`` can represent it.
    """
    kind = value.__class__
    if kind in _RANKS and not dtypes.is_extended(dtype):
        array_kind = dtypes.scalar_type_of(dtype)
        if _RANKS[kind] <= _RANKS[array_kind] and dtypes.python_scalar_dtype(kind) != dtype:
            return lax.convert_element_type(value, dtype)
    elif not is_constant_dim(value) and not dtypes.issubdtype(dtype, np.bool_):
        return lax.size_array(value, dtype)
    return value


def _binary(operation: Callable[[Any, Any], Any]) -> tuple[Callable, Callable]:
    """Returns the operator that applies an operation, and its reflected version."""

    def forward(self: Any, other: Any) -> Any:
        if not is_valid_value(other):
            return NotImplemented
        return operation(self, _operand(other, self.dtype))

    def reflected(self: Any, other: Any) -> Any:
        if not is_valid_value(other):
            return NotImplemented
        return operation(_operand(other, self.dtype), self)

    return forward, reflected


def _comparison(operation: Callable[[Any, Any], Any]) -> Callable:
    return _binary(operation)[0]


def _power(base: Any, exponent: Any) -> Any:
    if exponent.__class__ is int:
        return lax.integer_pow(base, exponent)
    return lax.pow(base, exponent)


def _pow(self: Any, exponent: Any) -> Any:
    if not is_valid_value(exponent):
        return NotImplemented
    if exponent.__class__ is not int:
        exponent = _operand(exponent, self.dtype)
    return _power(self, exponent)


def _matmul(lhs: Any, rhs: Any) -> Any:
    return lax.dot(lhs, rhs)


# ---- indexing ----


def _getitem(self: Any, index: Any) -> Any:
    """Returns the elements at an index of integers, slices, None and an ellipsis."""
    items = index if isinstance(index, tuple) else (index,)
    consumed = sum(item is not None and item is not Ellipsis for item in items)
    if consumed > self.ndim:
        raise IndexError(
            f"Too many indices: array is {self.ndim}-dimensional, but {consumed} were indexed"
        )
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not any(item is Ellipsis for item in items):
        items = (*items, Ellipsis)
    result, axis = self, 0
    for item in items:
        if item is Ellipsis:
            axis += self.ndim - consumed
        elif item is None:
            result = lax.expand_dims(result, (axis,))
            axis += 1
        elif isinstance(item, slice):
            result = _sliced(result, item, axis)
            axis += 1
        elif isinstance(item, int | np.integer) and not isinstance(item, bool):
            result = lax.index_in_dim(result, operator.index(item), axis, keepdims=False)
        elif isinstance(item, Array) and shape_of(item) == ():
            result = lax.dynamic_index_in_dim(result, item, axis, keepdims=False)
        else:
            raise TypeError(
                f"indices must be integers, slices, None or the ellipsis, got {item!r}; "
                "olympus-numpy adds NumPy's indexing by arrays"
            )
    return result


def _sliced(array: Any, item: slice, axis: int) -> Any:
    start, stop, step = item.indices(array.shape[axis])
    if step > 0:
        return lax.slice_in_dim(array, start, max(start, stop), step, axis)
    count = len(range(start, stop, step))
    last = start + (count - 1) * step if count else 0
    forward = lax.slice_in_dim(array, last, start + 1 if count else last, -step, axis)
    return lax.rev(forward, (axis,))


# ---- a few methods ----


def _astype(self: Any, dtype: Any) -> Any:
    """Returns the elements converted to another dtype."""
    return lax.convert_element_type(self, dtype)


def _sum(self: Any, axis: Any = None) -> Any:
    """Returns the sum over one axis, several axes, or all axes."""
    axes = range(self.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return lax.reduce_sum(self, tuple(operator.index(axis) % self.ndim for axis in axes))


def _reshape(self: Any, *shape: Any) -> Any:
    """Returns the elements in an array of another shape."""
    return lax.reshape(self, shape[0] if len(shape) == 1 else shape)


def _transposed(self: Any) -> Any:
    """Returns the array with its dimensions in reverse order."""
    return lax.transpose(self, tuple(reversed(range(self.ndim))))


def _operators() -> dict[str, Any]:
    methods: dict[str, Any] = {
        "__neg__": lax.neg,
        "__pos__": lambda self: self,
        "__abs__": lax.abs,
        "__invert__": lax.bitwise_not,
        "__pow__": _pow,
        "__rpow__": _binary(lax.pow)[1],
        "__eq__": _comparison(lax.eq),
        "__ne__": _comparison(lax.ne),
        "__lt__": _comparison(lax.lt),
        "__le__": _comparison(lax.le),
        "__gt__": _comparison(lax.gt),
        "__ge__": _comparison(lax.ge),
        "__getitem__": _getitem,
        "astype": _astype,
        "reshape": _reshape,
        "sum": _sum,
        "T": property(_transposed, doc=_transposed.__doc__),
    }
    for name, operation in {
        "add": lax.add,
        "sub": lax.sub,
        "mul": lax.mul,
        "truediv": lax.div,
        "and": lax.bitwise_and,
        "or": lax.bitwise_or,
        "xor": lax.bitwise_xor,
        "lshift": lax.shift_left,
        "rshift": lax.shift_right_arithmetic,
        "matmul": _matmul,
    }.items():
        methods[f"__{name}__"], methods[f"__r{name}__"] = _binary(operation)
    return methods


attach_methods(_operators())
