# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations: dimensions are split as in the operands that have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..diagnostics.errors import ShardingTypeError
from ..programs.layout_inference import unreduced_of_all
from ..programs.propagation import (
    Entries,
    Propagation,
    elementwise_split,
    family_rules,
    same_entries,
    sharding_text,
)
from ..types.layouts import entries_of

_NO_AXES: frozenset = frozenset()


def _product_unreduced(
    operands: Sequence[Any], results: Sequence[Any], wanted: frozenset, **params: Any
) -> frozenset:
    """A product of a sum's terms with a value that is the same everywhere is a term again."""
    lhs, rhs = operands
    sums = [_NO_AXES if aval.layout is None else aval.layout.spec.unreduced for aval in operands]
    if all(sums):
        raise ShardingTypeError(
            "lhs and rhs to `mul` cannot be unreduced since mul is bilinear. Got "
            f"lhs={sums[0]}, rhs={sums[1]}"
        )
    (words, other, axes) = (
        (("RHS", "LHS"), rhs, sums[0]) if sums[0] else (("LHS", "RHS"), lhs, sums[1])
    )
    if (_NO_AXES if other.layout is None else other.layout.spec.reduced) != axes:
        raise ShardingTypeError(
            f"{words[0]} should be reduced along the same axes {words[1]} is unreduced on. Got "
            f"lhs={lhs.str_short()} and rhs={rhs.str_short()}"
        )
    return axes


def _sum_unreduced(
    operands: Sequence[Any], results: Sequence[Any], wanted: frozenset, **params: Any
) -> frozenset:
    return unreduced_of_all("add", operands)


def _unreduced_as_operand(
    operands: Sequence[Any], results: Sequence[Any], wanted: frozenset, **params: Any
) -> frozenset:
    return unreduced_of_all("select_n", operands[:1])


def _select(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    which, *cases = operands
    entries = _merged_entries(cases)
    if entries is None:
        shown = ", ".join(sharding_text(case, operands) for case in cases)
        raise ShardingTypeError(f"select cases must have the same shardings, got [{shown}].")
    if not which.ndim:
        return entries
    merged = _merged_entries(operands)
    if merged is None:
        raise ShardingTypeError(
            "select `which` must be scalar or have the same sharding as cases, got `which` "
            f"sharding {which.layout} but case sharding {sharding_text(cases[0], operands)}."
        )
    return merged


def _merged_entries(operands: Sequence[Any]) -> list[Any] | None:
    """How each dimension is split, where operands that split it agree; else None."""
    entries: list[Any] = [None] * operands[-1].ndim
    for aval in operands:
        for dimension, entry in enumerate(entries_of(aval)):
            if entry is not None:
                if entries[dimension] not in (None, entry):
                    return None
                entries[dimension] = entry
    return entries


def _select_unreduced(
    operands: Sequence[Any], results: Sequence[Any], wanted: frozenset, **params: Any
) -> frozenset:
    return unreduced_of_all("select_n", operands[1:])


def _clamp(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    return entries_of(operands[1])


def _bitcast(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    """The parts of one element are a dimension of their own, which comes or goes."""
    entries, ndim = entries_of(operands[0]), results[0].ndim
    if ndim < len(entries) and entries[-1] is not None:
        raise ShardingTypeError(
            "bitcast_convert_type joins the elements of the last dimension, which cannot be "
            f"sharded. Got operand type {operands[0].str_short()}"
        )
    return (*entries, None)[:ndim]


_UNREDUCED = {
    "add": _sum_unreduced,
    "add_any": _sum_unreduced,
    "mul": _product_unreduced,
    "convert_element_type": _unreduced_as_operand,
    "copy": _unreduced_as_operand,
    "stop_gradient": _unreduced_as_operand,
    "reduce_precision": _unreduced_as_operand,
}
_SPECIAL = {
    "clamp": Propagation(_clamp),
    "integer_pow": Propagation(same_entries),
    "bitcast_convert_type": Propagation(_bitcast),
    "convert_element_type": Propagation(
        same_entries, unreduced=_unreduced_as_operand, reduced=True, parameter="sharding"
    ),
    "select_n": Propagation(_select, unreduced=_select_unreduced, reduced=True),
    "stage": Propagation(same_entries, reduced=True),
    "to_edtype": Propagation(lambda operands, results: entries_of(operands[0])[: results[0].ndim]),
    "from_edtype": Propagation(
        lambda operands, results: (*entries_of(operands[0]), *(None,) * results[0].ndim)[
            : results[0].ndim
        ]
    ),
}


def rule_of_elementwise(primitive: Any) -> Propagation:
    """Returns the rule of an elementwise primitive."""
    name = primitive.name
    return _SPECIAL.get(name) or Propagation(
        elementwise_split(name), unreduced=_UNREDUCED.get(name), reduced=True
    )


family_rules["elementwise"] = rule_of_elementwise
