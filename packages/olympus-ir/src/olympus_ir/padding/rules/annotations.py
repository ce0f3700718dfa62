# SPDX-License-Identifier: Apache-2.0
"""Padding rules of annotations, which change no values."""

from __future__ import annotations

from typing import Any

from ...lax.annotations.primitives import (
    compute_on_p,
    fused_call_p,
    layout_constraint_p,
    shard_alike_p,
    xla_metadata_call_p,
    xla_metadata_value_p,
)
from ...programs.olympuspr import ClosedOlympuspr
from ..evaluation import Site, define_unchanged, evaluate_padded, padding_rules

define_unchanged(layout_constraint_p, shard_alike_p, xla_metadata_value_p)


def _called(site: Site, *operands: Any, jaxpr: ClosedOlympuspr, **params: Any) -> Any:
    return evaluate_padded(jaxpr, site.lengths, operands)


for _primitive in (compute_on_p, fused_call_p, xla_metadata_call_p):
    padding_rules.define(_primitive, _called)
