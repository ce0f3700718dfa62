# SPDX-License-Identifier: Apache-2.0
"""Types of the carry of loops, and promotion of weakly typed initial values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...types.avals import AbstractValue, ShapedArray, typematch
from ...types.promotion import promote
from ..elementwise.conversion import convert_dtype


def promoted_carry_avals(
    in_avals: tuple[AbstractValue, ...], out_avals: Sequence[AbstractValue]
) -> tuple[AbstractValue, ...]:
    """Returns the carry's types, with weakly typed inputs promoted to the body's results.

    This lets a loop start from ``0`` and carry floats.
    """
    return tuple(
        [
            _promoted(in_aval, out_aval)
            for in_aval, out_aval in zip(in_avals, out_avals, strict=True)
        ]
    )


def _promoted(in_aval: AbstractValue, out_aval: AbstractValue) -> AbstractValue:
    if typematch(in_aval, out_aval):
        return in_aval
    if not (
        isinstance(in_aval, ShapedArray) and isinstance(out_aval, ShapedArray) and in_aval.weak_type
    ):
        return in_aval
    if in_aval.shape != out_aval.shape:
        return in_aval
    dtype, _ = promote(in_aval.dtype, True, out_aval.dtype, out_aval.weak_type)
    return in_aval if dtype == in_aval.dtype else in_aval.update(dtype=dtype, weak_type=False)


def promote_carry(values: list[Any], avals: Sequence[Any], carry_avals: Sequence[Any]) -> list[Any]:
    """Converts the initial carry to the types that the loop carries."""
    if avals == carry_avals:
        return values
    return [
        value if aval is carried else convert_dtype(value, carried.dtype)
        for value, aval, carried in zip(values, avals, carry_avals, strict=True)
    ]
