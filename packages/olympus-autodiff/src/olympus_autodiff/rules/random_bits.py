# SPDX-License-Identifier: Apache-2.0
"""Derivatives of random numbers: zero for floats, none for integers."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import jvp_rules, zero_derivative

jvp_rules.exempt(lax.rng_bit_generator_p, reason="takes integers only, which have no tangents")
jvp_rules.define(lax.rng_uniform_p, zero_derivative)
