# SPDX-License-Identifier: Apache-2.0
"""Facts about the values of a program, which determine its screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.tracing import Tracer
from olympus_ir.types import dtypes
from olympus_ir.types.avals import AbstractValue, ShapedArray

from .bounds import Interval, bounds_of_array, united

__all__ = [
    "Fact",
    "NotScreenedError",
    "bad_elements",
    "fact_of_constant",
    "is_inexact",
    "is_real",
    "joined",
    "widened",
]


class NotScreenedError(Exception):
    """Error for a program that has no screen. Each of its operations is checked instead."""


class Fact(NamedTuple):
    """A fact about a value.

    An element is erroneous if it is not finite although the operands of the program are finite.
    Infinities are not erroneous if ``infinite`` is set.

    Attributes:
      doubtful: whether an element may be erroneous.
      overflows: whether an erroneous element may be infinite. Otherwise all erroneous elements are
        NaNs.
      infinite: whether elements may be infinite without an error, as in a mask.
      bounds: the bounds of the elements that are not erroneous, if the value is real.
    """

    doubtful: bool = False
    infinite: bool = False
    overflows: bool = False
    bounds: Interval = Interval()

    @property
    def has_only_nans(self) -> bool:
        """Returns whether all erroneous elements are NaNs."""
        return self.infinite or not self.overflows


def joined(facts: Iterable[Fact]) -> Fact:
    """Returns the fact about a value that is one of several values with the given facts."""
    doubts, infinities, overflows, bounds = zip(*facts, strict=True)
    return Fact(any(doubts), any(infinities), any(overflows), united(bounds))


def widened(before: Fact, after: Fact) -> Fact:
    """Returns the fact about a carry before and after an iteration.

    Bounds that an iteration widens are dropped, because each iteration may widen them again.
    """
    both = joined([before, after])
    return both if both.bounds == before.bounds else both._replace(bounds=Interval())


def is_inexact(aval: AbstractValue) -> bool:
    """Returns whether values of a type are nonempty arrays of floats or complex numbers."""
    return (
        isinstance(aval, ShapedArray)
        and dtypes.issubdtype(aval.dtype, np.inexact)
        and 0 not in aval.shape
    )


def is_real(aval: AbstractValue) -> bool:
    """Returns whether a type is an array type with a real floating-point dtype."""
    return isinstance(aval, ShapedArray) and dtypes.issubdtype(aval.dtype, np.floating)


def fact_of_constant(value: Any, aval: AbstractValue) -> Fact:
    """Returns the fact about a constant. A traced constant counts as an operand of the program.

    The fact allows infinities but no NaNs, so a NaN that reaches a checked value is reported. Most
    constants with NaNs are in branches of `where` that are not taken.
    """
    if isinstance(value, Tracer) or not is_inexact(aval):
        return Fact()
    known = np.asarray(value)
    known = known if known.dtype.kind in "fc" else known.astype(np.float32)
    if known.dtype.kind == "c":
        return Fact(infinite=bool(np.isinf(known).any()))
    bounds = bounds_of_array(known)
    return Fact(infinite=bool(np.isinf(known).any()), bounds=bounds)


def bad_elements(value: Any, fact: Fact) -> Any:
    """Returns a mask of the erroneous elements of a value."""
    if fact.has_only_nans:
        return lax.ne(value, value)
    if dtypes.issubdtype(dtypes.dtype(value), np.complexfloating):
        parts = (lax.is_finite(lax.real(value)), lax.is_finite(lax.imag(value)))
        return lax.bitwise_not(lax.bitwise_and(*parts))
    return lax.bitwise_not(lax.is_finite(value))
