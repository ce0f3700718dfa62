# SPDX-License-Identifier: Apache-2.0
"""Conversion of axes and other integer sequences given by users."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...diagnostics.errors import OlympusTypeError

__all__ = ["canonical_axis", "check_axis", "integer_axes", "integer_or_dim"]


def canonical_axis(axis: Any, ndim: int, name: str = "axis") -> int:
    """Returns an axis as a non-negative integer.

    Raises:
      TypeError: if ``axis`` is not an integer.
      AxisError: if ``axis`` is out of range. As in NumPy, this error is a ValueError and an
        IndexError.
    """
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(
            f"{name} {axis} is out of bounds for array of dimension {ndim}"
        )
    return axis + ndim if axis < 0 else axis


def integer_or_dim(value: Any, name: str = "") -> Any:
    """Converts a user's integer to a Python integer; returns a symbolic dimension unchanged.

    Args:
      value: the integer or dimension.
      name: the name of the argument in errors.

    Raises:
      TypeError: if ``value`` is neither an integer nor a symbolic dimension.
    """
    if hasattr(value, "_is_symbolic_dimension"):
        return value
    try:
        return operator.index(value)
    except TypeError as error:
        if not name or isinstance(error, OlympusTypeError):  # an error about a traced value
            raise
        raise TypeError(f"{name} must be an integer, got {value!r}") from None


def integer_axes(name: str, axes: Any) -> tuple[int, ...]:
    """Converts a user's axes to a tuple of Python integers.

    Raises:
      TypeError: if ``axes`` are not integers.
    """
    if axes.__class__ is tuple and all(axis.__class__ is int for axis in axes):
        return axes
    try:
        return tuple(integer_or_dim(axis) for axis in axes)
    except TypeError as error:
        if isinstance(error, OlympusTypeError):  # an error about a traced value
            raise
        raise TypeError(f"{name} must be a sequence of integers, got {axes!r}") from None


def check_axis(name: str, parameter: str, axis: int, operand: Any, ndim: int = -1) -> None:
    """Raises ValueError if a primitive's parameter is not an axis, or is negative.

    Args:
      name: the name of the primitive.
      parameter: the name of the parameter.
      axis: the value of the parameter.
      operand: the type of the operand.
      ndim: the number of axes; by default the rank of the operand.
    """
    count = operand.ndim if ndim < 0 else ndim
    if not 0 <= axis < count:
        raise ValueError(
            f"{name}: {parameter}={axis} is out of range for an operand of type "
            f"{operand.str_short(short_dtypes=True)}: it must be at least 0 and less than {count}"
        )
