# SPDX-License-Identifier: Apache-2.0
"""Padding rules of transfers between devices."""

from __future__ import annotations

from ... import lax
from ..evaluation import define_unchanged

define_unchanged(lax.device_put_p)
