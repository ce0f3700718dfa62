# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: rotations."""

from olympus_scipy.spatial.transform import *  # noqa: F403

from ..._faces import present as _present

_present(__name__)
