# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of window reductions: sums, and reductions that select elements."""

from __future__ import annotations

from olympus_ir.lax.windows import reductions

from ..tables import bound, jet_rules, linear_prop, termwise

jet_rules.define(reductions.reduce_window_sum_p, bound(linear_prop, reductions.reduce_window_sum_p))

for _primitive in (
    reductions.reduce_window_max_p,
    reductions.reduce_window_min_p,
    reductions.select_and_gather_add_p,
    reductions.select_and_scatter_add_p,
):
    jet_rules.define(_primitive, bound(termwise, _primitive))
