# SPDX-License-Identifier: Apache-2.0
"""Checks for NaN in the results of collectives."""

from __future__ import annotations

from olympus_ir import lax

from .checked_results import check_results_for_nans

check_results_for_nans((lax.psum_p,))
