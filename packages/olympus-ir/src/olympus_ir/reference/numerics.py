# SPDX-License-Identifier: Apache-2.0
"""Numerical helpers of reference rules for wider arithmetic and functions that NumPy lacks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..types import dtypes

__all__ = [
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "in_double",
    "in_wide_integers",
    "lgamma",
    "over_batch",
    "wide_integer",
    "widen",
]


def widen(x: np.ndarray) -> np.ndarray:
    """Converts floats and complex numbers to double precision; leaves other arrays unchanged."""
    if dtypes.issubdtype(x.dtype, np.floating):
        return x.astype(np.float64)
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a rule that computes a function in double precision and rounds once."""

    @functools.wraps(function)
    def rule(x: np.ndarray, *rest: np.ndarray, **params: Any) -> np.ndarray:
        result = np.asarray(function(widen(x), *map(widen, rest)))
        # A complex operand may have a real result, such as its absolute value.
        if result.dtype.kind == "f" and x.dtype.kind == "c":
            return result.astype(dtypes.to_floating_dtype(x.dtype))
        return result.astype(x.dtype)

    return rule


def wide_integer(x: np.ndarray) -> np.ndarray:
    """Converts integers of ml_dtypes to 32 bits, because NumPy lacks most of their operations."""
    if x.dtype.isbuiltin == 1 or not dtypes.issubdtype(x.dtype, np.integer):
        return x
    return x.astype(np.int32 if dtypes.issubdtype(x.dtype, np.signedinteger) else np.uint32)


def in_wide_integers(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """Returns a rule for integers that computes in at least 32 bits and casts the result back."""

    def rule(*operands: np.ndarray) -> np.ndarray:
        result = np.asarray(function(*map(wide_integer, operands)))
        return result.astype(operands[0].dtype, copy=False)

    return rule


# ---- special functions of doubles ----

erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


@functools.partial(np.vectorize, otypes=[np.float64])
def lgamma(x: float) -> float:
    """Computes the logarithm of the absolute value of the gamma function; infinite at poles."""
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


# The coefficients B(2k) / 2k of the asymptotic series of digamma; Abramowitz and Stegun, 6.3.18.
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


@functools.partial(np.vectorize, otypes=[np.float64])
def digamma(x: float) -> float:
    """Computes the derivative of the logarithm of the gamma function; NaN at its poles.

    Reflection (6.3.7) moves a negative argument to the right half-line. The recurrence (6.3.5)
    moves the argument to 10 or above. There the asymptotic series (6.3.18) is exact to double
    precision. Equation numbers refer to Abramowitz and Stegun.
    """
    if math.isnan(x) or x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x == math.inf:
        return math.inf
    if x < 0:
        return digamma(1 - x).item() - math.pi / math.tan(math.pi * math.remainder(x, 1.0))
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    inverse_square = 1 / (x * x)
    series = 0.0
    for coefficient in reversed(_DIGAMMA_SERIES):
        series = (series + coefficient) * inverse_square
    return shift + math.log(x) - 0.5 / x - series


@functools.partial(np.vectorize, otypes=[np.float64])
def erf_inv(x: float) -> float:
    """Computes the inverse of the error function.

    Winitzki's approximation ("A handy approximation for the error function and its inverse", 2008)
    is accurate to about 2e-3. Halley's method improves the approximation until convergence. In the
    tail, the complementary error function preserves the relative accuracy.
    """
    if math.isnan(x) or abs(x) > 1:
        return math.nan
    if abs(x) == 1:
        return math.copysign(math.inf, x)
    if x == 0:
        return x
    a = 0.147
    tail = (1 - abs(x)) * (1 + abs(x))
    half = 2 / (math.pi * a) + math.log(tail) / 2
    y = math.sqrt(math.sqrt(half * half - math.log(tail) / a) - half) or abs(x)
    for _ in range(4):
        if abs(x) < 0.5:
            error = math.erf(y) - abs(x)
        else:
            error = (1 - abs(x)) - math.erfc(y)
        step = error / (2 / math.sqrt(math.pi) * math.exp(-y * y))
        y -= step / (1 + y * step)
    return math.copysign(y, x)


def over_batch(*ranks: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that makes a function of one example a rule for batches.

    Args:
      *ranks: for each operand, the number of dimensions of one example.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def rule(*operands: np.ndarray, **params: Any) -> Any:
            dtype = operands[0].dtype
            # NumPy's routines do not support half precision and bfloat16.
            narrow = dtype.itemsize < 4
            operands = tuple(x.astype(np.float32) if narrow else x for x in operands)
            batch = operands[0].shape[: operands[0].ndim - ranks[0]]
            with np.errstate(all="ignore"):
                if not batch:
                    results = [function(*operands, **params)]
                elif 0 in batch:  # one example of ones determines the shapes
                    example = [np.ones(x.shape[len(batch) :], x.dtype) for x in operands]
                    results = [function(*example, **params)]
                else:
                    count = int(np.prod(batch))
                    flat = [x.reshape(count, *x.shape[len(batch) :]) for x in operands]
                    results = [function(*arrays, **params) for arrays in zip(*flat, strict=True)]
            several = isinstance(results[0], list)
            columns = zip(*results, strict=True) if several else [results]
            joined = [_joined(list(column), batch) for column in columns]
            if narrow:
                joined = [x.astype(dtype) if x.dtype == np.float32 else x for x in joined]
            return joined if several else joined[0]

        return rule

    return decorate


def _joined(examples: Sequence[Any], batch: tuple[int, ...]) -> np.ndarray:
    if not batch:
        return np.asarray(examples[0])
    example = np.asarray(examples[0])
    if 0 in batch:
        return np.zeros((*batch, *example.shape), example.dtype)
    return np.stack(examples).reshape(*batch, *example.shape)
