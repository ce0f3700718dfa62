# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of the NumPy interface."""

from olympus_numpy.linalg import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
