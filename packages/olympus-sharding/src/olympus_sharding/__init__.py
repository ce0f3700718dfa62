# SPDX-License-Identifier: Apache-2.0
"""Device meshes, shardings and partitioning of OLYMPUS programs."""

from __future__ import annotations

from .__about__ import __version__

__all__ = ["__version__"]
