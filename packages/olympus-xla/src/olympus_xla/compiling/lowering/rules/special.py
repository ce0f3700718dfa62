# SPDX-License-Identifier: Apache-2.0
"""Lowering of special functions to single operations or to programs."""

from __future__ import annotations

from olympus_autodiff import gamma_derivatives as gamma_derivatives
from olympus_ir import lax
from olympus_ir.expansions import bessel, incomplete_beta, incomplete_gamma

from ..tables import lower_with, lowering_rules, nary

for _primitive, _operation in {
    lax.zeta_p: "chlo.zeta",
    lax.polygamma_p: "chlo.polygamma",
    lax.bessel_i1e_p: "chlo.bessel_i1e",
}.items():
    lowering_rules.define(_primitive, nary(_operation))

for _primitive, _expansion in {
    lax.igamma_p: incomplete_gamma.igamma,
    lax.igammac_p: incomplete_gamma.igammac,
    lax.igamma_grad_a_p: gamma_derivatives.igamma_grad_a,
    lax.random_gamma_grad_p: gamma_derivatives.random_gamma_grad,
    lax.bessel_i0e_p: bessel.bessel_i0e,
    lax.regularized_incomplete_beta_p: incomplete_beta.betainc,
}.items():
    lowering_rules.define(_primitive, lower_with(_expansion))
