# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of window reductions: sums, and reductions that select elements."""

from __future__ import annotations

from olympus_ir.lax import windows

from ..tables import bound, jet_rules, linear_prop, termwise

jet_rules.define(windows.reduce_window_sum_p, bound(linear_prop, windows.reduce_window_sum_p))

for _primitive in (
    windows.reduce_window_max_p,
    windows.reduce_window_min_p,
    windows.select_and_gather_add_p,
    windows.select_and_scatter_add_p,
):
    jet_rules.define(_primitive, bound(termwise, _primitive))
