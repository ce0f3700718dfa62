# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of tokens, which carry no data."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import bound, jet_rules, zero_prop

jet_rules.define(lax.dce_sink_p, bound(zero_prop, lax.dce_sink_p))
