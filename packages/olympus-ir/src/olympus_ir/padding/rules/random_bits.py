# SPDX-License-Identifier: Apache-2.0
"""Exemptions from padding rules, for the compiler's generators of random bits."""

from __future__ import annotations

from ... import lax
from ..evaluation import padding_rules

for _primitive in (lax.rng_bit_generator_p, lax.rng_uniform_p):
    padding_rules.exempt(_primitive, reason="its numbers depend on the shape; use threefry keys")
