# SPDX-License-Identifier: Apache-2.0
"""Exemptions of operations on mutable references from padding rules."""

from __future__ import annotations

from ...references.primitives import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)
from ..evaluation import padding_rules

for _primitive in (addupdate_p, empty_ref_p, free_ref_p, freeze_p, get_p, new_ref_p, swap_p):
    padding_rules.exempt(_primitive, reason="references have fixed shapes")
