# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: minimization of functions."""

from olympus_scipy.optimize import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
