# SPDX-License-Identifier: Apache-2.0
"""Exemptions from differentiation: `psend` and `precv` are not differentiated."""

from __future__ import annotations

from olympus_ir.lax.point_to_point import precv_p, psend_p

from ..tables import jvp_rules

jvp_rules.exempt(psend_p, reason="its result is a token; ppermute can be differentiated")
jvp_rules.exempt(precv_p, reason="its operand is a token; ppermute can be differentiated")
