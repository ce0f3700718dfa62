# SPDX-License-Identifier: Apache-2.0
"""Minimization of the SciPy interface."""

from olympus_scipy.optimize import *  # noqa: F403
