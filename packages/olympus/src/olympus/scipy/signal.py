# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: signal processing."""

from olympus_scipy.signal import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
