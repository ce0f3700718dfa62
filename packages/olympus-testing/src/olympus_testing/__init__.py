# SPDX-License-Identifier: Apache-2.0
"""Sample inputs and checkers for OLYMPUS primitives and transformations."""

from __future__ import annotations

from .__about__ import __version__

__all__ = ["__version__"]
