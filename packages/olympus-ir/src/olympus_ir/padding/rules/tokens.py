# SPDX-License-Identifier: Apache-2.0
"""Exemptions from padding rules, for tokens, which order effects."""

from __future__ import annotations

from ...lax.tokens import after_all_p, create_token_p, dce_sink_p
from ..evaluation import define_unchanged, padding_rules

define_unchanged(dce_sink_p)
for _primitive in (after_all_p, create_token_p):
    padding_rules.exempt(_primitive, reason="tokens have no dimensions")
