# SPDX-License-Identifier: Apache-2.0
"""What is said where a sparse operation takes more memory or time than it seems."""

from __future__ import annotations

__all__ = ["CuSparseEfficiencyWarning", "SparseEfficiencyError", "SparseEfficiencyWarning"]


class SparseEfficiencyError(ValueError):
    """Raised where an operation would store a sparse array inefficiently, unless asked for."""


class SparseEfficiencyWarning(UserWarning):
    """Warns of an operation that stores a sparse array inefficiently."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """Warns of a sparse operation that cuSPARSE does not take over."""
