# SPDX-License-Identifier: Apache-2.0
"""Exemptions from propagation for `psend` and `precv`, which transfer whole shards."""

from __future__ import annotations

from ..lax.point_to_point import precv_p, psend_p
from ..programs.propagation import propagation_rules

for _primitive in (psend_p, precv_p):
    propagation_rules.exempt(
        _primitive, reason="it transfers whole shards between devices, over manual axes only"
    )
