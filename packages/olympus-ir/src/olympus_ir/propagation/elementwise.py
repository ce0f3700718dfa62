# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of elementwise operations, whose results are sharded like the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..diagnostics.errors import ShardingTypeError
from ..programs.layout_inference import unreduced_of_all
from ..programs.propagation import (
    Entries,
    Propagation,
    elementwise_rule,
    propagation_rules,
    same_entries,
    sharding_text,
)
from ..types.layouts import entries_of

_NO_AXES: frozenset = frozenset()


def _product_unreduced(
    operands: Sequence[Any], results: Sequence[Any], requested: frozenset, **params: Any
) -> frozenset:
    """Returns the unreduced axes of a product.

    The product of a partial sum and a replicated value is a partial sum.
    """
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
    operands: Sequence[Any], results: Sequence[Any], requested: frozenset, **params: Any
) -> frozenset:
    return unreduced_of_all("add", operands)


def _unreduced_as_operand(
    operands: Sequence[Any], results: Sequence[Any], requested: frozenset, **params: Any
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
    """Returns the partition entries of all dimensions; None if operands are sharded differently."""
    entries: list[Any] = [None] * operands[-1].ndim
    for aval in operands:
        for dimension, entry in enumerate(entries_of(aval)):
            if entry is not None:
                if entries[dimension] not in (None, entry):
                    return None
                entries[dimension] = entry
    return entries


def _select_unreduced(
    operands: Sequence[Any], results: Sequence[Any], requested: frozenset, **params: Any
) -> frozenset:
    return unreduced_of_all("select_n", operands[1:])


def _clamp(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    return entries_of(operands[1])


def _bitcast(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    """Propagation rule of bitcasts, which may add or remove the last dimension."""
    entries, ndim = entries_of(operands[0]), results[0].ndim
    if ndim < len(entries) and entries[-1] is not None:
        raise ShardingTypeError(
            "bitcast_convert_type joins the elements of the last dimension, which cannot be "
            f"sharded. Got operand type {operands[0].str_short()}"
        )
    return (*entries, None)[:ndim]


def _to_extended(operands: Sequence[Any], results: Sequence[Any]) -> Entries:
    return entries_of(operands[0])[: results[0].ndim]


def _from_extended(operands: Sequence[Any], results: Sequence[Any]) -> Entries:
    ndim = results[0].ndim
    return (*entries_of(operands[0]), *(None,) * ndim)[:ndim]


# These operations may be applied to partial sums. Other elementwise primitives have a rule that
# follows from their declaration.
propagation_rules.define(lax.add_p, elementwise_rule(lax.add_p, _sum_unreduced))
propagation_rules.define(lax.add_any_p, elementwise_rule(lax.add_any_p, _sum_unreduced))
propagation_rules.define(lax.mul_p, elementwise_rule(lax.mul_p, _product_unreduced))
for _primitive in (lax.copy_p, lax.stop_gradient_p, lax.reduce_precision_p):
    propagation_rules.define(_primitive, elementwise_rule(_primitive, _unreduced_as_operand))
propagation_rules.define(
    lax.convert_element_type_p,
    Propagation(same_entries, unreduced=_unreduced_as_operand, reduced=True, parameter="sharding"),
)

propagation_rules.define(lax.integer_pow_p, Propagation(same_entries))
propagation_rules.define(lax.clamp_p, Propagation(_clamp))
propagation_rules.define(
    lax.select_n_p, Propagation(_select, unreduced=_select_unreduced, reduced=True)
)
propagation_rules.define(lax.bitcast_convert_type_p, Propagation(_bitcast))
propagation_rules.define(lax.to_edtype_p, Propagation(_to_extended))
propagation_rules.define(lax.from_edtype_p, Propagation(_from_extended))
