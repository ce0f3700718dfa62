# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: SciPy's names beyond those of NumPy."""

from __future__ import annotations

from . import special_matrices
from .special_matrices import *  # noqa: F403

__all__ = [*special_matrices.__all__]
