# SPDX-License-Identifier: Apache-2.0
"""Derivatives of random numbers: they are zero, except that integers have none."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import jvp_rules, zero_derivative

jvp_rules.exempt(lax.rng_bit_generator_p, reason="takes integers only, which have no tangents")
jvp_rules.define(lax.rng_uniform_p, zero_derivative)
