# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of callbacks without results, whose operands need not be constant."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import bound, jet_rules, zero_prop

for _primitive in (
    lax.debug_print_p,
    lax.debug_callback_p,
):
    jet_rules.define(_primitive, bound(zero_prop, _primitive))
