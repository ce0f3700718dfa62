# SPDX-License-Identifier: Apache-2.0
"""Sending and receiving in two steps needs a named axis: both are exempt."""

from __future__ import annotations

from olympus_ir.lax.point_to_point import precv_p, psend_p

from .declarations import samples

for _primitive in (psend_p, precv_p):
    samples.exempt(_primitive, reason="means something across a named axis only")
