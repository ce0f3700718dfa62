# SPDX-License-Identifier: Apache-2.0
"""Extended dtypes with a chosen dtype of tangents, and arrays built from a type and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..loading import deferred
from ..types import dtypes
from ..types.avals import ShapedArray, get_aval
from ..types.extended_arrays import ExtendedArray
from ..types.extended_dtypes import ExtendedDType, extended

if TYPE_CHECKING:
    from ..programs import mutable_types
else:
    mutable_types = deferred("..programs.mutable_types", milliseconds=0.7)

__all__ = ["EArray", "PrimalTangentDType", "cur_qdd", "primal_tangent_dtype"]


class primal_tangent_dtype_scalar(extended):
    """The abstract scalar type of the dtypes that `primal_tangent_dtype` makes."""


class PrimalTangentDType(ExtendedDType):
    """Extended dtype with the elements of one dtype and tangents of another dtype.

    Args:
      primal_dtype: the dtype of the elements.
      tangent_dtype: the dtype of their tangents.
      name: the printed name.
    """

    __slots__ = ("_name", "_tangent_dtype", "primal_dtype")

    type = primal_tangent_dtype_scalar

    def __init__(self, primal_dtype: Any, tangent_dtype: Any, name: str | None = None) -> None:
        self.primal_dtype = np.dtype(primal_dtype)
        self._tangent_dtype = np.dtype(tangent_dtype)
        self._name = name

    @property
    def name(self) -> str:
        if self._name is not None:
            return self._name
        names = (dtypes.short_name(dtype) for dtype in (self.primal_dtype, self._tangent_dtype))
        return f"PrimalTangentDType{{{'/'.join(names)}}}"

    def physical_element_aval(self) -> ShapedArray:
        return ShapedArray((), self.primal_dtype)

    @property
    def tangent_dtype(self) -> Any:
        return self._tangent_dtype

    def _key(self) -> tuple[Any, ...]:
        return (self.primal_dtype, self._tangent_dtype, self._name)

    def __eq__(self, other: object) -> bool:
        return type(other) is PrimalTangentDType and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((PrimalTangentDType, *self._key()))

    def __reduce__(self) -> tuple:
        return (PrimalTangentDType, self._key())


def primal_tangent_dtype(
    primal_dtype: Any, tangent_dtype: Any, name: str | None = None
) -> PrimalTangentDType:
    """Makes a dtype with the elements of one dtype and tangents of another dtype.

    Quantized values, stored as integers, can have floating-point tangents in this way.

    Args:
      primal_dtype: the dtype of the elements.
      tangent_dtype: the dtype of their tangents.
      name: the printed name.

    Example:
      >>> primal_tangent_dtype("int8", "float32")
      PrimalTangentDType{i8/f32}
    """
    return PrimalTangentDType(primal_dtype, tangent_dtype, name)


class _OfExtendedArrays(type(ExtendedArray)):
    """Metaclass that makes all arrays of extended dtypes instances of `EArray`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, ExtendedArray)


class EArray(ExtendedArray, metaclass=_OfExtendedArrays):
    """Array of an extended dtype, made from its type and its physical array.

    Args:
      aval: the type.
      data: the physical array that stores the elements.

    Example:
      >>> dtype = primal_tangent_dtype("int8", "float32")
      >>> EArray(ShapedArray((2,), dtype), np.zeros(2, np.int8)).shape
      (2,)
    """

    __slots__ = ()

    def __new__(cls, aval: ShapedArray, data: Any) -> Any:
        return ExtendedArray(data, aval)

    def __init__(self, aval: ShapedArray, data: Any) -> None:
        raise TypeError("EArray(aval, data) makes an array of the class of all extended dtypes")


def cur_qdd(x: Any) -> Any:
    """Returns the current type state of a mutable value.

    Args:
      x: a value of a type whose ``has_qdd`` is True. If the value has a method ``cur_qdd``, that
        method is called.

    Raises:
      TypeError: the type of the value has no state.
    """
    aval = get_aval(x)
    if not getattr(aval, "has_qdd", False):
        raise TypeError(
            f"a value of type {aval.str_short()} does not change; cur_qdd accepts only values of "
            "mutable hijax types"
        )
    return mutable_types.cur_qdd(x)
