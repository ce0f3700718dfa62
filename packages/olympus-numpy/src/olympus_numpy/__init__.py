# SPDX-License-Identifier: Apache-2.0
"""The NumPy API composed from the OLYMPUS instruction set."""

from __future__ import annotations

from .__about__ import __version__

__all__ = ["__version__"]
