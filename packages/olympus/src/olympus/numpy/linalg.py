# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of the NumPy interface."""

from olympus_numpy.linalg import *  # noqa: F403
