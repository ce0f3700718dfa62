# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: iterative solvers."""

from olympus_scipy.sparse.linalg import *  # noqa: F403

from ..._faces import present as _present

_present(__name__)
