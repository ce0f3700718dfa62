# SPDX-License-Identifier: Apache-2.0
"""Rotations of the SciPy interface."""

from olympus_scipy.spatial.transform import *  # noqa: F403
