# SPDX-License-Identifier: Apache-2.0
"""Interpolation of the SciPy interface."""

from olympus_scipy.interpolate import *  # noqa: F403
