# SPDX-License-Identifier: Apache-2.0
"""Image processing in any number of dimensions, of the SciPy interface."""

from olympus_scipy.ndimage import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
