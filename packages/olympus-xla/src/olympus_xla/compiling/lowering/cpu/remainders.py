# SPDX-License-Identifier: Apache-2.0
"""Remainders of floats, by an exact division in double precision.

XLA's CPU backend calls the C library for each element, in 17 ns. This arithmetic takes 1 ns.

For a quotient below 2^28, the whole part of the rounded quotient in double precision is exact: the
quotient of two numbers with 24 bits is not nearer to the next integer. The product of the whole
part and the divisor has at most 52 bits. So the remainder is exact, as the C library's.

If a quotient is larger, or if a remainder may be subnormal, which XLA's arithmetic would set to
zero, the C library computes the whole array.

The operation "fmod" of the benchmarks covers this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings import config_states

from ..tables import lowering_rules, nary
from .trigonometry import double, times

# Quotients below this have an exact whole part.
_LARGEST_QUOTIENT = 2.0**28

# Remainders by divisors of this magnitude and more are zero or normal numbers of single precision.
_SMALLEST_DIVISOR = 2.0**-102

_SIGN = 1 << 31

# result = library_remainder dividend divisor
library_remainder_p = Primitive("library_remainder")
library_remainder_p.def_abstract_eval(lambda dividend, divisor: dividend)
lowering_rules.define(library_remainder_p, nary("stablehlo.remainder"))


def remainder(dividend: Any, divisor: Any, *, shape: tuple[int, ...]) -> Any:
    """Returns the remainder of a division, with the sign of the dividend.

    Args:
      dividend: floats of at most 32 bits.
      divisor: floats of the same dtype.
      shape: the shape to which both are broadcast.
    """
    with config_states.enable_x64(True):
        dividend, divisor = (
            operand
            if operand.shape == shape
            else lax.broadcast_in_dim(operand, shape, tuple(range(operand.ndim)))
            for operand in (dividend, divisor)
        )
        x, y = (lax.convert_element_type(operand, np.float32) for operand in (dividend, divisor))
        bits = _and(lax.bitcast_convert_type(y, np.uint32), _SIGN - 1)
        smallest = int(np.float32(_SMALLEST_DIVISOR).view(np.uint32))
        is_small = lax.bitwise_and(
            lax.lt(bits, lax.full_like(bits, smallest)), lax.ne(bits, lax.full_like(bits, 0))
        )
        size, step = double(lax.abs(x)), double(lax.abs(y))
        is_large = lax.ge(size, times(step, _LARGEST_QUOTIENT))
        # An infinite dividend or a divisor of zero make a NaN in any case.
        is_defined = lax.bitwise_and(lax.is_finite(x), lax.gt(step, lax.full_like(step, 0)))
        is_other = lax.bitwise_or(is_small, lax.bitwise_and(is_large, is_defined))
        # XLA vectorizes the maximum of bytes, but no reduction of truth values.
        others = lax.reduce_max(lax.convert_element_type(is_other, np.int8), tuple(range(x.ndim)))
        return lax.cond(
            lax.gt(others, np.int8(0)), library_remainder_p.bind, _exact, dividend, divisor
        )


def _exact(dividend: Any, divisor: Any) -> Any:
    """Returns the remainders of quotients below `_LARGEST_QUOTIENT`."""
    x, y = (lax.convert_element_type(operand, np.float32) for operand in (dividend, divisor))
    size, step = double(lax.abs(x)), double(lax.abs(y))
    # XLA would write a quotient with several uses to memory, instead of fusing the division.
    whole = lax.floor(lax.div(size, step))
    rest = lax.convert_element_type(lax.sub(size, lax.mul(whole, step)), np.float32)
    sign = _and(lax.bitcast_convert_type(x, np.uint32), _SIGN)
    signed = lax.bitwise_or(lax.bitcast_convert_type(rest, np.uint32), sign)
    rest = lax.convert_element_type(lax.bitcast_convert_type(signed, np.float32), dividend.dtype)
    return lax.select(lax.lt(lax.abs(x), lax.abs(y)), dividend, rest)


def _and(x: Any, mask: int) -> Any:
    return lax.bitwise_and(x, lax.full_like(x, mask))
