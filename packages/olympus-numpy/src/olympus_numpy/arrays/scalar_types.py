# SPDX-License-Identifier: Apache-2.0
"""Scalar types such as `float32`, which name a dtype and make arrays of this dtype.

They compare equal to NumPy's scalar types and to dtypes, and ``np.dtype`` accepts them. A call
returns an array of rank 0, not a NumPy scalar.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from olympus_ir.diagnostics.traceback_filtering import filter_exception
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.promotion import promote_types
from olympus_ir.types.promotion import result_type as _result_type

from .creation import asarray

__all__ = [
    "ScalarType",
    "bfloat16",
    "bool_",
    "can_cast",
    "cdouble",
    "character",
    "complex64",
    "complex128",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "finfo",
    "flexible",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "float_",
    "floating",
    "generic",
    "iinfo",
    "inexact",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "isdtype",
    "issubdtype",
    "number",
    "object_",
    "promote_types",
    "result_type",
    "signedinteger",
    "single",
    "uint",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]


class ScalarType(type):
    """The type of scalar types. Each has a ``dtype`` and compares equal to NumPy's scalar type."""

    dtype: np.dtype

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        return (
            cls is other
            or cls.dtype.type is other
            or (isinstance(other, np.dtype) and cls.dtype == other)
            or (isinstance(other, ScalarType) and cls.dtype == other.dtype)
        )

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __call__(cls, x: ArrayLike) -> Array:
        try:  # as `api_boundary` does, without a call
            return asarray(x, dtype=cls.dtype)
        except Exception as error:
            filter_exception(error)
            raise

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


def _scalar_type(name: str, numpy_type: type) -> Any:
    dtype = np.dtype(numpy_type)
    namespace = {
        "dtype": dtype,
        "__module__": "olympus_numpy",
        "__doc__": f"Makes an array of dtype {dtype.name}, or names that dtype.",
    }
    return ScalarType(name, (object,), namespace)


bool_ = _scalar_type("bool", np.bool_)
int8 = _scalar_type("int8", np.int8)
int16 = _scalar_type("int16", np.int16)
int32 = _scalar_type("int32", np.int32)
int64 = _scalar_type("int64", np.int64)
uint8 = _scalar_type("uint8", np.uint8)
uint16 = _scalar_type("uint16", np.uint16)
uint32 = _scalar_type("uint32", np.uint32)
uint64 = _scalar_type("uint64", np.uint64)
float16 = _scalar_type("float16", np.float16)
bfloat16 = _scalar_type("bfloat16", ml_dtypes.bfloat16)
float32 = single = _scalar_type("float32", np.float32)
float64 = double = _scalar_type("float64", np.float64)
complex64 = csingle = _scalar_type("complex64", np.complex64)
complex128 = cdouble = _scalar_type("complex128", np.complex128)

# Types of at most eight bits. Older releases of ml_dtypes lack the one-bit integers.
int2 = _scalar_type("int2", ml_dtypes.int2)
int4 = _scalar_type("int4", ml_dtypes.int4)
uint2 = _scalar_type("uint2", ml_dtypes.uint2)
uint4 = _scalar_type("uint4", ml_dtypes.uint4)
float4_e2m1fn = _scalar_type("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float6_e2m3fn = _scalar_type("float6_e2m3fn", ml_dtypes.float6_e2m3fn)
float6_e3m2fn = _scalar_type("float6_e3m2fn", ml_dtypes.float6_e3m2fn)
float8_e3m4 = _scalar_type("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)
if hasattr(ml_dtypes, "int1"):
    int1 = _scalar_type("int1", ml_dtypes.int1)
    uint1 = _scalar_type("uint1", ml_dtypes.uint1)
    __all__ += ["int1", "uint1"]

# Types of the default width: 32 bits while 64-bit types are disabled.
int_ = int64
uint = uint64
float_ = float64
complex_ = complex128

# NumPy's abstract types, which are above the scalar types of this module in the hierarchy.
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
flexible = np.flexible
character = np.character
object_ = np.object_

dtype = np.dtype
finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Returns whether one dtype equals another or is below it in the hierarchy of scalar types.

    Args:
      arg1: a dtype or scalar type, maybe abstract.
      arg2: another dtype or scalar type.

    Returns:
      A bool.

    Example:
      >>> issubdtype(bfloat16, floating)
      True
    """
    return dtypes.issubdtype(arg1, arg2)


def result_type(*args: ArrayLike | DTypeLike) -> np.dtype:
    """Returns the dtype that an operation on the arguments computes in.

    Args:
      *args: arrays, scalars, dtypes and names of dtypes; None stands for the default floating
        dtype.

    Returns:
      The dtype of the result of an operation on all arguments.

    Raises:
      TypePromotionError: there is no common dtype.
      ValueError: there are no arguments.

    Example:
      >>> result_type(float32, 1), result_type(int8, uint8)
      (dtype('float32'), dtype('int16'))
    """
    return _result_type(*args)


isdtype = dtypes.isdtype


def can_cast(from_: ArrayLike | DTypeLike, to: DTypeLike, casting: str = "safe") -> bool:
    """Returns whether NumPy's casting rules allow a conversion between dtypes.

    Args:
      from_: a dtype, or an array that has one.
      to: a dtype.
      casting: ``"no"``, ``"equiv"``, ``"safe"``, ``"same_kind"`` or ``"unsafe"``.

    Returns:
      A bool.

    Example:
      >>> can_cast("int32", "float64"), can_cast("float64", "int32")
      (True, False)
    """
    source: Any = from_
    source = source.dtype if hasattr(source, "dtype") and not isinstance(source, type) else source
    kind: Any = casting
    return np.can_cast(np.dtype(source), np.dtype(to), casting=kind)
