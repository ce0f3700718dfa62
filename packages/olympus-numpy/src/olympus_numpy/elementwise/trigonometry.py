# SPDX-License-Identifier: Apache-2.0
"""Elementwise trigonometric and hyperbolic functions.

Integer operands are converted to a floating dtype.
"""

from __future__ import annotations

import numpy as np

from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..core.compilation import inlined
from ..core.promotion import promote_args_inexact
from .transcendental import times_constant

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "rad2deg",
    "radians",
    "sin",
    "sinh",
    "tan",
    "tanh",
]


@inlined()
def sin(x: ArrayLike, /) -> Array:
    """Returns the sine of angles in radians, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> sin(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("sin", x)
    return lax.sin(x)


@inlined()
def cos(x: ArrayLike, /) -> Array:
    """Returns the cosine of angles in radians, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> cos(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("cos", x)
    return lax.cos(x)


@inlined()
def tan(x: ArrayLike, /) -> Array:
    """Returns the tangent of angles in radians, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> tan(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("tan", x)
    return lax.tan(x)


@inlined()
def arcsin(x: ArrayLike, /) -> Array:
    """Returns the inverse sine in radians, elementwise; NaN for real numbers outside [-1, 1].

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> arcsin(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("arcsin", x)
    return lax.asin(x)


asin = arcsin


@inlined()
def arccos(x: ArrayLike, /) -> Array:
    """Returns the inverse cosine in radians, elementwise; NaN for real numbers outside [-1, 1].

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> arccos(1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("arccos", x)
    return lax.acos(x)


acos = arccos


@inlined()
def arctan(x: ArrayLike, /) -> Array:
    """Returns the inverse tangent in radians, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> arctan(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("arctan", x)
    return lax.atan(x)


atan = arctan


@inlined()
def sinh(x: ArrayLike, /) -> Array:
    """Returns the hyperbolic sine, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> sinh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("sinh", x)
    return lax.sinh(x)


@inlined()
def cosh(x: ArrayLike, /) -> Array:
    """Returns the hyperbolic cosine, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> cosh(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("cosh", x)
    return lax.cosh(x)


@inlined()
def tanh(x: ArrayLike, /) -> Array:
    """Returns the hyperbolic tangent, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> tanh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("tanh", x)
    return lax.tanh(x)


@inlined()
def arcsinh(x: ArrayLike, /) -> Array:
    """Returns the inverse hyperbolic sine, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> arcsinh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("arcsinh", x)
    return lax.asinh(x)


asinh = arcsinh


@inlined()
def arccosh(x: ArrayLike, /) -> Array:
    """Returns the inverse hyperbolic cosine, elementwise; NaN for real numbers below 1.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> arccosh(1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("arccosh", x)
    return lax.acosh(x)


acosh = arccosh


@inlined()
def arctanh(x: ArrayLike, /) -> Array:
    """Returns the inverse hyperbolic tangent, elementwise; NaN for reals outside [-1, 1].

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> arctanh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("arctanh", x)
    return lax.atanh(x)


atanh = arctanh


@inlined()
def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns the angle in radians of the point with ordinate ``x1`` and abscissa ``x2``.

    Args:
      x1: an array or scalar of real numbers.
      x2: an array or scalar of real numbers.

    Returns:
      An array of the operands' broadcast shape and common floating dtype.

    Example:
      >>> arctan2(0.0, 1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x1, x2, _ = promote_args_inexact.pair("arctan2", x1, x2)
    return lax.atan2(x1, x2)


atan2 = arctan2


@inlined()
def deg2rad(x: ArrayLike, /) -> Array:
    """Returns angles in degrees as angles in radians, elementwise.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of the shape of ``x`` and of a floating dtype.

    Example:
      >>> deg2rad(180.0)
      Array(3.1415927, dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("deg2rad", x)
    return times_constant(x, np.pi / 180)


@inlined()
def rad2deg(x: ArrayLike, /) -> Array:
    """Returns angles in radians as angles in degrees, elementwise.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of the shape of ``x`` and of a floating dtype.

    Example:
      >>> rad2deg(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("rad2deg", x)
    return times_constant(x, 180 / np.pi)


degrees = rad2deg
radians = deg2rad
