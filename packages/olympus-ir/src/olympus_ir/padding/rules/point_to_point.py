# SPDX-License-Identifier: Apache-2.0
"""Padding rules of messages between two devices."""

from __future__ import annotations

from ...lax.point_to_point import precv_p, psend_p
from ..evaluation import define_unchanged

define_unchanged(precv_p, psend_p)
