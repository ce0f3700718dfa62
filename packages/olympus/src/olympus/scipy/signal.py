# SPDX-License-Identifier: Apache-2.0
"""Signal processing of the SciPy interface."""

from olympus_scipy.signal import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
