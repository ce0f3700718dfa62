# SPDX-License-Identifier: Apache-2.0
"""``log(exp(x) + exp(y))``, used by cumulative sums of exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..types import dtypes
from ..types.avals import get_aval

__all__ = ["log_add_exp"]


def log_add_exp(x: Any, y: Any) -> Any:
    """Returns ``log(exp(x) + exp(y))`` without overflow.

    Args:
      x: an array of real or complex numbers.
      y: an array of the same shape and dtype.

    Returns:
      An array of the same shape and dtype; imaginary parts are between -pi and pi.

    Example:
      >>> log_add_exp(np.zeros(1, np.float32), np.zeros(1, np.float32))
      Array([0.6931472], dtype=float32)
    """
    if dtypes.issubdtype(get_aval(x).dtype, np.complexfloating):
        return _of_complex(x, y)
    larger, difference = lax.max(x, y), lax.sub(x, y)
    # The difference of equal infinities is NaN; the result is their sum.
    is_nan = lax.ne(difference, difference)
    result = lax.add(larger, lax.log1p(lax.exp(lax.neg(lax.abs(difference)))))
    return lax.select_n(is_nan, result, lax.add(x, y))


def _of_complex(x: Any, y: Any) -> Any:
    """Computes ``log(exp(x) + exp(y))``, with the larger exponential factored out."""
    is_first_larger = lax.gt(lax.real(x), lax.real(y))
    larger, smaller = lax.select_n(is_first_larger, y, x), lax.select_n(is_first_larger, x, y)
    difference = lax.select_n(lax.eq(x, y), lax.sub(smaller, larger), lax.full_like(x, 0))
    result = lax.add(larger, lax.log1p(lax.exp(difference)))
    angle = lax.imag(result)
    turn = lax.full_like(angle, 2 * np.pi)
    turns = lax.round(lax.div(angle, turn), lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.complex(lax.real(result), lax.sub(angle, lax.mul(turn, turns)))
