# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of sparse matrices: eigenvalues and linear systems."""

from __future__ import annotations

from .eigenvalues import lobpcg_standard
from .solving import spsolve, spsolve_p

__all__ = ["lobpcg_standard", "spsolve", "spsolve_p"]
