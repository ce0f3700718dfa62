# SPDX-License-Identifier: Apache-2.0
"""Collectives over manual axes, of values that are split over explicit ones as well.

They exchange whole parts between devices, so each dimension stays split as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..layouts import entries_of
from ..primitives import primitives
from .tables import Propagation, propagation_rules, same_entries


def _all_alike(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Any:
    return [entries_of(aval) for aval in operands[: len(results)]]


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


_RULES = {
    "all_gather": _gathered,
    "reduce_scatter": _scattered,
    "all_to_all": _exchanged,
}

for _primitive in primitives():
    if _primitive.family == "collectives":
        if _primitive.name in ("psend", "precv", "ragged_all_to_all"):
            propagation_rules.exempt(
                _primitive, reason="it works on whole parts of devices with manual axes only"
            )
        elif _primitive.name == "axis_index":
            propagation_rules.exempt(_primitive, reason="it has no operands")
        else:
            _rule = _RULES.get(_primitive.name) or (
                _all_alike if _primitive.multiple_results else same_entries
            )
            propagation_rules.define(_primitive, Propagation(_rule))
