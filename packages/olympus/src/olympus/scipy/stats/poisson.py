# SPDX-License-Identifier: Apache-2.0
"""The distribution `poisson` of the SciPy interface."""

from olympus_scipy.stats.poisson import *  # noqa: F403
