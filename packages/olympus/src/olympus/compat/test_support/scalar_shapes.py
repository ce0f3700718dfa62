# SPDX-License-Identifier: Apache-2.0
"""Shapes of test data: tuples, lengths, and two shapes that stand for scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "NUMPY_SCALAR_SHAPE",
    "PYTHON_SCALAR_SHAPE",
    "ScalarShape",
    "as_shape",
    "dimensions",
    "dtype_str",
    "format_shape_dtype_string",
    "is_valid_shape",
]


class ScalarShape:
    """Shape of a scalar that is not an array.

    Args:
      name: the name of the shape.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __len__(self) -> int:
        return 0

    def __getitem__(self, index: Any) -> Any:
        raise IndexError(f"{self._name} has no dimension {index}")

    def __repr__(self) -> str:
        return self._name


NUMPY_SCALAR_SHAPE = ScalarShape("NUMPY_SCALAR_SHAPE")
PYTHON_SCALAR_SHAPE = ScalarShape("PYTHON_SCALAR_SHAPE")


def dimensions(shape: Any) -> tuple[int, ...]:
    """Returns the dimensions of a shape.

    Example:
      >>> dimensions(3), dimensions([2, 3]), dimensions(PYTHON_SCALAR_SHAPE)
      ((3,), (2, 3), ())
    """
    if isinstance(shape, ScalarShape):
        return ()
    return tuple(shape) if isinstance(shape, Sequence | np.ndarray) else (shape,)


def as_shape(value: Any, shape: Any, dtype: Any) -> Any:
    """Returns an array as the kind of value that a shape stands for.

    Raises:
      ValueError: the array does not have this shape.
    """
    if shape is NUMPY_SCALAR_SHAPE:
        return np.dtype(dtype).type(value)
    if shape is PYTHON_SCALAR_SHAPE:
        return np.asarray(value).item()
    if np.shape(value) != dimensions(shape):
        raise ValueError(f"value has shape {np.shape(value)}, expected {dimensions(shape)}")
    return value


def is_valid_shape(shape: Any, dtype: Any) -> bool:
    """Returns whether values of a shape and dtype exist: Python's scalars have four dtypes.

    Example:
      >>> is_valid_shape(PYTHON_SCALAR_SHAPE, np.float32)
      False
    """
    if shape is not PYTHON_SCALAR_SHAPE:
        return True
    return np.dtype(dtype) == np.dtype(type(np.zeros((), dtype).item()))


def dtype_str(dtype: Any) -> str:
    """Returns the name of a dtype."""
    return np.dtype(dtype).name


def format_shape_dtype_string(shape: Any, dtype: Any) -> str:
    """Returns the text of a shape and a dtype.

    Example:
      >>> format_shape_dtype_string((2, 3), np.float32)
      'float32[2,3]'
    """
    name = dtype_str(dtype)
    if shape is NUMPY_SCALAR_SHAPE:
        return name
    if shape is PYTHON_SCALAR_SHAPE:
        return f"py{name}"
    if isinstance(shape, Sequence):
        return f"{name}[{','.join(map(str, shape))}]"
    return f"{name}[{shape}]" if isinstance(shape, np.ndarray) else f"{name}[{shape},]"
