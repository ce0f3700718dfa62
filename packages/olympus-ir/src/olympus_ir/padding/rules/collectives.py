# SPDX-License-Identifier: Apache-2.0
"""Padding rules of collectives, whose sizes must be the same on all devices of a group."""

from __future__ import annotations

from ... import lax
from ..evaluation import define_unchanged, padding_rules

define_unchanged(
    lax.pmax_p, lax.pmin_p, lax.ppermute_p, lax.psum_invariant_p, lax.psum_p, lax.pvary_p
)
for _primitive in (
    lax.all_gather_p,
    lax.all_to_all_p,
    lax.axis_index_p,
    lax.pbroadcast_p,
    lax.reduce_scatter_p,
):
    padding_rules.exempt(_primitive, reason="it divides or joins dimensions among devices")
