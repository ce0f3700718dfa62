# SPDX-License-Identifier: Apache-2.0
"""Automatic differentiation of OLYMPUS programs: jvp, linearize, vjp, grad and their rules."""

from __future__ import annotations

from .__about__ import __version__

__all__ = ["__version__"]
