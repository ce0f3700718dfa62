# SPDX-License-Identifier: Apache-2.0
"""Checks of reductions and cumulative operations: NaN."""

from __future__ import annotations

from olympus_ir import lax

from .checked_results import check_results_for_nans

check_results_for_nans(
    (
        lax.cumlogsumexp_p,
        lax.cumprod_p,
        lax.cumsum_p,
        lax.reduce_prod_p,
        lax.reduce_sum_p,
    )
)
