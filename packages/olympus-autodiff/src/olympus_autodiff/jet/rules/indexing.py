# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of indexing: indices are constant along the curve."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import bound, jet_rules, linear_prop, termwise

jet_rules.define(lax.slice_p, bound(linear_prop, lax.slice_p))

for _primitive in (
    lax.dynamic_slice_p,
    lax.dynamic_update_slice_p,
    lax.gather_p,
    lax.scatter_p,
    lax.scatter_add_p,
    lax.scatter_sub_p,
    lax.scatter_min_p,
    lax.scatter_max_p,
):
    jet_rules.define(_primitive, bound(termwise, _primitive))
