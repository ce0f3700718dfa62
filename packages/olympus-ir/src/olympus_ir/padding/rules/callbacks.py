# SPDX-License-Identifier: Apache-2.0
"""Exemptions of callbacks from padding rules."""

from __future__ import annotations

from ... import lax
from ..evaluation import padding_rules

for _primitive in (
    lax.callbacks.debug_callback_p,
    lax.callbacks.debug_print_p,
    lax.callbacks.io_callback_p,
    lax.callbacks.pure_callback_p,
):
    padding_rules.exempt(_primitive, reason="the function on the host would receive the padding")
