# SPDX-License-Identifier: Apache-2.0
"""Checks of special functions: NaN."""

from __future__ import annotations

from olympus_ir import lax

from .checked_results import check_results_for_nans

check_results_for_nans(
    (
        lax.bessel_i0e_p,
        lax.bessel_i1e_p,
        lax.igamma_p,
        lax.igamma_grad_a_p,
        lax.igammac_p,
        lax.regularized_incomplete_beta_p,
    )
)
