# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of reductions and cumulative operations."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import bound, jet_rules, linear_prop, termwise, zero_prop

for _primitive in (lax.reduce_sum_p, lax.cumsum_p):
    jet_rules.define(_primitive, bound(linear_prop, _primitive))
for _primitive in (lax.reduce_max_p, lax.reduce_min_p, lax.cummax_p, lax.cummin_p):
    jet_rules.define(_primitive, bound(termwise, _primitive))
for _primitive in (
    lax.argmax_p,
    lax.argmin_p,
    lax.reduce_and_p,
    lax.reduce_or_p,
    lax.reduce_xor_p,
):
    jet_rules.define(_primitive, bound(zero_prop, _primitive))
