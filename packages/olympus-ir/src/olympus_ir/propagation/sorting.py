# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of sorting. Arrays must not be sharded along the sorted dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..diagnostics.errors import ShardingTypeError
from ..programs.propagation import Entries, Propagation, propagation_rules, sharding_text
from ..types.layouts import entries_of


def _sort(
    operands: Sequence[Any], results: Sequence[Any], *, dimension: int, **params: Any
) -> list[Entries]:
    first = operands[0].layout
    if any(aval.layout is not first for aval in operands):
        shown = " ".join(sharding_text(aval, operands) for aval in operands)
        raise ShardingTypeError(f"Arguments to sort must have equal shardings, got: {shown}")
    entries = entries_of(operands[0])
    if entries[dimension] is not None:
        raise ShardingTypeError(
            "Arguments to sort must be unsharded over the sorting dimension. Got arg "
            f"sharding={first} and sorting dimension={dimension}"
        )
    return [entries] * len(results)


def _along(parameter: str) -> Any:
    def split(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> list[Entries]:
        axis = params[parameter] % operands[0].ndim
        entries = entries_of(operands[0])
        if entries[axis] is not None:
            raise ShardingTypeError(
                "The input should be unsharded over the axis along which to compute the top_k "
                f"values. Got input type={operands[0].str_short()} and axis={axis}"
            )
        return [entries] * len(results)

    return split


propagation_rules.define(lax.sort_p, Propagation(_sort))
propagation_rules.define(lax.top_k_p, Propagation(_along("axis")))
propagation_rules.define(lax.approx_top_k_p, Propagation(_along("reduction_dimension")))
