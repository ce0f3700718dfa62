# SPDX-License-Identifier: Apache-2.0
"""Classes of scalars and arrays that know their dtype.

JAX makes some constants such; OLYMPUS makes none. Libraries that treat them specially, or make
them, find the classes here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.types.avals import ShapedArray, register_value_type

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "TypedNdArray", "full_lower"]


class TypedInt(int):
    """A Python integer that knows its dtype."""

    dtype: np.dtype

    def __new__(cls, value: int, dtype: np.dtype) -> TypedInt:
        self = super().__new__(cls, value)
        self.dtype = dtype
        return self


class TypedFloat(float):
    """A Python float that knows its dtype."""

    dtype: np.dtype

    def __new__(cls, value: float, dtype: np.dtype) -> TypedFloat:
        self = super().__new__(cls, value)
        self.dtype = dtype
        return self


class TypedComplex(complex):
    """A Python complex number that knows its dtype."""

    dtype: np.dtype

    def __new__(cls, value: complex, dtype: np.dtype) -> TypedComplex:
        self = super().__new__(cls, value)
        self.dtype = dtype
        return self


TypedNdArray = np.ndarray


def _typed_aval(value: Any) -> ShapedArray:
    return ShapedArray((), value.dtype)


for _type in (TypedInt, TypedFloat, TypedComplex):
    register_value_type(_type, _typed_aval)


def full_lower(val: Any) -> Any:
    """Returns a value unchanged: OLYMPUS has no tracers of constants."""
    return val
