# SPDX-License-Identifier: Apache-2.0
"""Exemption of exchanges of ragged arrays from padding rules."""

from __future__ import annotations

from ... import lax
from ..evaluation import padding_rules

padding_rules.exempt(
    lax.ragged_all_to_all_p, reason="it divides and joins dimensions among devices"
)
