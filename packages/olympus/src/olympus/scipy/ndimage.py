# SPDX-License-Identifier: Apache-2.0
"""Images of any number of dimensions, in the SciPy interface."""

from olympus_scipy.ndimage import *  # noqa: F403
