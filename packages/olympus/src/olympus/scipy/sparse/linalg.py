# SPDX-License-Identifier: Apache-2.0
"""Iterative solvers of the SciPy interface."""

from olympus_scipy.sparse.linalg import *  # noqa: F403

from ..._faces import present as _present

_present(__name__)
