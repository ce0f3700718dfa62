# SPDX-License-Identifier: Apache-2.0
"""Special functions of the SciPy interface."""

from olympus_scipy.special import *  # noqa: F403
