# SPDX-License-Identifier: Apache-2.0
"""Elementwise comparisons, logic and bit operations; equality and closeness of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.creation import asarray
from ..core.axes import canonical_axes, hashable_axes
from ..core.compilation import compiled, inlined, outlined, unless_default
from ..core.promotion import (
    check_arraylike,
    convert,
    ensure_array,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    scalar_like,
    spread,
)
from ..reductions.truth import all as all_of
from ..reductions.truth import all_along, any_along
from .ufunc import ufunc

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "equal",
    "greater",
    "greater_equal",
    "invert",
    "isclose",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "right_shift",
]

_bool = np.dtype(bool)


# ---- comparisons ----


@inlined()
def equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns whether elements are equal.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> bool(equal(1, 1.0))
      True
    """
    x, y, _ = promote_args.pair("equal", x, y)
    return lax.eq(x, y)


@inlined()
def not_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns whether elements differ.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> bool(not_equal(1, 2))
      True
    """
    x, y, _ = promote_args.pair("not_equal", x, y)
    return lax.ne(x, y)


def _compare(name: str, operation: Any, x: Any, y: Any) -> Any:
    """Compares two arrays elementwise; complex numbers compare in lexicographic order."""
    x, y, dtype = promote_args.pair(name, x, y)
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return operation(x, y)
    x_real, y_real = lax.real(x), lax.real(y)
    same = lax.eq(x_real, y_real)
    by_imaginary, by_real = operation(lax.imag(x), lax.imag(y)), operation(x_real, y_real)
    return lax.select(same, by_imaginary, by_real)


@inlined()
def less(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns whether ``x < y``, elementwise; complex numbers compare in lexicographic order.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> bool(less(1, 2))
      True
    """
    return _compare("less", lax.lt, x, y)


@inlined()
def less_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns whether ``x <= y``, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> bool(less_equal(2, 2))
      True
    """
    return _compare("less_equal", lax.le, x, y)


@inlined()
def greater(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns whether ``x > y``, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> bool(greater(1, 2))
      False
    """
    return _compare("greater", lax.gt, x, y)


@inlined()
def greater_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns whether ``x >= y``, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> bool(greater_equal(2, 2))
      True
    """
    return _compare("greater_equal", lax.ge, x, y)


# ---- logic ----


def truth(x: Any) -> Any:
    """Converts an array to booleans: numbers are true where they are not zero."""
    x = ensure_array(x)
    return x if x.dtype == np.bool_ else lax.ne(x, scalar_like(0, x))


def _logical(name: str, operation: Any, x: Any, y: Any) -> Any:
    x, y, dtype = promote_args.pair(name, x, y)
    if dtype is not _bool:
        x, y = truth(x), truth(y)
    return operation(x, y)


def _logical_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns whether both elements are true; numbers are true where they are not zero.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> bool(logical_and(1, 0))
      False
    """
    return _logical("logical_and", lax.bitwise_and, x, y)


def _logical_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns whether at least one element is true; numbers are true where they are not zero.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> bool(logical_or(1, 0))
      True
    """
    return _logical("logical_or", lax.bitwise_or, x, y)


def _logical_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns whether exactly one element is true; numbers are true where they are not zero.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> bool(logical_xor(1, 2))
      False
    """
    return _logical("logical_xor", lax.bitwise_xor, x, y)


def _reduce_all(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    result = all_along(a, axis, keepdims, where)
    return _with_initial(result, initial, lax.bitwise_and, dtype)


def _reduce_any(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    result = any_along(a, axis, keepdims, where)
    return _with_initial(result, initial, lax.bitwise_or, dtype)


def _with_initial(result: Any, initial: Any, combine: Any, dtype: Any) -> Any:
    if initial is not None:
        result = combine(result, spread(truth(initial), result.shape))
    return convert(result, _bool if dtype is None else dtype)


logical_and = ufunc(
    _logical_and,
    2,
    1,
    name="logical_and",
    identity=True,
    call=compiled(_logical_and, inline=True, name="logical_and"),
    reduce=_reduce_all,
)
logical_or = ufunc(
    _logical_or,
    2,
    1,
    name="logical_or",
    identity=False,
    call=compiled(_logical_or, inline=True, name="logical_or"),
    reduce=_reduce_any,
)
logical_xor = ufunc(
    _logical_xor,
    2,
    1,
    name="logical_xor",
    identity=False,
    call=compiled(_logical_xor, inline=True, name="logical_xor"),
)


@inlined()
def logical_not(x: ArrayLike, /) -> Array:
    """Returns whether elements are false; numbers are false where they are zero.

    Args:
      x: an array or scalar.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> bool(logical_not(0))
      True
    """
    check_arraylike("logical_not", x)
    return lax.bitwise_not(truth(x))


# ---- bits ----


def _bitwise_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns the bits set in both integers, elementwise; for booleans, whether both are true.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> bitwise_and(6, 3)
      Array(2, dtype=int32, weak_type=True)
    """
    x, y, _ = promote_args.pair("bitwise_and", x, y)
    return lax.bitwise_and(x, y)


def _bitwise_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns the bits set in at least one of two integers, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> bitwise_or(6, 3)
      Array(7, dtype=int32, weak_type=True)
    """
    x, y, _ = promote_args.pair("bitwise_or", x, y)
    return lax.bitwise_or(x, y)


def _bitwise_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns the bits set in exactly one of two integers, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> bitwise_xor(6, 3)
      Array(5, dtype=int32, weak_type=True)
    """
    x, y, _ = promote_args.pair("bitwise_xor", x, y)
    return lax.bitwise_xor(x, y)


def _reduction(name: str, operation: Any, combine: Any, identity: int) -> Any:
    """Returns the ``reduce`` method of a bitwise operation.

    Args:
      name: the name of the operation, for error messages.
      operation: the function that reduces an array along axes.
      combine: the operation of two arrays, which includes ``initial`` in the result.
      identity: the value that replaces elements excluded by ``where``.
    """

    def reduced(
        a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any = None, where: Any = None
    ) -> Any:
        check_arraylike(f"{name}.reduce", a)
        a = ensure_array(a)
        if a.dtype != _bool and not dtypes.issubdtype(a.dtype, np.integer):
            raise ValueError(
                f"{name}.reduce: integer argument required; got dtype={dtypes.name_of(a.dtype)}"
            )
        axes = canonical_axes(axis, a.ndim)
        a = convert(a, a.dtype if dtype is None else dtype)
        if where is not None:
            a = lax.select(
                spread(where, a.shape), a, lax.full_like(a, np.array(identity).astype(a.dtype))
            )
        result = operation(a, axes)
        if initial is not None:
            result = combine(result, spread(convert(initial, a.dtype), result.shape))
        return lax.expand_dims(result, axes) if keepdims else result

    call = compiled(reduced, ("axis", "dtype", "keepdims"), name=f"{name}_reduce")
    return lambda a, *, axis, dtype, keepdims, initial, where: call(
        a, hashable_axes(f"{name}.reduce", axis), dtype, keepdims, initial, where
    )


bitwise_and = ufunc(
    _bitwise_and,
    2,
    1,
    name="bitwise_and",
    identity=-1,
    call=compiled(_bitwise_and, inline=True, name="bitwise_and"),
    reduce=_reduction("bitwise_and", lax.reduce_and, lax.bitwise_and, -1),
)
bitwise_or = ufunc(
    _bitwise_or,
    2,
    1,
    name="bitwise_or",
    identity=0,
    call=compiled(_bitwise_or, inline=True, name="bitwise_or"),
    reduce=_reduction("bitwise_or", lax.reduce_or, lax.bitwise_or, 0),
)
bitwise_xor = ufunc(
    _bitwise_xor,
    2,
    1,
    name="bitwise_xor",
    identity=0,
    call=compiled(_bitwise_xor, inline=True, name="bitwise_xor"),
    reduce=_reduction("bitwise_xor", lax.reduce_xor, lax.bitwise_xor, 0),
)


@inlined()
def bitwise_not(x: ArrayLike, /) -> Array:
    """Returns integers with all bits inverted, and booleans negated.

    Args:
      x: an array or scalar.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> bitwise_not(0)
      Array(-1, dtype=int32, weak_type=True)
    """
    x, _ = promote_args.single("bitwise_not", x)
    return lax.bitwise_not(x)


bitwise_invert = invert = bitwise_not


@inlined()
def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns integers with their bits moved to the left, elementwise.

    Args:
      x: an array or scalar of integers.
      y: the number of bits to move by.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> left_shift(1, 3)
      Array(8, dtype=int32, weak_type=True)
    """
    x, y, _ = promote_args_numeric.pair("left_shift", x, y)
    return lax.shift_left(x, y)


bitwise_left_shift = left_shift


@inlined()
def right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns integers with their bits moved to the right; signed integers keep their sign.

    Args:
      x1: an array or scalar of integers.
      x2: the number of bits to move by.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> right_shift(-8, 1)
      Array(-4, dtype=int32, weak_type=True)
    """
    x1, x2, dtype = promote_args_numeric.pair("right_shift", x1, x2)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return lax.shift_right_logical(x1, x2)
    return lax.shift_right_arithmetic(x1, x2)


bitwise_right_shift = right_shift


@outlined()
def bitwise_count(x: ArrayLike, /) -> Array:
    """Counts the bits that are set in the absolute values of integers.

    Args:
      x: an array or scalar of integers.

    Returns:
      An array of the shape of ``x`` and of dtype uint8.

    Example:
      >>> bitwise_count(-7)
      Array(3, dtype=uint8)
    """
    x, dtype = promote_args.single("bitwise_count", x)
    if dtype is _bool:
        return convert(x, np.dtype(np.uint8))
    if dtypes.issubdtype(dtype, np.signedinteger):
        x = lax.abs(x)
    return convert(lax.population_count(x), np.dtype(np.uint8))


# ---- closeness and equality ----


# The default relative and absolute tolerances.
_RTOL, _ATOL = 1e-05, 1e-08


def _close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    rtol, atol = _RTOL if rtol is None else rtol, _ATOL if atol is None else atol
    check_arraylike("isclose", a, b, rtol, atol)
    a, b, dtype = promote_args.pair("isclose", a, b)
    if dtypes.is_extended(dtype):
        return lax.eq(a, b)
    if dtype is _bool:
        a, b = convert(a, dtypes.default_int_dtype()), convert(b, dtypes.default_int_dtype())
    a, b, dtype = promote_args_inexact.pair("isclose", a, b)
    real_dtype = dtypes.to_floating_dtype(dtype)
    rtol, atol = convert(rtol, real_dtype), convert(atol, real_dtype)
    distance = lax.abs(lax.sub(a, b))
    tolerance = lax.add(atol, lax.mul(rtol, lax.abs(b)))
    # An infinite tolerance must not make everything close. Infinities are close only if equal.
    close = lax.bitwise_and(_finite(b), lax.le(distance, tolerance))
    result = lax.bitwise_or(lax.eq(a, b), close)
    if equal_nan:
        both_nan = lax.bitwise_and(lax.ne(a, a), lax.ne(b, b))
        result = lax.bitwise_or(result, both_nan)
    return result


def _finite(x: Any) -> Any:
    if dtypes.issubdtype(ensure_array(x).dtype, np.complexfloating):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.is_finite(x)


_isclose = compiled(_close, ("equal_nan",), name="isclose")


def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = _RTOL,
    atol: ArrayLike = _ATOL,
    equal_nan: bool = False,
) -> Array:
    """Returns whether ``abs(a - b) <= atol + rtol * abs(b)``, elementwise.

    Args:
      a: an array or scalar.
      b: an array or scalar.
      rtol: the relative tolerance.
      atol: the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    Returns:
      A boolean array of the operands' broadcast shape.

    Example:
      >>> isclose(1.0, 1.000001)
      Array(True, dtype=bool)
    """
    rtol, atol = unless_default(rtol, _RTOL), unless_default(atol, _ATOL)
    return _isclose(a, b, rtol, atol, bool(equal_nan))


def _all_close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    return all_of(_isclose(a, b, rtol, atol, equal_nan))


_allclose = compiled(_all_close, ("equal_nan",), name="allclose")


def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = _RTOL,
    atol: ArrayLike = _ATOL,
    equal_nan: bool = False,
) -> Array:
    """Returns whether all elements are close.

    Args:
      a: an array or scalar.
      b: an array or scalar.
      rtol: the relative tolerance.
      atol: the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    Returns:
      A boolean array without dimensions.

    Example:
      >>> allclose(1.0, 1.000001)
      Array(True, dtype=bool)
    """
    rtol, atol = unless_default(rtol, _RTOL), unless_default(atol, _ATOL)
    return _allclose(a, b, rtol, atol, bool(equal_nan))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Returns whether two arrays have the same shape and equal elements.

    Args:
      a1: an array.
      a2: an array.
      equal_nan: whether NaN equals NaN.

    Returns:
      A boolean array without dimensions.

    Example:
      >>> from olympus_numpy import array
      >>> array_equal(array([1, 2]), array([1.0, 2.0]))
      Array(True, dtype=bool)
    """
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return asarray(False)
    same = equal(a1, a2)
    if equal_nan:
        same = logical_or(same, logical_and(not_equal(a1, a1), not_equal(a2, a2)))
    return all_of(same)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Returns whether two arrays have equal elements after broadcasting.

    Args:
      a1: an array.
      a2: an array.

    Returns:
      A boolean array without dimensions.

    Example:
      >>> from olympus_numpy import array
      >>> array_equiv(array([1, 1]), 1)
      Array(True, dtype=bool)
    """
    a1, a2 = asarray(a1), asarray(a2)
    try:
        same = equal(a1, a2)
    except (TypeError, ValueError):  # the shapes are incompatible
        return asarray(False)
    return all_of(same)
