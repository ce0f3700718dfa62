# SPDX-License-Identifier: Apache-2.0
"""Compiles and executes OLYMPUS programs with XLA on CPU, GPU and TPU."""

from __future__ import annotations

from .__about__ import __version__

__all__ = ["__version__"]
