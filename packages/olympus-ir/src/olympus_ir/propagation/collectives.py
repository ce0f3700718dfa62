# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of collectives over manual axes, for values also sharded over explicit axes.

Collectives exchange whole shards between devices, so the sharding of the dimensions does not
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..programs.layout_inference import unreduced_as_operands
from ..programs.propagation import Propagation, propagation_rules, same_entries
from ..types.layouts import entries_of


def _gathered(
    operands: Sequence[Any],
    results: Sequence[Any],
    *,
    all_gather_dimension: int,
    tiled: bool,
    **params: Any,
) -> Any:
    entries = entries_of(operands[0])
    if tiled:
        return entries
    return (*entries[:all_gather_dimension], None, *entries[all_gather_dimension:])


def _scattered(
    operands: Sequence[Any],
    results: Sequence[Any],
    *,
    scatter_dimension: int,
    tiled: bool,
    **params: Any,
) -> Any:
    entries = entries_of(operands[0])
    if tiled:
        return entries
    return (*entries[:scatter_dimension], *entries[scatter_dimension + 1 :])


def _exchanged(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Any:
    entries = list(entries_of(operands[0]))
    if not params["tiled"]:
        entry = entries.pop(params["split_axis"])
        entries.insert(params["concat_axis"], entry)
    return entries


def _of_collective(split: Any) -> Propagation:
    return Propagation(split, unreduced=unreduced_as_operands, reduced=True)


propagation_rules.define(lax.all_gather_p, _of_collective(_gathered))
propagation_rules.define(lax.reduce_scatter_p, _of_collective(_scattered))
propagation_rules.define(lax.all_to_all_p, _of_collective(_exchanged))
for _primitive in (
    lax.psum_p,
    lax.pmax_p,
    lax.pmin_p,
    lax.psum_invariant_p,
    lax.pvary_p,
    lax.ppermute_p,
    lax.pbroadcast_p,
):
    propagation_rules.define(_primitive, _of_collective(same_entries))
propagation_rules.exempt(lax.axis_index_p, reason="it has no operands")
