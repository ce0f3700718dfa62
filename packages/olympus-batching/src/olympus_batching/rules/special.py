# SPDX-License-Identifier: Apache-2.0
"""Batching of special functions: they are elementwise."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import batching_rules, elementwise, unary

for _primitive in (lax.bessel_i0e_p, lax.bessel_i1e_p):
    batching_rules.define(_primitive, unary(_primitive))

for _primitive in (
    lax.igamma_p,
    lax.igammac_p,
    lax.igamma_grad_a_p,
    lax.random_gamma_grad_p,
    lax.zeta_p,
    lax.polygamma_p,
    lax.regularized_incomplete_beta_p,
):
    batching_rules.define(_primitive, elementwise(_primitive))
