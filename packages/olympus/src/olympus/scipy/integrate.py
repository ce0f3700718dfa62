# SPDX-License-Identifier: Apache-2.0
"""Integration of the SciPy interface."""

from olympus_scipy.integrate import *  # noqa: F403
