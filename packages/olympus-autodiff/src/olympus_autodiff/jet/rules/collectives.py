# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of collectives: linear collectives, and collectives that select elements."""

from __future__ import annotations

from olympus_ir import lax

from ...rules.collectives import LINEAR
from ..tables import bound, jet_rules, linear_prop, termwise

for _primitive in LINEAR:
    jet_rules.define(_primitive, bound(linear_prop, _primitive))


for _primitive in (
    lax.pmax_p,
    lax.pmin_p,
):
    jet_rules.define(_primitive, bound(termwise, _primitive))
