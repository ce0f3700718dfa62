# SPDX-License-Identifier: Apache-2.0
"""Exemption from padding rules for `ragged_all_to_all`."""

from __future__ import annotations

from ... import lax
from ..evaluation import padding_rules

padding_rules.exempt(
    lax.ragged_all_to_all_p, reason="it divides and joins dimensions among devices"
)
