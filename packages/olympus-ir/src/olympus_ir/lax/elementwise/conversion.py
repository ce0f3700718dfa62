# SPDX-License-Identifier: Apache-2.0
"""Conversions between dtypes, and identity operations that interpreters distinguish."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from ..._jaxlib import Sharding
from ...diagnostics.user_warnings import warn_user
from ...programs.expansion import expansion_rules
from ...programs.jit import number_rules
from ...programs.primitives import instruction
from ...programs.staging import StagingTrace, staging_rules
from ...programs.tracing import Tracer, current, evaluation_trace, is_constant_dim
from ...trees import pytrees
from ...types import dtypes
from ...types.annotations import DTypeLike
from ...types.avals import ShapedArray
from ...types.resharding import asked_sharding
from ...types.typed_scalars import typed, untyped_classes
from ..core.declarations import Anything, AnythingExtended, Floating, check_dtype, unary
from ..core.values import Array, ArrayLike, array_aval, as_array, typed_scalar

__all__ = [
    "bitcast_convert_type",
    "bitcast_convert_type_p",
    "convert_dtype",
    "convert_element_type",
    "convert_element_type_p",
    "copy",
    "copy_p",
    "dtype",
    "reduce_precision",
    "reduce_precision_p",
    "stage",
    "stage_p",
    "stop_gradient",
    "stop_gradient_p",
    "stored_p",
]

T = TypeVar("T")

convert_element_type_p = instruction("convert_element_type", family="elementwise")
convert_element_type_p.elementwise = True
convert_element_type_p.linear_in = True
bitcast_convert_type_p = instruction("bitcast_convert_type", family="elementwise")
reduce_precision_p = instruction("reduce_precision", family="elementwise")
reduce_precision_p.elementwise = True
reduce_precision_p.linear_in = True
copy_p = unary("copy", AnythingExtended, linear_in=True)
stage_p = unary("stage", AnythingExtended, linear_in=True)
# The result is the operand, stored in memory. Compilers do not compute it again for each use.
stored_p = unary("stored", AnythingExtended, linear_in=True)
expansion_rules.define(stored_p, lambda x: x)
stop_gradient_p = unary("stop_gradient", AnythingExtended)


def check_conversion(dtype: Any, new_dtype: Any) -> None:
    """Raises ValueError for a conversion that an extended dtype does not allow."""
    if dtype == new_dtype:
        return
    allowed = not dtypes.is_extended(dtype) or dtype.converts_to(new_dtype)
    if not allowed or (dtypes.is_extended(new_dtype) and not new_dtype.converts_from(dtype)):
        raise ValueError(
            f"Cannot convert_element_type from {dtypes.name_of(dtype)} to "
            f"{dtypes.name_of(new_dtype)}: elements of extended dtypes are not numbers. "
            "olympus.random.key_data and wrap_key_data convert keys."
        )


@convert_element_type_p.def_abstract_eval
def _convert_element_type_shape(
    operand: ShapedArray, *, new_dtype: Any, weak_type: bool, sharding: Any
) -> ShapedArray:
    check_conversion(operand.dtype, new_dtype)
    return operand.update(dtype=new_dtype, weak_type=weak_type)


@bitcast_convert_type_p.def_abstract_eval
def _bitcast_convert_type_shape(operand: ShapedArray, *, new_dtype: Any) -> ShapedArray:
    check_dtype("bitcast_convert_type", operand, Anything)
    old_dtype = operand.dtype
    if old_dtype != new_dtype and any(
        dtypes.issubdtype(dtype, np.bool_) or dtypes.issubdtype(dtype, np.complexfloating)
        for dtype in (old_dtype, new_dtype)
    ):
        raise TypeError(
            "lax.bitcast_convert_type does not support bool or complex values unless the operand "
            f"and destination types match. Got operand dtype={dtypes.name_of(old_dtype)}, "
            f"new_dtype={dtypes.name_of(new_dtype)}. Consider using the arr.view() method instead."
        )
    old_bits, new_bits = dtypes.itemsize_bits(old_dtype), dtypes.itemsize_bits(new_dtype)
    shape = operand.shape
    if old_bits > new_bits:
        shape = (*shape, old_bits // new_bits)
    elif old_bits < new_bits:
        if not shape or shape[-1] * old_bits != new_bits:
            raise ValueError(
                f"lax.bitcast_convert_type of {operand.str_short(short_dtypes=True)} to "
                f"{dtypes.name_of(new_dtype)} joins the elements of the last dimension, which "
                f"must be {new_bits // old_bits} elements of {old_bits} bits each to make "
                f"{new_bits}."
            )
        shape = shape[:-1]
    return ShapedArray.varying(shape, new_dtype, vma=operand.vma)


@reduce_precision_p.def_abstract_eval
def _reduce_precision_shape(
    operand: ShapedArray, *, exponent_bits: int, mantissa_bits: int
) -> ShapedArray:
    check_dtype("reduce_precision", operand, Floating)
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(
            f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}"
        )
    return operand


@staging_rules.define(convert_element_type_p)
def _convert_unless_alike(trace: StagingTrace, args: Sequence[Any], params: dict[str, Any]) -> Any:
    # A conversion to the operand's type is the identity.
    aval = array_aval(args[0])
    if (
        aval.dtype == params["new_dtype"]
        and aval.weak_type == params["weak_type"]
        and params["sharding"] is None
    ):
        return trace.tracer(args[0])
    return trace.record(convert_element_type_p, args, params)


@number_rules.define(convert_element_type_p)
def _converted_number(number: Any, *, new_dtype: Any, weak_type: bool, sharding: Any) -> Any:
    value = np.asarray(number).astype(new_dtype)
    return value.item() if weak_type else value[()]


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Converts the elements to another dtype.

    Floats become integers by truncation; complex numbers become real by dropping the imaginary
    part. No equation is recorded if the operand has the dtype already or is a constant scalar.

    Args:
      operand: an array or scalar.
      new_dtype: the dtype or its name.

    Returns:
      An array of the operand's shape and the new dtype.

    Raises:
      ValueError: if one of the dtypes is extended, such as a dtype of random keys.

    Example:
      >>> from olympus_ir import lax
      >>> lax.convert_element_type(2.7, "int32")
      Array(2, dtype=int32)
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(new_dtype, "convert_element_type")
    if isinstance(operand, complex) and not dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(
            f"convert_element_type: the complex number {operand} has no value of dtype "
            f"{dtypes.name_of(dtype)}; convert its real part"
        )
    if _loses_imaginary_part(operand, dtype):
        warn_user(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
        )
    try:
        return as_array(convert_dtype(operand, dtype))
    except OverflowError:
        return as_array(convert_dtype(in_64_bits(operand), dtype))


def _loses_imaginary_part(operand: Any, dtype: np.dtype) -> bool:
    if isinstance(operand, np.generic):
        return False  # the conversion by NumPy issues the warning
    return getattr(getattr(operand, "dtype", None), "kind", "") == "c" and dtype.kind not in "cb"


def in_64_bits(number: Any) -> np.ndarray:
    """Returns a large Python integer as a NumPy integer of 64 bits.

    The conversion of the result to a narrower integer dtype keeps the low bits.

    Raises:
      OverflowError: if the number has more than 64 bits.
    """
    result = np.asarray(number)
    if result.dtype == object:
        raise OverflowError(f"Python int {number} too large to convert to an integer of 64 bits")
    return result


_PYTHON_SCALARS = frozenset({bool, int, float, complex})


def convert_dtype(
    operand: ArrayLike,
    new_dtype: DTypeLike | None = None,
    weak_type: bool = False,
    sharding: Sharding | None = None,
) -> Any:
    """Converts to a canonical dtype, like `convert_element_type`, and sets the weak type.

    While tracing, a constant scalar is converted without an equation. The result is a literal
    of the equations that use it.

    Args:
      operand: an array or scalar.
      new_dtype: the dtype; if None, the operand's dtype.
      weak_type: whether the result is weakly typed, so that promotion prefers the dtypes of other
        operands.
      sharding: the sharding of the result; if None, the operand's sharding.

    Example:
      >>> print(convert_dtype(np.arange(3), np.dtype("float32")))
      [0. 1. 2.]
    """
    try:
        aval = operand.aval if isinstance(operand, Tracer) else array_aval(operand)
    except OverflowError:
        if new_dtype is None or not dtypes.issubdtype(new_dtype, np.inexact):
            raise
        large_integer: Any = operand
        return convert_dtype(float(large_integer), new_dtype, weak_type, sharding)
    plain = not dtypes.is_extended(new_dtype)
    if not aval.shape and plain and not isinstance(operand, Array) and sharding is None:
        dtype = aval.dtype if new_dtype is None else new_dtype
        check_conversion(aval.dtype, dtype)
        if operand.__class__ not in _PYTHON_SCALARS and not is_constant_dim(operand):
            number = operand.dimension_as_value()  # type: ignore[union-attr]  # of a symbolic dimension
            return convert_dtype(number, dtype, weak_type)
        return typed_scalar(operand, dtype, weak_type)
    if new_dtype is None:
        new_dtype = aval.dtype
    if aval.dtype == new_dtype and aval.weak_type is weak_type and sharding is None:
        return as_array(operand)
    return convert_element_type_p.bind(
        operand,
        new_dtype=new_dtype,
        weak_type=weak_type,
        sharding=asked_sharding(sharding, "convert_element_type"),
    )


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Reinterprets the bits of the elements as elements of another dtype.

    Args:
      operand: an array or scalar.
      new_dtype: the dtype. A narrower dtype adds a last dimension to the result. A wider dtype
        consumes the last dimension of the operand.

    Returns:
      An array of the new dtype, with the operand's shape if both dtypes have the same number of
      bits.

    Raises:
      TypeError: if only one of the dtypes is bool or complex.
      ValueError: if the last dimension does not have the size that one wider element needs, or
        ``new_dtype`` is None.

    Example:
      >>> from olympus_ir import lax
      >>> hex(lax.bitcast_convert_type(1.0, "uint32"))
      '0x3f800000'
    """
    if new_dtype is None:
        raise ValueError("bitcast_convert_type: dtype must be specified.")
    dtype = dtypes.check_and_canonicalize_user_dtype(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Rounds the elements to a floating-point format with fewer bits, without changing the dtype.

    Args:
      operand: an array or scalar of floats.
      exponent_bits: the bits of the format's exponent, at least one.
      mantissa_bits: the bits of its mantissa, without the implicit leading 1.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      TypeError: if the operand's dtype is not a float dtype.
      ValueError: if ``exponent_bits`` is not positive or ``mantissa_bits`` is negative.

    Example:
      >>> from olympus_ir import lax
      >>> lax.reduce_precision(1.2, exponent_bits=8, mantissa_bits=3)
      Array(1.25, dtype=float32, weak_type=True)
    """
    return reduce_precision_p.bind(
        operand,
        exponent_bits=operator.index(exponent_bits),
        mantissa_bits=operator.index(mantissa_bits),
    )


def copy(x: ArrayLike) -> Array:
    """Copies an array.

    Args:
      x: an array or scalar.

    Returns:
      An array of the same elements in newly allocated memory.

    Example:
      >>> from olympus_ir import lax
      >>> lax.copy(2.0)
      Array(2., dtype=float32, weak_type=True)
    """
    return copy_p.bind(x)


@staging_rules.define(stage_p)
def _lifted(trace: StagingTrace, args: Sequence[Any], params: dict[str, Any]) -> Any:
    # The program only needs a tracer of the value, so no equation is recorded.
    return trace.tracer(args[0])


def stage(x: ArrayLike, /) -> Array:
    """Converts a value to a tracer of the program that is being traced.

    Outside of tracing, converts the value to an array.

    Args:
      x: an array or scalar.

    Returns:
      The same value.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> make_olympuspr(lambda: lax.stage(2))()
      { lambda ; . let  in (2:i32[],) }
    """
    return stage_p.bind(x)


def dtype(x: ArrayLike) -> np.dtype[Any]:
    """Returns the dtype of a value or type. Python scalars have the default dtype of their type.

    Args:
      x: an array, a scalar, or an abstract value.

    Returns:
      A NumPy dtype.

    Example:
      >>> from olympus_ir import lax
      >>> lax.dtype(1.0)
      dtype('float32')
    """
    return dtypes.dtype(x, canonicalize=True)


def stop_gradient(x: T) -> T:
    """Returns its argument unchanged. Differentiation treats the result as a constant.

    Args:
      x: an array or a pytree of arrays.

    Returns:
      A pytree of the structure of ``x``.

    Example:
      >>> from olympus_ir import lax
      >>> lax.stop_gradient(2.0)
      TypedFloat(2.0, dtype=float32)
    """
    return pytrees.tree_map(_stop_gradient, x)


def _stop_gradient(x: Any) -> Array:
    # Elements of extended dtypes have no tangents.
    if dtypes.is_extended(getattr(x, "dtype", None)):
        return x
    if current.trace is evaluation_trace:
        if isinstance(x, Array):
            return x
        if x.__class__ is bool or x.__class__ in untyped_classes:
            return typed(x)
    return stop_gradient_p.bind(x)
