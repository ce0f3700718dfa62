# SPDX-License-Identifier: Apache-2.0
"""Derivative of the Hurwitz zeta function with respect to its exponent, as a program.

The formula is the Euler-Maclaurin sum of the zeta function (DLMF 25.11.5 and 25.11.28),
differentiated term by term.
"""

from __future__ import annotations

import math
from typing import Any

from olympus_ir import lax
from olympus_ir.expansions.elementwise import expansion, where

__all__ = ["zeta_grad_s"]

_TERMS = 10  # the number of terms that are summed directly
# B_2k / (2k)!, for k from 1.
_BERNOULLI = (
    *(1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160),
    *(-691 / 1307674368000, 1 / 74724249600, -3617 / 10670622842880000),
)


@expansion
def zeta_grad_s(s: Any, q: Any) -> Any:
    """Returns the derivative in ``s`` of the sum of ``(k + q)**-s``, for s > 1 and q > 0."""
    inside = (s > 1.0) & (q > 0.0)
    s, q = where(inside, s, 2.0), where(inside, q, 1.0)
    total = lax.full_like(s, 0.0)
    for k in range(_TERMS):
        logarithm = lax.log(q + float(k))
        total = total - logarithm * lax.exp(-s * logarithm)
    end = q + float(_TERMS)
    logarithm = lax.log(end)
    power = lax.exp(-s * logarithm)
    total = total - power * end * (logarithm + 1.0 / (s - 1.0)) / (s - 1.0)
    total = total - 0.5 * logarithm * power
    # The rising factorial s (s + 1) ... (s + 2k - 2), and its logarithmic derivative.
    factorial, slope = s, 1.0 / s
    scale = power / end
    for k, coefficient in enumerate(_BERNOULLI):
        total = total + coefficient * factorial * scale * (slope - logarithm)
        first, second = s + float(2 * k + 1), s + float(2 * k + 2)
        factorial = factorial * first * second
        slope = slope + 1.0 / first + 1.0 / second
        scale = scale / (end * end)
    return where(inside, total, math.nan)
