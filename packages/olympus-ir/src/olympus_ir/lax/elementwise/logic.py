# SPDX-License-Identifier: Apache-2.0
"""Elementwise comparisons, bitwise operations, and selections."""

from __future__ import annotations

import numpy as np

from ...diagnostics.errors import ShapeError
from ...programs.primitives import instruction
from ...types import dtypes
from ...types.avals import ShapedArray
from ..core.declarations import (
    AnythingExtended,
    Integer,
    IntegerOrBool,
    Ordered,
    binary,
    check_same_dtypes,
    common_placement,
    fixed_dtype,
    result_weak_type,
    unary,
)
from ..core.values import Array, ArrayLike

__all__ = [
    "and_p",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clamp",
    "clamp_p",
    "clz",
    "clz_p",
    "eq",
    "eq_p",
    "eq_to_p",
    "ge",
    "ge_p",
    "gt",
    "gt_p",
    "le",
    "le_p",
    "le_to_p",
    "lt",
    "lt_p",
    "lt_to_p",
    "mulhi",
    "mulhi_p",
    "ne",
    "ne_p",
    "not_p",
    "or_p",
    "population_count",
    "population_count_p",
    "select",
    "select_n",
    "select_n_p",
    "shift_left",
    "shift_left_p",
    "shift_right_arithmetic",
    "shift_right_arithmetic_p",
    "shift_right_logical",
    "shift_right_logical_p",
    "xor_p",
]

_boolean = fixed_dtype(np.bool_)

eq_p = binary("eq", AnythingExtended, result=_boolean, numpy_name="equal")
ne_p = binary("ne", AnythingExtended, result=_boolean, numpy_name="not_equal")
lt_p = binary("lt", Ordered, result=_boolean, numpy_name="less")
le_p = binary("le", Ordered, result=_boolean, numpy_name="less_equal")
gt_p = binary("gt", Ordered, result=_boolean, numpy_name="greater")
ge_p = binary("ge", Ordered, result=_boolean, numpy_name="greater_equal")
# Comparisons in the total order of floats: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
eq_to_p = binary("eq_to", Ordered, result=_boolean)
lt_to_p = binary("lt_to", Ordered, result=_boolean)
le_to_p = binary("le_to", Ordered, result=_boolean)
and_p = binary("and", IntegerOrBool, numpy_name="bitwise_and")
or_p = binary("or", IntegerOrBool, numpy_name="bitwise_or")
xor_p = binary("xor", IntegerOrBool, numpy_name="bitwise_xor")
not_p = unary("not", IntegerOrBool)
mulhi_p = binary("mulhi", Integer)
shift_left_p = binary("shift_left", Integer, numpy_name="left_shift")
shift_right_logical_p = binary("shift_right_logical", Integer)
shift_right_arithmetic_p = binary("shift_right_arithmetic", Integer, numpy_name="right_shift")
population_count_p = unary("population_count", Integer)
clz_p = unary("clz", Integer)
clamp_p = instruction("clamp", family="elementwise")
select_n_p = instruction("select_n", family="elementwise")
select_n_p.linear_in = (1, 2)  # linear in all cases together, even if there are more than two


@clamp_p.def_abstract_eval
def _clamp_shape(minimum: ShapedArray, operand: ShapedArray, maximum: ShapedArray) -> ShapedArray:
    avals = (minimum, operand, maximum)
    check_same_dtypes("clamp", avals, "clip")
    for name, bound in (("min", minimum), ("max", maximum)):
        if bound.shape and bound.shape != operand.shape:
            raise ShapeError(
                f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got "
                f"{name}.shape={bound.shape}, operand.shape={operand.shape}. olympus.numpy.clip "
                "broadcasts."
            )
    return ShapedArray(
        operand.shape, operand.dtype, result_weak_type(avals), **common_placement(avals)
    )


@select_n_p.def_abstract_eval
def _select_n_shape(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise ValueError("select_n() must have at least one case")
    if dtypes.issubdtype(which.dtype, np.bool_):
        if cases[2:]:
            raise TypeError(
                "select with boolean `which` cannot have > 2 cases. Use integers to choose among "
                f"more, got {len(cases)} cases."
            )
    elif not dtypes.issubdtype(which.dtype, np.integer):
        raise TypeError(
            f"select `which` must be boolean or integer type, got {dtypes.name_of(which.dtype)}."
        )
    shapes = [case.shape for case in cases]
    if any(shape != shapes[0] for shape in shapes):
        raise ShapeError(
            f"select cases must have the same shapes, got {shapes}. olympus.numpy.where broadcasts."
        )
    check_same_dtypes("select", cases, "where")
    if which.shape and which.shape != shapes[0]:
        raise ShapeError(
            "select `which` must be scalar or have the same shape as cases, got `which` shape "
            f"{which.shape} but case shape {shapes[0]}."
        )
    placement = common_placement((*cases, which) if which.shape else cases)
    return ShapedArray(shapes[0], cases[0].dtype, result_weak_type(cases), **placement)


# ---- comparisons ----


def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """Returns whether ``x == y``, element by element.

    Args:
      x: an array or scalar.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of booleans of the operands' common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.eq(1, 2)
      Array(False, dtype=bool, weak_type=True)
    """
    return eq_p.bind(x, y)


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """Returns whether ``x != y``, element by element.

    Args:
      x: an array or scalar.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of booleans of the operands' common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.ne(1, 2)
      Array(True, dtype=bool, weak_type=True)
    """
    return ne_p.bind(x, y)


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """Returns whether ``x < y``, element by element.

    Args:
      x: an array or scalar of real numbers.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of booleans of the operands' common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.lt(1, 2)
      Array(True, dtype=bool, weak_type=True)
    """
    return lt_p.bind(x, y)


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """Returns whether ``x <= y``, element by element.

    Args:
      x: an array or scalar of real numbers.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of booleans of the operands' common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.le(2, 2)
      Array(True, dtype=bool, weak_type=True)
    """
    return le_p.bind(x, y)


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """Returns whether ``x > y``, element by element.

    Args:
      x: an array or scalar of real numbers.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of booleans of the operands' common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.gt(1, 2)
      Array(False, dtype=bool, weak_type=True)
    """
    return gt_p.bind(x, y)


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """Returns whether ``x >= y``, element by element.

    Args:
      x: an array or scalar of real numbers.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of booleans of the operands' common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.ge(2, 2)
      Array(True, dtype=bool, weak_type=True)
    """
    return ge_p.bind(x, y)


# ---- bits ----


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes the bits that are set in both ``x`` and ``y``.

    Args:
      x: an array or scalar of integers or booleans.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.bitwise_and(6, 3)
      Array(2, dtype=int32, weak_type=True)
    """
    return and_p.bind(x, y)


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes the bits that are set in ``x`` or ``y``.

    Args:
      x: an array or scalar of integers or booleans.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.bitwise_or(6, 3)
      Array(7, dtype=int32, weak_type=True)
    """
    return or_p.bind(x, y)


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes the bits that are set in exactly one of ``x`` and ``y``.

    Args:
      x: an array or scalar of integers or booleans.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.bitwise_xor(6, 3)
      Array(5, dtype=int32, weak_type=True)
    """
    return xor_p.bind(x, y)


def bitwise_not(x: ArrayLike) -> Array:
    """Inverts all bits of ``x``.

    Args:
      x: an array or scalar of integers or booleans.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.bitwise_not(6)
      Array(-7, dtype=int32, weak_type=True)
    """
    return not_p.bind(x)


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """Shifts ``x`` left by ``y`` bits.

    The result is zero if ``y`` is negative or not less than the number of bits.

    Args:
      x: an array or scalar of integers.
      y: the numbers of bits: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.shift_left(3, 2)
      Array(12, dtype=int32, weak_type=True)
    """
    return shift_left_p.bind(x, y)


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """Shifts ``x`` right by ``y`` bits, and fills with zeros.

    The result is zero if ``y`` is negative or not less than the number of bits.

    Args:
      x: an array or scalar of integers.
      y: the numbers of bits: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.shift_right_logical(-1, 28)
      Array(15, dtype=int32, weak_type=True)
    """
    return shift_right_logical_p.bind(x, y)


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """Shifts ``x`` right by ``y`` bits, and fills with copies of the sign bit.

    Args:
      x: an array or scalar of integers.
      y: the numbers of bits: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.shift_right_arithmetic(-8, 1)
      Array(-4, dtype=int32, weak_type=True)
    """
    return shift_right_arithmetic_p.bind(x, y)


def population_count(x: ArrayLike) -> Array:
    """Counts the bits of ``x`` that are set.

    Args:
      x: an array or scalar of integers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.population_count(7)
      Array(3, dtype=int32, weak_type=True)
    """
    return population_count_p.bind(x)


def clz(x: ArrayLike) -> Array:
    """Counts the leading zero bits of ``x``.

    Args:
      x: an array or scalar of integers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.clz(1)
      Array(31, dtype=int32, weak_type=True)
    """
    return clz_p.bind(x)


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Computes the high bits of products of integers, which ``x * y`` discards.

    Args:
      x: an array of integers of n bits.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      The upper n of the 2n bits of each product.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.mulhi(2**30, 2**30)
      Array(268435456, dtype=int32, weak_type=True)
    """
    return mulhi_p.bind(x, y)


# ---- choices ----


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Limits ``x`` to the range from ``min`` to ``max``.

    Args:
      min: the lower bounds, a scalar or an array of the shape of ``x``.
      x: an array.
      max: the upper bounds, a scalar or an array of the shape of ``x``.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the operands differ in dtype.
      ShapeError: if a bound is neither a scalar nor of the shape of ``x``.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.clamp(0, np.arange(-1, 4), 2)
      Array([0, 0, 1, 2, 2], dtype=int32)
    """
    return clamp_p.bind(min, x, max)


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Selects elements of ``on_true`` where ``pred`` is true, and of ``on_false`` elsewhere.

    Args:
      pred: a boolean, or an array of booleans of the shape of ``on_true``.
      on_true: an array.
      on_false: an array of the same shape and dtype.

    Returns:
      An array of the shape and dtype of ``on_true``.

    Raises:
      TypeError: if ``pred`` is not boolean, or ``on_true`` and ``on_false`` differ in dtype.
      ShapeError: if shapes differ.

    Example:
      >>> from olympus_ir import lax
      >>> lax.select(True, 1.0, 2.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return select_n_p.bind(pred, on_false, on_true)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Selects each element from the case at the index in ``which``.

    Args:
      which: booleans for at most two cases, or integers; a scalar, or an array of the shape of the
        cases.
      *cases: arrays of equal shapes and dtypes.

    Returns:
      An array of the shape and dtype of the cases.

    Raises:
      TypeError: if ``which`` is neither boolean nor of integers, or the cases differ in dtype.
      ShapeError: if shapes differ.
      ValueError: if no case is given.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.select_n(np.array([0, 2], np.int32), *np.arange(6, dtype=np.int32).reshape(3, 2))
      Array([0, 5], dtype=int32)
    """
    return select_n_p.bind(which, *cases)
