# SPDX-License-Identifier: Apache-2.0
"""The scaled complementary error function."""

from __future__ import annotations

import math
from typing import Any

from .. import lax
from .elementwise import full, is_double, where

__all__ = ["scaled_erfc"]


def scaled_erfc(x: Any) -> Any:
    """Returns ``exp(x**2) * erfc(x)`` for nonnegative x.

    Multiplies the two factors for small x. For large x, sums the asymptotic series (DLMF 7.12.1),
    whose smallest term, about ``exp(-x**2)``, is then below the rounding error.
    """
    bound, terms = (7.0, 32) if is_double(x) else (4.5, 14)
    small = x < bound
    near = where(small, x, 0.0)
    far = where(small, bound, x)
    inverse = 0.5 / (far * far)
    total = full(x, 1.0)
    for n in range(terms, 0, -1):
        total = 1.0 - (2 * n - 1) * inverse * total
    return where(small, lax.exp(near * near) * lax.erfc(near), total / (far * math.sqrt(math.pi)))
