# SPDX-License-Identifier: Apache-2.0
"""The distribution `betabinom` of the SciPy interface."""

from olympus_scipy.stats.betabinom import *  # noqa: F403
