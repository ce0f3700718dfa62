# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: interpolation."""

from olympus_scipy.interpolate import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
