# SPDX-License-Identifier: Apache-2.0
"""The distribution `dirichlet` of the SciPy interface."""

from olympus_scipy.stats.dirichlet import *  # noqa: F403
