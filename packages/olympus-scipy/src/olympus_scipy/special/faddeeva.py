# SPDX-License-Identifier: Apache-2.0
"""The Faddeeva function, computed by the trapezoidal rule.

The method is from Al Azah, Chandler-Wilde: Computation of the complex error function using modified
trapezoidal rules. SIAM J. Numer. Anal. 59 (2021).

Up to a factor, the function is the integral over real t of a Gaussian divided by ``z - t``. The
rule sums the integrand at equidistant nodes. The contribution of the pole at z is missing from the
sum, and is added by an exact formula. There are two sets of nodes; the rule uses the set that is
farther from z.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax

__all__ = ["faddeeva"]

_COUNT = 11
_STEP = math.sqrt(math.pi / (_COUNT + 1))
_SQRT_PI = math.sqrt(math.pi)


def faddeeva(z: Any) -> Any:
    """Evaluates ``exp(-z**2) * erfc(-i z)`` for complex numbers.

    Args:
      z: a complex array.

    Returns:
      A complex array of the shape of ``z``.
    """
    below = lax.imag(z) < 0.0
    w = _upper_half_plane(onp.where(below, -z, z))
    # The Gaussian is added twice, because a product with 2 is NaN where one part overflows.
    gaussian = lax.exp(-z * z)
    w = onp.where(below, gaussian + gaussian - w, w)
    return onp.where(onp.isnan(z), onp.array(complex(np.nan, np.nan), z.dtype), w)


def _upper_half_plane(z: Any) -> Any:
    # By the symmetry w(-conj(z)) = conj(w(z)), it is enough to evaluate w in the first quadrant.
    x, y = lax.abs(lax.real(z)), lax.abs(lax.imag(z))
    largest = 1e4 if x.dtype == np.float32 else 1e8
    huge = (x > largest) | (y > largest)
    far = lax.complex(onp.where(huge, x, 1.0), onp.where(huge, y, 1.0))
    x, y = onp.where(huge, 1.0, x), onp.where(huge, 1.0, y)
    inside = _by_nodes(x, y)
    unit = lax.complex(onp.zeros_like(x), onp.full_like(x, 1.0 / _SQRT_PI))
    asymptotic = unit / far
    w = onp.where(huge, asymptotic, inside)
    return onp.where(lax.real(z) < 0.0, lax.conj(w), w)


def _by_nodes(x: Any, y: Any) -> Any:
    z = lax.complex(x, y)
    position = x / _STEP
    fraction = position - lax.floor(position)
    # The nodes are at (k + 1/2) h. If z lies near one of them, the nodes at k h are used.
    midpoints = (fraction < 0.25) | (fraction > 0.75) | (y >= x)
    square = z * z
    total = onp.where(midpoints, 0.0, 0.5 / square)
    for k in range(_COUNT + 1):
        half, whole = ((k + 0.5) * _STEP) ** 2, ((k + 1.0) * _STEP) ** 2
        node = onp.where(midpoints, half, whole).astype(z.dtype)
        weight = onp.where(midpoints, math.exp(-half), math.exp(-whole)).astype(z.dtype)
        total = total + weight / (square - node)
    scaled = (2.0 * _STEP / math.pi) * z * total
    rule = lax.complex(-lax.imag(scaled), lax.real(scaled))
    # The residue at z; it is negligible far above the real line.
    near = y < math.pi / _STEP
    angle = (2.0 * math.pi) * fraction
    growth = lax.exp((2.0 * math.pi / _STEP) * onp.where(near, y, 0.0))
    turn = lax.complex(growth * lax.cos(angle), -growth * lax.sin(angle))
    damped_x, damped_y = onp.where(near, x, 1.0), onp.where(near, y, 0.0)
    size = lax.exp((damped_y - damped_x) * (damped_y + damped_x))
    phase = 2.0 * damped_x * damped_y
    gaussian = lax.complex(size * lax.cos(phase), -size * lax.sin(phase))
    residue = 2.0 * gaussian / onp.where(midpoints, 1.0 + turn, 1.0 - turn)
    return rule + onp.where(near, residue, 0.0)
