# SPDX-License-Identifier: Apache-2.0
"""Automatic vectorisation of OLYMPUS programs: vmap and its rules."""

from __future__ import annotations

from .__about__ import __version__

__all__ = ["__version__"]
