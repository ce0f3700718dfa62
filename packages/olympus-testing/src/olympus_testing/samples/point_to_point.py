# SPDX-License-Identifier: Apache-2.0
"""Exemptions from samples: `psend` and `precv` need a named axis."""

from __future__ import annotations

from olympus_ir.lax.point_to_point import precv_p, psend_p

from .declarations import samples

for _primitive in (psend_p, precv_p):
    samples.exempt(_primitive, reason="means something across a named axis only")
