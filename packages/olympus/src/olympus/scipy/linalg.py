# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of the SciPy interface."""

from olympus_scipy.linalg import *  # noqa: F403
