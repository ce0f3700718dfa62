# SPDX-License-Identifier: Apache-2.0
"""Element types: the supported dtypes, their hierarchy, and canonicalization of users' dtypes.

The supported dtypes are NumPy's dtypes, those of ml_dtypes (bfloat16; floats of 8, 6 and 4 bits;
integers of 4, 2 and 1 bits) and extended dtypes. While 64-bit types are disabled,
`canonicalize_dtype` replaces them by their 32-bit counterparts.

`olympus_ir.types.promotion` defines how the dtypes of operands combine.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from ..diagnostics.user_warnings import warn_user
from ..settings.config_flags import ExplicitX64Mode, explicit_x64_dtypes
from ..settings.config_states import enable_x64
from ..settings.naming import naming
from .annotations import DTypeLike as DTypeLike
from .extended_dtypes import ExtendedDType, extended, float0, prng_key, refuse_float0

__all__ = [
    "DType",
    "DTypeLike",
    "ExtendedDType",
    "bfloat16",
    "canonicalize_dtype",
    "check_and_canonicalize_user_dtype",
    "check_integer_fits",
    "check_valid_dtype",
    "default_complex_dtype",
    "default_float_dtype",
    "default_int_dtype",
    "default_uint_dtype",
    "dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "is_extended",
    "is_python_scalar",
    "is_valid_dtype",
    "isdtype",
    "issubdtype",
    "itemsize_bits",
    "name_of",
    "numpy_scalar_types",
    "prng_key",
    "python_scalar_dtype",
    "python_scalar_types",
    "refuse_float0",
    "scalar_type_of",
    "short_name",
    "supports_inf",
    "tangent_dtype",
    "to_complex_dtype",
    "to_floating_dtype",
    "to_inexact_dtype",
    "to_numeric_dtype",
]

DType: TypeAlias = np.dtype | ExtendedDType
# Values that name a dtype. They may name extended dtypes, so they have no common base class.
DTypeArgument: TypeAlias = Any

bfloat16 = ml_dtypes.bfloat16


# --- The dtypes ----------------------------------------------------------------------------------


def _of_ml_dtypes(names: str) -> tuple[np.dtype, ...]:
    # Older releases of ml_dtypes lack the one-bit integers.
    return tuple(np.dtype(getattr(ml_dtypes, n)) for n in names.split() if hasattr(ml_dtypes, n))


def _of_numpy(names: str) -> tuple[np.dtype, ...]:
    return tuple(np.dtype(name) for name in names.split())


bool_dtype = np.dtype(np.bool_)
small_floats = _of_ml_dtypes(
    "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
)
small_signed = _of_ml_dtypes("int1 int2 int4")
small_unsigned = _of_ml_dtypes("uint1 uint2 uint4")
floats = (*small_floats, np.dtype(bfloat16), *_of_numpy("float16 float32 float64"))
signed_integers = (*small_signed, *_of_numpy("int8 int16 int32 int64"))
unsigned_integers = (*small_unsigned, *_of_numpy("uint8 uint16 uint32 uint64"))
complexes = _of_numpy("complex64 complex128")
numeric_dtypes = (bool_dtype, *signed_integers, *unsigned_integers, *floats, *complexes)

# Abstract scalar types of the dtypes of ml_dtypes. NumPy itself classifies these dtypes as void.
_ML_DTYPE_CATEGORY: dict[type, type] = {
    **{d.type: np.floating for d in (*small_floats, np.dtype(bfloat16))},
    **{d.type: np.signedinteger for d in small_signed},
    **{d.type: np.unsignedinteger for d in small_unsigned},
}

# Equal dtypes, such as longlong and int64, have a single representative.
representative: dict[Any, Any] = {d: d for d in numeric_dtypes}

# Maps 64-bit dtypes to their replacements while 64-bit types are disabled.
half_width: dict[np.dtype, np.dtype] = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
    )
}

python_scalar_types: tuple[type, ...] = (bool, int, float, complex)
_PYTHON_SCALAR_DTYPES: dict[type, np.dtype] = {
    bool: bool_dtype,
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}
# Scalar types of NumPy and ml_dtypes whose instances are valid operands.
numpy_scalar_types: frozenset[type] = frozenset(
    {d.type for d in numeric_dtypes} | {np.longlong, np.ulonglong, np.intc, np.uintc}
)


def is_extended(dtype: Any) -> bool:
    """Returns whether a dtype is extended, like the dtypes of typed random keys."""
    # The first test is several times faster, because the second class is abstract.
    return not isinstance(dtype, np.dtype) and isinstance(dtype, ExtendedDType)


def is_python_scalar(value: Any) -> bool:
    """Returns whether a value is a Python bool, int, float or complex, and not a NumPy scalar."""
    return type(value) in _PYTHON_SCALAR_DTYPES or (
        isinstance(value, python_scalar_types) and not isinstance(value, np.generic)
    )


def is_string_dtype(dtype: Any) -> bool:
    """Returns whether ``dtype`` is NumPy's dtype of strings of any length."""
    return isinstance(dtype, np.dtypes.StringDType)


def is_valid_dtype(dtype: Any) -> bool:
    """Returns whether arrays may have this dtype."""
    if isinstance(dtype, np.dtype):
        return dtype in representative or dtype == float0 or is_string_dtype(dtype)
    return isinstance(dtype, ExtendedDType)


def check_valid_dtype(dtype: Any) -> None:
    """Raises TypeError if arrays cannot have this dtype.

    Raises:
        TypeError: ``dtype`` is neither numeric nor extended.
    """
    if dtype not in representative and not is_valid_dtype(dtype):
        hint = ""
        if isinstance(dtype, np.dtype) and not dtype.isnative:
            hint = f" Convert to the native byte order, x.astype({dtype.newbyteorder('=').name!r})."
        raise TypeError(
            f"Arrays of dtype {dtype} are not supported: the dtype must be boolean, integer, "
            f"floating, complex or extended.{hint}"
        )


# --- Canonical dtypes ----------------------------------------------------------------------------

# Requests already seen, for disabled and for enabled 64-bit types.
_canonical: tuple[dict[Any, np.dtype], dict[Any, np.dtype]] = ({}, {})


def canonicalize_dtype(dtype: DTypeArgument, allow_extended_dtype: bool = False) -> Any:
    """Returns the dtype that an array gets if ``dtype`` is requested.

    Args:
        dtype: a dtype, a scalar type, or the name of a dtype.
        allow_extended_dtype: whether to return extended dtypes unchanged; otherwise they are
          refused.

    Returns:
        The dtype; while 64-bit types are disabled, the 32-bit counterpart of a 64-bit dtype.

    Example:
        >>> canonicalize_dtype("float64")
        dtype('float32')
    """
    known = _canonical[enable_x64.value]
    try:
        return known[dtype]
    except KeyError:
        pass
    if isinstance(dtype, ExtendedDType):
        if not allow_extended_dtype:
            raise ValueError(
                f"The extended dtype {dtype} was given where a numeric dtype is needed; pass "
                "allow_extended_dtype=True to accept it."
            )
        return dtype
    result = np.dtype(dtype)
    result = representative.get(result, result)
    if not enable_x64.value:
        result = half_width.get(result, result)
    known[dtype] = result
    return result


def check_and_canonicalize_user_dtype(
    dtype: DTypeArgument, function_name: str | None = None
) -> Any:
    """Returns the dtype for a user's ``dtype=`` argument.

    Python's types request the default width. The flag ``olympus_explicit_x64_dtypes`` determines
    the treatment of explicit 64-bit dtypes while 64-bit types are disabled.

    Args:
        dtype: the dtype given by the user.
        function_name: the user's function, for messages.

    Raises:
        TypeError: arrays cannot have this dtype.
        ValueError: the dtype has 64 bits, and the flag refuses such dtypes; or an array was given.
    """
    if isinstance(dtype, ExtendedDType):
        return dtype
    requested = dtype
    if type(dtype) is type and dtype in _PYTHON_SCALAR_DTYPES:
        return canonicalize_dtype(dtype)
    if (
        not isinstance(dtype, np.dtype | type | str)
        and hasattr(dtype, "__array__")
        and hasattr(dtype, "dtype")
    ):
        caller = f" of {function_name}" if function_name else ""
        raise ValueError(
            f"the argument dtype{caller} is an array, of dtype {name_of(dtype.dtype)}; "
            "use dtype=arr.dtype instead of dtype=arr."
        )
    dtype = np.dtype(dtype)
    dtype = representative.get(dtype, dtype)
    caller = f" in {function_name}" if function_name else ""
    if not is_valid_dtype(dtype):
        raise TypeError(
            f"OLYMPUS only supports number, bool, and string dtypes, got dtype {requested}{caller}."
        )
    if dtype not in half_width or enable_x64.value:
        return dtype
    mode = explicit_x64_dtypes.value
    if mode is ExplicitX64Mode.ALLOW:
        return dtype
    repair = (
        f"To use 64-bit types, set the {naming.module}_enable_x64 configuration option or the "
        f"environment variable {naming.module.upper()}_ENABLE_X64."
    )
    if mode is ExplicitX64Mode.ERROR:
        raise ValueError(
            f"Explicitly requested dtype {dtype.name} requested{caller} is not available. "
            f"{repair} Setting {naming.module}_explicit_x64_dtypes to 'allow' accepts such "
            "requests one by one."
        )
    narrow = half_width[dtype]
    warn_user(
        f"Explicitly requested dtype {dtype.name} requested{caller} is not available, and will be "
        f"truncated to dtype {narrow.name}. {repair}",
        UserWarning,
    )
    return narrow


def python_scalar_dtype(kind: type) -> np.dtype:
    """Returns the dtype of Python scalars of type bool, int, float or complex."""
    return canonicalize_dtype(_PYTHON_SCALAR_DTYPES[kind])


def default_int_dtype() -> np.dtype:
    """Returns the dtype of Python integers: int64, or int32 while 64-bit types are disabled."""
    return canonicalize_dtype(int)


def default_uint_dtype() -> np.dtype:
    """Returns the unsigned dtype of the same width as `default_int_dtype`."""
    return canonicalize_dtype(np.uint64)


def default_float_dtype() -> np.dtype:
    """Returns the dtype of Python floats: float64, or float32 while 64-bit types are disabled."""
    return canonicalize_dtype(float)


def default_complex_dtype() -> np.dtype:
    """Returns the dtype of Python complex numbers, twice as wide as `default_float_dtype`."""
    return canonicalize_dtype(complex)


def _bits(dtype: np.dtype) -> int:
    # The names of dtypes below one byte contain the width: int4, float6_e2m3fn.
    name = dtype.name.split("_")[0].lstrip("uintfloa")
    return int(name) if name.isdecimal() and int(name) < 8 else 8 * dtype.itemsize


_BITS: dict[Any, int] = {d: _bits(d) for d in numeric_dtypes}
_INTEGER_RANGES = {
    **{d: (-(1 << (_BITS[d] - 1)), (1 << (_BITS[d] - 1)) - 1) for d in signed_integers},
    **{d: (0, (1 << _BITS[d]) - 1) for d in unsigned_integers},
}


def check_integer_fits(value: int, dtype: np.dtype) -> None:
    """Raises OverflowError if the Python integer ``value`` does not fit into ``dtype``."""
    smallest, largest = _INTEGER_RANGES[dtype]
    if not smallest <= value <= largest:
        repair = "" if enable_x64.value else f" Enable 64-bit types with {enable_x64.shown_name}."
        raise OverflowError(
            f"Python int {value} too large to convert to {dtype.name}, which holds integers from "
            f"{smallest} to {largest}.{repair if dtype.itemsize == 4 else ''}"
        )


# --- The dtype of a value ------------------------------------------------------------------------


def dtype(x: Any, *, canonicalize: bool = False) -> Any:
    """Returns the dtype that ``x`` is, names, or has.

    Args:
        x: a dtype, a scalar type, a string, a Python scalar, or an array.
        canonicalize: whether to return the dtype of an array made from ``x``.

    Raises:
        TypeError: ``x`` has no dtype, or has a dtype that arrays cannot have.
        ValueError: ``x`` is None.

    Example:
        >>> dtype(np.ones(3))
        dtype('float64')
        >>> dtype(1.0, canonicalize=True)
        dtype('float32')
    """
    if x is None:
        raise ValueError("None is neither a dtype nor a value with a dtype.")
    if type(x) in _PYTHON_SCALAR_DTYPES:
        result: Any = _PYTHON_SCALAR_DTYPES[type(x)]
    elif isinstance(x, ExtendedDType):
        return x
    elif isinstance(x, type | str | np.dtype):
        if canonicalize:
            return check_and_canonicalize_user_dtype(x, "dtype")
        result = np.dtype(x)
    elif hasattr(x, "dtype"):
        result = x.dtype
        if isinstance(result, ExtendedDType):
            return result
    elif isinstance(x, python_scalar_types):
        result = next(
            _PYTHON_SCALAR_DTYPES[base] for base in type(x).__mro__ if base in _PYTHON_SCALAR_DTYPES
        )
    else:
        raise TypeError(
            f"Cannot determine the dtype of {x!r}, of type {type(x).__name__}: it is neither an "
            "array nor a scalar. Convert sequences with olympus.numpy.asarray first."
        )
    if not is_valid_dtype(result):
        check_valid_dtype(result)
    return canonicalize_dtype(result) if canonicalize else representative.get(result, result)


def scalar_type_of(x: Any) -> type:
    """Returns the Python type (bool, int, float or complex) of the elements of ``x``.

    Example:
        >>> scalar_type_of(np.float32(1))
        <class 'float'>
    """
    kind = dtype(x)
    if issubdtype(kind, np.bool_):
        return bool
    if issubdtype(kind, np.integer):
        return int
    if issubdtype(kind, np.floating):
        return float
    if issubdtype(kind, np.complexfloating):
        return complex
    raise TypeError(f"Elements of dtype {kind} have no corresponding Python type.")


# --- Relations -----------------------------------------------------------------------------------

_subdtype_answers: dict[tuple[Any, Any], bool] = {}


def issubdtype(a: DTypeArgument, b: DTypeArgument) -> bool:
    """Returns whether ``a`` is ``b`` or below it in the hierarchy of scalar types.

    The hierarchy extends NumPy's. The floats of ml_dtypes, such as bfloat16, are below
    ``np.floating``, the integers of ml_dtypes are below ``np.integer``, and extended dtypes are
    below `extended`.

    Args:
        a: a dtype or scalar type, which may be abstract.
        b: another dtype or scalar type.

    Example:
        >>> issubdtype(bfloat16, np.floating)
        True
    """
    try:
        return _subdtype_answers[a, b]
    except KeyError:
        answer = _subdtype_answers[a, b] = _issubdtype(a, b)
        return answer
    except TypeError:  # The value is not hashable, so it is not a dtype. NumPy raises the error.
        return _issubdtype(a, b)


def _scalar_type(x: Any) -> type:
    """Returns the scalar type, maybe abstract, that stands for ``x`` in NumPy's hierarchy."""
    if isinstance(x, ExtendedDType):
        return x.type
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    return np.dtype(x).type


def _issubdtype(a: Any, b: Any) -> bool:
    if isinstance(a, ExtendedDType) and isinstance(b, ExtendedDType):
        return a == b
    if isinstance(b, ExtendedDType):
        return False
    first, second = _scalar_type(a), _scalar_type(b)
    if first is second or issubclass(first, second):
        return True
    category = _ML_DTYPE_CATEGORY.get(first)
    return category is not None and issubclass(category, second)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda d: issubdtype(d, np.bool_),
    "signed integer": lambda d: issubdtype(d, np.signedinteger),
    "unsigned integer": lambda d: issubdtype(d, np.unsignedinteger),
    "integral": lambda d: issubdtype(d, np.integer),
    "real floating": lambda d: issubdtype(d, np.floating),
    "complex floating": lambda d: issubdtype(d, np.complexfloating),
    "numeric": lambda d: issubdtype(d, np.number),
}


def isdtype(dtype: DTypeArgument, kind: DTypeArgument | tuple[DTypeArgument, ...]) -> bool:
    """Returns whether ``dtype`` is of a kind, as defined by the array API standard.

    Args:
        dtype: the dtype.
        kind: a dtype, or one of ``"bool"``, ``"signed integer"``, ``"unsigned integer"``,
            ``"integral"``, ``"real floating"``, ``"complex floating"``, ``"numeric"``, or a tuple
            of these, which means any of these kinds.

    Example:
        >>> isdtype(np.float32, "real floating")
        True
    """
    resolved = dtype if isinstance(dtype, ExtendedDType) else np.dtype(dtype)
    for entry in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(entry, str) and entry in _KINDS:
            if _KINDS[entry](resolved):
                return True
        elif isinstance(entry, ExtendedDType):
            if resolved == entry:
                return True
        else:
            try:
                if isinstance(entry, tuple | list):
                    raise TypeError
                other = np.dtype(entry)
            except TypeError:
                if isinstance(entry, str):
                    raise ValueError(
                        f"isdtype: Unrecognized kind={entry!r} expected one of {list(_KINDS)}, or "
                        "a dtype"
                    ) from None
                raise TypeError(
                    f"isdtype: Expected kind to be a dtype, string, or tuple; got kind={entry!r}"
                ) from None
            if resolved == other:
                return True
    return False


_TANGENT_DTYPES = {
    **dict.fromkeys((bool_dtype, *signed_integers, *unsigned_integers, float0), float0),
    **{d: d for d in (*floats, *complexes)},
}


def tangent_dtype(dtype: DType) -> Any:
    """Returns the dtype of tangents: ``dtype`` for floats and complex numbers, else ``float0``."""
    try:
        return _TANGENT_DTYPES[dtype]
    except KeyError:
        return dtype.tangent_dtype if isinstance(dtype, ExtendedDType) else float0


_COMPLEX_OF = {np.dtype("float64"): complexes[1]}
_REAL_OF = {complexes[0]: np.dtype("float32"), complexes[1]: np.dtype("float64")}
_WIDE_INTEGERS = frozenset(_of_numpy("int64 uint64"))


def to_numeric_dtype(dtype: DTypeArgument) -> np.dtype:
    """Returns int32 for bool, and other dtypes unchanged."""
    dtype = np.dtype(dtype)
    return np.dtype("int32") if dtype == bool_dtype else representative.get(dtype, dtype)


def to_inexact_dtype(dtype: DTypeArgument) -> np.dtype:
    """Returns the dtype in which functions of floating-point numbers compute, given ``dtype``.

    Floating and complex dtypes are returned unchanged. The result is float64 for 64-bit integers,
    and float32 for other integers and bool.

    Example:
        >>> to_inexact_dtype(np.int8)
        dtype('float32')
    """
    dtype = np.dtype(dtype)
    if issubdtype(dtype, np.inexact):
        return representative.get(dtype, dtype)
    return np.dtype("float64") if dtype in _WIDE_INTEGERS else np.dtype("float32")


def to_floating_dtype(dtype: DTypeArgument) -> np.dtype:
    """Returns the floating dtype in which functions of real numbers compute, given ``dtype``.

    For a complex dtype, this is the dtype of the real part. For other dtypes, it is the result of
    `to_inexact_dtype`.
    """
    dtype = to_inexact_dtype(dtype)
    return _REAL_OF.get(dtype, dtype)


def to_complex_dtype(dtype: DTypeArgument) -> np.dtype:
    """Returns the complex dtype that can represent numbers of ``dtype``."""
    dtype = to_inexact_dtype(dtype)
    return dtype if dtype in _REAL_OF else _COMPLEX_OF.get(dtype, complexes[0])


# --- Limits and names ----------------------------------------------------------------------------


def _dtype_argument(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") and not isinstance(x, type) else np.dtype(x)


def finfo(dtype: DTypeArgument) -> np.finfo:
    """Returns the limits of a floating dtype, including those of ml_dtypes.

    Example:
        >>> float(finfo(bfloat16).eps)
        0.0078125
    """
    return ml_dtypes.finfo(_dtype_argument(dtype))


def iinfo(dtype: DTypeArgument) -> Any:
    """Returns the limits of an integer dtype, including those of ml_dtypes.

    Example:
        >>> iinfo("int4").max
        7
    """
    return ml_dtypes.iinfo(_dtype_argument(dtype) if not isinstance(dtype, int) else np.int64)


def itemsize_bits(dtype: DTypeArgument) -> int:
    """Returns the number of bits that an element takes on a device.

    Example:
        >>> itemsize_bits("int4")
        4
    """
    if dtype is None:
        raise ValueError("itemsize_bits needs a dtype, got None.")
    kind = dtype if isinstance(dtype, ExtendedDType) else np.dtype(dtype)
    try:
        return _BITS[kind]
    except KeyError:
        raise ValueError(f"Elements of dtype {kind} have no fixed number of bits.") from None


def supports_inf(dtype: DTypeArgument) -> bool:
    """Returns whether a floating or complex dtype can represent infinity."""
    return bool(np.isposinf(np.real(np.array(np.inf, np.float32).astype(np.dtype(dtype)))))


def name_of(dtype: DTypeArgument) -> str:
    """Returns the name shown in messages and programs, such as ``float32`` or ``key<fry>``."""
    return "float0" if dtype == float0 else dtype.name


_SHORT_NAMES: MappingProxyType[Any, str] = MappingProxyType(
    {
        d: d.name.replace("bfloat", "bf")
        .replace("float", "f")
        .replace("uint", "u")
        .replace("int", "i")
        .replace("complex", "c")
        for d in numeric_dtypes
    }
)


def short_name(dtype: DType) -> str:
    """Returns the short name, such as ``f32``, ``bf16``, ``u8``, ``c64`` or ``bool``."""
    return _SHORT_NAMES.get(dtype) or name_of(dtype)
