# SPDX-License-Identifier: Apache-2.0
"""Iterative solvers of the SciPy interface."""

from olympus_scipy.sparse.linalg import *  # noqa: F403
