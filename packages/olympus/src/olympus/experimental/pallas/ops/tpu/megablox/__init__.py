# SPDX-License-Identifier: Apache-2.0
"""Grouped matrix products: each group of rows has its own matrix."""

from ......_faces import present as _present
from . import gmm as _kernels  # noqa: F401  before the function takes the module's name
from .ops import gmm

__all__ = ["gmm"]

_present(__name__)
