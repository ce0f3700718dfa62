# SPDX-License-Identifier: Apache-2.0
"""Python numbers with a dtype.

Python numbers that pass through a differentiated function or a custom rule become instances of
these classes. They remain Python numbers, which are hashable and may be static. Programs may read
their ``dtype``, as for arrays. As operands they behave like plain numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .avals import ShapedArray, get_aval

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "typed", "untyped_classes"]


class TypedInt(int):
    """A Python integer with a dtype.

    Example:
      >>> TypedInt(2, np.dtype("int32")) + 1
      3
    """

    dtype: np.dtype

    def __new__(cls, value: int, dtype: np.dtype) -> TypedInt:
        self = super().__new__(cls, value)
        self.dtype = dtype
        return self

    def __repr__(self) -> str:
        return f"TypedInt({int(self)}, dtype={self.dtype.name})"

    __str__ = int.__repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return TypedInt, (int(self), self.dtype)

    @property
    def aval(self) -> ShapedArray:
        """The abstract value."""
        return get_aval(self)


class TypedFloat(float):
    """A Python float with a dtype.

    Example:
      >>> TypedFloat(2.0, np.dtype("float32")).dtype
      dtype('float32')
    """

    dtype: np.dtype

    def __new__(cls, value: float, dtype: np.dtype) -> TypedFloat:
        self = super().__new__(cls, value)
        self.dtype = dtype
        return self

    def __repr__(self) -> str:
        return f"TypedFloat({float(self)}, dtype={self.dtype.name})"

    __str__ = float.__repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return TypedFloat, (float(self), self.dtype)

    @property
    def aval(self) -> ShapedArray:
        """The abstract value."""
        return get_aval(self)


class TypedComplex(complex):
    """A Python complex number with a dtype.

    Example:
      >>> TypedComplex(2j, np.dtype("complex64"))
      TypedComplex(2j, dtype=complex64)
    """

    dtype: np.dtype

    def __new__(cls, value: complex, dtype: np.dtype) -> TypedComplex:
        self = super().__new__(cls, value)
        self.dtype = dtype
        return self

    def __repr__(self) -> str:
        return f"TypedComplex({complex(self)}, dtype={self.dtype.name})"

    __str__ = complex.__repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return TypedComplex, (complex(self), self.dtype)

    @property
    def aval(self) -> ShapedArray:
        """The abstract value."""
        return get_aval(self)


_TYPED: dict[type, Any] = {int: TypedInt, float: TypedFloat, complex: TypedComplex}

untyped_classes = frozenset((*_TYPED, np.ndarray, *np.sctypeDict.values()))
"""The classes of values that `typed` may replace."""


def typed(value: Any) -> Any:
    """Returns a Python number with its dtype, or a NumPy array with its canonical dtype.

    NumPy scalars become arrays without dimensions.

    Other values are returned unchanged. Booleans have only one dtype, and all other values in
    programs already have a dtype.

    Args:
      value: a value.

    Raises:
      OverflowError: an integer does not fit into its dtype.

    Example:
      >>> typed(1), typed(1.5), typed(True), typed(np.ones(2)).dtype
      (TypedInt(1, dtype=int32), TypedFloat(1.5, dtype=float32), True, dtype('float32'))
    """
    kind = value.__class__
    make = _TYPED.get(kind)
    if make is not None:
        dtype = dtypes.python_scalar_dtype(kind)
        if kind is int:
            dtypes.check_integer_fits(value, dtype)
        return make(value, dtype)
    if isinstance(value, np.generic):
        value, kind = np.asarray(value), np.ndarray
    if kind is np.ndarray:
        dtype = dtypes.canonicalize_dtype(value.dtype)
        return value if dtype == value.dtype else value.astype(dtype)
    return value
