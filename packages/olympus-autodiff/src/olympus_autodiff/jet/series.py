# SPDX-License-Identifier: Apache-2.0
"""Truncated power series and their arithmetic.

A series ``sum of x_k t^k`` is given by its coefficients ``[x_0, x_1, ..., x_K]``, which include the
factors ``1 / k!`` of Taylor's formula. The coefficient ``x_0`` is the value. The other coefficients
are called the terms; a `JetTracer` carries them. The recurrences are those of Griewank and Walther,
"Evaluating Derivatives", chapter 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.types import dtypes

from ..tables import constant
from ..zeros import aval_of, instantiate, zeros_like_aval

__all__ = [
    "ZeroSeries",
    "ZeroTerm",
    "fact",
    "zero_series",
    "zero_term",
]


class ZeroTerm:
    """The type of `zero_term`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_term"


class ZeroSeries:
    """The type of `zero_series`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_series"


# `zero_term` stands for a zero term, and `zero_series` for the terms of a constant value.
# Operations on them cost nothing.
zero_term = ZeroTerm()
zero_series = ZeroSeries()

Series = list[Any]


def fact(n: Any) -> Any:
    """Returns the factorial, as a floating point number.

    Example:
      >>> fact(4)
      Array(24., dtype=float32, weak_type=True)
    """
    if isinstance(n, int):
        return lax.copy(float(math.factorial(n)))
    if not dtypes.issubdtype(aval_of(n).dtype, np.floating):
        n = convert_dtype(n, dtypes.canonicalize_dtype(float))
    return lax.round(lax.exp(lax.lgamma(lax.add(n, constant(1, n)))))


# ---- linear combinations ----


def product(x: Any, y: Any) -> Any:
    return lax.mul_p.bind(x, y, out_dtype=None)


def times(factor: float, x: Any) -> Any:
    """Returns a multiple of an array."""
    return x if factor == 1 else product(constant(factor, x), x)


def divided(x: Any, divisor: float) -> Any:
    """Returns an array divided by a number."""
    return x if divisor == 1 else lax.div_p.bind(x, constant(divisor, x))


def total(terms: Sequence[Any]) -> Any:
    """Returns the sum of one or more arrays."""
    result = terms[0]
    for term in terms[1:]:
        result = lax.add_p.bind(result, term)
    return result


def terms_or_zeros(value: Any, terms: Any, order: int) -> Series:
    """Returns the terms of a value as arrays, which are zeros for `zero_series`."""
    if terms is not zero_series:
        return [zeros_of(value) if term is zero_term else term for term in terms]
    return [zeros_of(value)] * order


def zeros_of(value: Any) -> Any:
    """Returns zeros of a value's type, or of the default float dtype for integers."""
    return zeros_like_aval(aval_of(value))


def order_of(series: Sequence[Any]) -> int:
    """Returns the order of the series: the number of terms of each series.

    Args:
      series: the terms of each operand, or `zero_series` for a constant operand. At least one
        operand must not be constant.
    """
    return next(len(terms) for terms in series if terms is not zero_series)


# ---- calculus ----


def velocity(terms: Sequence[Any]) -> Series:
    """Returns the coefficients of the derivative with respect to ``t``, one fewer than given."""
    return [times(k, term) for k, term in enumerate(terms, 1)]


def integral(coefficients: Sequence[Any]) -> Series:
    """Returns the terms of the integral with respect to ``t``; the inverse of `velocity`."""
    return [divided(instantiate(coefficient), k) for k, coefficient in enumerate(coefficients, 1)]


# ---- products and quotients ----


def convolution(x: Sequence[Any], y: Sequence[Any], k: int, start: int, stop: int) -> Any:
    """Returns the sum of ``x_j y_{k-j}`` for ``start <= j < stop``; needs ``start < stop``."""
    return total([product(x[j], y[k - j]) for j in range(start, stop)])


def series_product(x: Series, y: Series) -> Series:
    """Returns the product of two series with equally many coefficients."""
    return [convolution(x, y, k, 0, k + 1) for k in range(len(x))]


def series_quotient(x: Series, y: Series, first: Any = None) -> Series:
    """Returns the quotient of two series of equal length.

    ``first`` is the quotient's zeroth coefficient, if it is already known.
    """
    quotient = [lax.div_p.bind(x[0], y[0]) if first is None else first]
    for k in range(1, len(x)):
        rest = lax.sub_p.bind(x[k], convolution(y, quotient, k, 1, k + 1))
        quotient.append(lax.div_p.bind(rest, y[0]))
    return quotient


def series_integer_power(x: Series, exponent: int) -> Series:
    """Returns a positive power by repeated squaring, which is correct even if ``x_0`` is zero."""
    power: Series | None = None
    square = x
    while True:
        if exponent & 1:
            power = square if power is None else series_product(power, square)
        exponent >>= 1
        if not exponent:
            assert power is not None  # the exponent was positive
            return power
        square = series_product(square, square)


# ---- functions that satisfy a differential equation ----


def series_exp(terms: Series, value: Any, rate: float = 1.0) -> Series:
    """Returns all coefficients of a function with ``y' = rate x' y``, given its value."""
    result, moved = [value], [None, *velocity(terms)]
    for k in range(1, len(moved)):
        rising = divided(convolution(moved, result, k, 1, k + 1), k)
        result.append(times(rate, rising))
    return result


def series_log(x: Series, value: Any) -> Series:
    """Returns all coefficients of a logarithm ``y``, from ``x y' = x'`` and the value of ``y``."""
    result = [value]
    moved: list[Any] = [None]
    for k in range(1, len(x)):
        rest = x[k]
        if k > 1:
            rest = lax.sub_p.bind(rest, divided(convolution(moved, x, k, 1, k), k))
        result.append(lax.div_p.bind(rest, x[0]))
        moved.append(times(k, result[k]))
    return result


def series_rotation(terms: Series, sine: Any, cosine: Any, sign: float) -> tuple[Series, Series]:
    """Returns all coefficients of functions with ``s' = x' c``, ``c' = sign x' s``."""
    sines, cosines, moved = [sine], [cosine], [None, *velocity(terms)]
    for k in range(1, len(moved)):
        rising = convolution(moved, cosines, k, 1, k + 1)
        turning = convolution(moved, sines, k, 1, k + 1)
        sines.append(divided(rising, k))
        cosines.append(divided(turning, sign * k))
    return sines, cosines


def series_root_power(x: Series, value: Any, exponent: float) -> Series:
    """Returns all coefficients of ``x^exponent``, given its value, which selects the root."""
    result = [value]
    for k in range(1, len(x)):
        weighted = [
            times(exponent * j - (k - j), product(x[j], result[k - j])) for j in range(1, k + 1)
        ]
        result.append(lax.div_p.bind(total(weighted), times(k, x[0])))
    return result


def series_composition(outer: Sequence[Any], terms: Series) -> Series:
    """Returns all coefficients of ``f(x)``, given the coefficients of ``f`` at ``x_0``.

    Args:
      outer: the coefficients of ``f``, one more than there are terms.
      terms: the terms of ``x``.
    """
    shift = [None, *terms]  # the series x - x_0, which has no constant coefficient
    order = len(terms)
    result = [outer[order]]
    # Horner's scheme. A product with the shift has no constant coefficient and one more term.
    for coefficient in reversed(outer[:-1]):
        length = min(len(result) + 1, order + 1)
        result = [
            coefficient,
            *(
                total(
                    [
                        product(shift[j], result[k - j])
                        for j in range(max(1, k - len(result) + 1), k + 1)
                    ]
                )
                for k in range(1, length)
            ),
        ]
    return result
