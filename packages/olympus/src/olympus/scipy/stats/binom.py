# SPDX-License-Identifier: Apache-2.0
"""The distribution `binom` of the SciPy interface."""

from olympus_scipy.stats.binom import *  # noqa: F403
