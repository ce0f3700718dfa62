# SPDX-License-Identifier: Apache-2.0
"""The distribution `norm` of the SciPy interface."""

from olympus_scipy.stats.norm import *  # noqa: F403
