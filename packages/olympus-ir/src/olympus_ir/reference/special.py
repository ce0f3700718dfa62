# SPDX-License-Identifier: Apache-2.0
"""Reference rules of special functions, which compute in double precision and round once."""

from __future__ import annotations

from ..lax import special
from . import special_numerics
from .numerics import in_double
from .tables import reference_rules

for _primitive, _function in {
    special.igamma_p: special_numerics.igamma,
    special.igammac_p: special_numerics.igammac,
    special.igamma_grad_a_p: special_numerics.igamma_grad_a,
    special.random_gamma_grad_p: special_numerics.random_gamma_grad,
    special.zeta_p: special_numerics.zeta,
    special.polygamma_p: special_numerics.polygamma,
    special.bessel_i0e_p: special_numerics.bessel_i0e,
    special.bessel_i1e_p: special_numerics.bessel_i1e,
    special.regularized_incomplete_beta_p: special_numerics.betainc,
}.items():
    reference_rules.define(_primitive, in_double(_function))
