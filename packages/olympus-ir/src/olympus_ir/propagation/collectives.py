# SPDX-License-Identifier: Apache-2.0
"""Collectives over manual axes, of values that are split over explicit ones as well.

They exchange whole parts between devices, so each dimension stays split as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..programs.layout_inference import unreduced_as_operands
from ..programs.propagation import Propagation, family_rules, propagation_rules, same_entries
from ..types.layouts import entries_of


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

_EXEMPT = {
    "psend": "it works on whole parts of devices with manual axes only",
    "precv": "it works on whole parts of devices with manual axes only",
    "ragged_all_to_all": "it works on whole parts of devices with manual axes only",
    "axis_index": "it has no operands",
}


def _of_family(primitive: Any) -> Propagation | None:
    if primitive.name in _EXEMPT:
        if primitive not in propagation_rules.exemptions:
            propagation_rules.exempt(primitive, reason=_EXEMPT[primitive.name])
        return None
    whole_parts = _all_alike if primitive.multiple_results else same_entries
    return Propagation(
        _RULES.get(primitive.name) or whole_parts, unreduced=unreduced_as_operands, reduced=True
    )


family_rules["collectives"] = _of_family
