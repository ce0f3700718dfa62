# SPDX-License-Identifier: Apache-2.0
"""Table of primitives whose NumPy reference is bitwise equal to XLA on CPUs.

A rule returns the `Exactness` of an equation from its types and parameters, or None if the last
digits of its results may differ. Two differences depend on the elements: XLA flushes subnormal
numbers to zero, and its NaNs have other bits. `cold_evaluation` checks the elements.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable
from olympus_ir.types import dtypes

__all__ = ["Exactness", "exactness_rules", "narrow_dtypes"]


class Exactness(enum.IntEnum):
    """Kind of an exact equation, by its use of floats."""

    #: Moves or selects elements, or computes with integers and bools.
    MOVES = 0
    #: Compares floats, changes their signs, or rounds them to whole numbers.
    COMPARES = 1
    #: Returns some of several floats after a comparison. Zeros of both signs compare as equal here
    #: and may not in XLA, so the result is exact only if no operand has a negative zero.
    PICKS = 2
    #: Rounds each result once, to the nearest representable number.
    ROUNDS = 3


#: Maps the types of the operands and the parameters of an equation to its exactness.
Rule = Callable[[Sequence[Any], dict[str, Any]], "Exactness | None"]

exactness_rules: RuleTable[Rule] = RuleTable("exactness", package="olympus_xla", folder=None)


#: Dtypes that XLA may replace by a wider dtype whose extra digits it keeps.
narrow_dtypes = frozenset(dtype for dtype in dtypes.floats if dtype.itemsize < 4)


def _is_inexact(aval: Any) -> bool:
    return dtypes.issubdtype(aval.dtype, np.inexact)


def _is_complex(aval: Any) -> bool:
    return dtypes.issubdtype(aval.dtype, np.complexfloating)


def _moves(avals: Sequence[Any], params: dict[str, Any]) -> Exactness:
    return Exactness.MOVES


def _computes_integers(avals: Sequence[Any], params: dict[str, Any]) -> Exactness | None:
    return None if any(map(_is_inexact, avals)) else Exactness.MOVES


def _compares(avals: Sequence[Any], params: dict[str, Any]) -> Exactness | None:
    if any(map(_is_complex, avals)):
        return None
    return Exactness.COMPARES if any(map(_is_inexact, avals)) else Exactness.MOVES


def _compares_parts(avals: Sequence[Any], params: dict[str, Any]) -> Exactness:
    return Exactness.COMPARES if any(map(_is_inexact, avals)) else Exactness.MOVES


def _picks(avals: Sequence[Any], params: dict[str, Any]) -> Exactness | None:
    if any(map(_is_complex, avals)):
        return None
    return Exactness.PICKS if any(map(_is_inexact, avals)) else Exactness.MOVES


def _rounds(avals: Sequence[Any], params: dict[str, Any]) -> Exactness | None:
    if any(map(_is_complex, avals)):
        return None
    return Exactness.ROUNDS if any(map(_is_inexact, avals)) else Exactness.MOVES


def _rounds_parts(avals: Sequence[Any], params: dict[str, Any]) -> Exactness:
    return Exactness.ROUNDS if any(map(_is_inexact, avals)) else Exactness.MOVES


def _multiplies(avals: Sequence[Any], params: dict[str, Any]) -> Exactness | None:
    return None if params.get("out_dtype") is not None else _rounds(avals, params)


def _divides(avals: Sequence[Any], params: dict[str, Any]) -> Exactness | None:
    exactness = _rounds(avals, params)
    if exactness is Exactness.ROUNDS and avals[0].shape != avals[1].shape:
        return None  # XLA multiplies by the inverse of a broadcast divisor
    return exactness


def _converts(avals: Sequence[Any], params: dict[str, Any]) -> Exactness | None:
    if dtypes.is_extended(params["new_dtype"]) or dtypes.is_extended(avals[0].dtype):
        return None
    old, new = avals[0].dtype, np.dtype(params["new_dtype"])
    from_float, to_float = (dtypes.issubdtype(dtype, np.inexact) for dtype in (old, new))
    if old == new or not (from_float or to_float):
        return Exactness.MOVES
    if _is_complex(avals[0]) and new.kind != "c":
        return None  # the conversion must warn that the imaginary part is dropped
    if from_float and (not to_float or _holds_all(new, old)):
        return Exactness.COMPARES
    return Exactness.ROUNDS


def _holds_all(new: Any, old: Any) -> bool:
    """Returns whether a float dtype can represent all numbers of another float dtype."""
    wide, narrow = dtypes.finfo(new), dtypes.finfo(old)
    return wide.nmant >= narrow.nmant and wide.maxexp >= narrow.maxexp


def _scatters(avals: Sequence[Any], params: dict[str, Any]) -> Exactness | None:
    return None if params["update_jaxpr"] is not None else Exactness.MOVES


_NAMES: dict[Rule, str] = {
    _moves: """
        bitcast_convert_type broadcast_in_dim complex concatenate copy dim_as_value dynamic_slice
        dynamic_update_slice from_edtype gather imag iota optimization_barrier pad platform_index
        real reshape rev rng_bit_generator select_n slice split squeeze stack stage stop_gradient
        threefry2x32 tile to_edtype transpose unstack
        closed_call composite cond custom_jvp_call custom_vjp_call jit remat2 scan while
    """,
    _computes_integers: """
        and clz cumprod cumsum dot_general integer_pow mulhi not or population_count reduce_and
        reduce_or reduce_prod reduce_sum reduce_xor rem scatter-add scatter-mul scatter-sub
        shift_left shift_right_arithmetic shift_right_logical xor
    """,
    _compares: """
        abs argmax argmin ceil floor ge gt is_finite le lt round sign sort
    """,
    _picks: "clamp cummax cummin max min reduce_max reduce_min top_k",
    _compares_parts: "conj eq ne neg",
    _divides: "div",
    _rounds: "sqrt square",
    _rounds_parts: "add add_any sub",
    _multiplies: "mul",
    _converts: "convert_element_type",
    _scatters: "scatter",
}
_RULES = {name: rule for rule, names in _NAMES.items() for name in names.split()}


@exactness_rules.derive("the list of exact instructions")
def _listed(primitive: Primitive) -> Rule | None:
    return _RULES.get(primitive.name) if primitive.is_instruction else None
