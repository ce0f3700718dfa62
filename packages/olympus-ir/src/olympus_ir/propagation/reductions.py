# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of reductions and cumulative operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..diagnostics.errors import ShardingTypeError
from ..lax.reductions import CUMULATIVE
from ..programs.propagation import Propagation, propagation_rules
from ..types.layouts import axes_of_entry, entries_of


def _reduced(operands: Sequence[Any], results: Sequence[Any], *, axes: tuple, **params: Any) -> Any:
    return [entry for axis, entry in enumerate(entries_of(operands[0])) if axis not in axes]


def _sum_unreduced(
    operands: Sequence[Any],
    results: Sequence[Any],
    requested: frozenset,
    *,
    axes: tuple,
    out_sharding: Any = None,
    **params: Any,
) -> frozenset:
    """Returns the unreduced axes of a sum.

    A sum over a sharded dimension may remain a partial sum on each device.
    """
    (operand,) = operands
    unreduced_in = frozenset() if operand.layout is None else operand.layout.spec.unreduced
    entries = entries_of(operand)
    summed = {axis for dimension in axes for axis in axes_of_entry(entries[dimension])}
    if requested - unreduced_in - summed:
        raise ShardingTypeError(
            "out_sharding's unreduced axes should be in operand's specs that were summed over. Got "
            f"operand={operand!r}, axes={frozenset(axes)}, unreduced_spec={requested}"
        )
    return unreduced_in if out_sharding is None else requested


def _generic(operands: Sequence[Any], results: Sequence[Any], *, dimensions: tuple, **params: Any):
    return [
        [e for axis, e in enumerate(entries_of(array)) if axis not in dimensions]
        for array in operands[: len(results)]
    ]


def _cumulative(
    operands: Sequence[Any], results: Sequence[Any], *, axis: int, **params: Any
) -> Any:
    entries = entries_of(operands[0])
    if entries[axis] is not None:
        raise ShardingTypeError(
            "Input should be unsharded over the axis being reduced. Got input "
            f"type={operands[0].str_short()} and axis={axis}"
        )
    return entries


for _primitive in (
    lax.reduce_prod_p,
    lax.reduce_max_p,
    lax.reduce_min_p,
    lax.reduce_and_p,
    lax.reduce_or_p,
    lax.reduce_xor_p,
    lax.argmax_p,
    lax.argmin_p,
):
    propagation_rules.define(_primitive, Propagation(_reduced))
propagation_rules.define(
    lax.reduce_sum_p,
    Propagation(_reduced, unreduced=_sum_unreduced, reduced=True, parameter="out_sharding"),
)
propagation_rules.define(lax.reduce_p, Propagation(_generic))
for _primitive in CUMULATIVE:
    propagation_rules.define(_primitive, Propagation(_cumulative))
