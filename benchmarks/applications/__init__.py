# SPDX-License-Identifier: Apache-2.0
"""Whole programs, as users of NumPy, PyTorch, JAX, OLYMPUS and Numba write them.

`python -m benchmarks.applications` measures them and compares their results.
"""

from . import networks, simulations, statistics
from .declarations import Application

__all__ = ["APPLICATIONS", "Application"]

APPLICATIONS = (
    *networks.APPLICATIONS,
    *statistics.APPLICATIONS,
    *simulations.APPLICATIONS,
)
