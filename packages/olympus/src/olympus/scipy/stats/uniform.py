# SPDX-License-Identifier: Apache-2.0
"""The distribution `uniform` of the SciPy interface."""

from olympus_scipy.stats.uniform import *  # noqa: F403
