# SPDX-License-Identifier: Apache-2.0
"""Rotations of the SciPy interface."""

from olympus_scipy.spatial.transform import *  # noqa: F403

from ..._faces import present as _present

_present(__name__)
