# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: interpolation of images in any number of dimensions."""

from olympus_scipy.ndimage import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
