# SPDX-License-Identifier: Apache-2.0
"""Errors and warnings for sparse operations that are inefficient."""

from __future__ import annotations

__all__ = ["CuSparseEfficiencyWarning", "SparseEfficiencyError", "SparseEfficiencyWarning"]


class SparseEfficiencyError(ValueError):
    """Error for an operation that would store a sparse array inefficiently."""


class SparseEfficiencyWarning(UserWarning):
    """Warning of an operation that stores a sparse array inefficiently."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """Warning of a sparse operation that cuSPARSE does not implement."""
