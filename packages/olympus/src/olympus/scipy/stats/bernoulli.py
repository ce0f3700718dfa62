# SPDX-License-Identifier: Apache-2.0
"""The distribution `bernoulli` of the SciPy interface."""

from olympus_scipy.stats.bernoulli import *  # noqa: F403
