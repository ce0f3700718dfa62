# SPDX-License-Identifier: Apache-2.0
"""The distribution `laplace` of the SciPy interface."""

from olympus_scipy.stats.laplace import *  # noqa: F403
