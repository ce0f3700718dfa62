# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of sorting: the order of elements is constant along the curve."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import bound, jet_rules, termwise

for _primitive in (
    lax.sort_p,
    lax.top_k_p,
    lax.approx_top_k_p,
    lax.order_statistics_p,
):
    jet_rules.define(_primitive, bound(termwise, _primitive))
