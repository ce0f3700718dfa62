# SPDX-License-Identifier: Apache-2.0
"""Reproducible, splittable random numbers: keys, counter-based generators, samplers."""

from __future__ import annotations

from .__about__ import __version__

__all__ = ["__version__"]
