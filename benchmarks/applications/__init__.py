# SPDX-License-Identifier: Apache-2.0
"""Whole programs, as users of NumPy, PyTorch, JAX, OLYMPUS and Numba write them.

`peers` measures them side by side and compares their results.
"""

from . import networks, simulations, statistics
from .declarations import Application

__all__ = ["APPLICATIONS", "Application"]

APPLICATIONS = (
    *networks.APPLICATIONS,
    *statistics.APPLICATIONS,
    *simulations.APPLICATIONS,
)
