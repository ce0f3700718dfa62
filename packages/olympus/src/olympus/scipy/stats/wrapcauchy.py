# SPDX-License-Identifier: Apache-2.0
"""The distribution `wrapcauchy` of the SciPy interface."""

from olympus_scipy.stats.wrapcauchy import *  # noqa: F403
