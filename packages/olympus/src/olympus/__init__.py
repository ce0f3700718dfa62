# SPDX-License-Identifier: Apache-2.0
"""Composable transformations of NumPy programs: differentiate, vectorise, compile to CPU, GPU and TPU."""

from __future__ import annotations

from .__about__ import __version__

__all__ = ["__version__"]
