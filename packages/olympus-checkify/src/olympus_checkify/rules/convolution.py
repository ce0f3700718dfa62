# SPDX-License-Identifier: Apache-2.0
"""Checks of convolutions: NaN."""

from __future__ import annotations

from olympus_ir import lax

from .checked_results import check_results_for_nans

check_results_for_nans((lax.conv_general_dilated_p,))
