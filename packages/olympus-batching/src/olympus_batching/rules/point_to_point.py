# SPDX-License-Identifier: Apache-2.0
"""Exemptions from batching: `psend` and `precv` are not batched."""

from __future__ import annotations

from olympus_ir.lax.point_to_point import precv_p, psend_p

from ..tables import axis_rules, batching_rules, collective_batching_rules

for _table in (batching_rules, axis_rules, collective_batching_rules):
    _table.exempt(psend_p, reason="tokens cannot be batched; ppermute can be batched")
    _table.exempt(precv_p, reason="tokens cannot be batched; ppermute can be batched")
