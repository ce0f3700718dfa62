# SPDX-License-Identifier: Apache-2.0
"""Checks of special functions: NaN."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import error_rules
from .checked_results import with_value_check

# The results of all other special functions are checked; see `checked_results`.
for _primitive in (lax.zeta_p, lax.polygamma_p):
    error_rules.define(_primitive, with_value_check)
