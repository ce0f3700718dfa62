# SPDX-License-Identifier: Apache-2.0
"""Exemptions from reference evaluation for `psend` and `precv`."""

from __future__ import annotations

from ..lax.point_to_point import precv_p, psend_p
from .tables import reference_rules

for _primitive in (psend_p, precv_p):
    reference_rules.exempt(
        _primitive, reason="only GPUs send and receive as two separate operations"
    )
