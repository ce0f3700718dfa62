# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: discrete cosine transforms."""

from olympus_scipy.fft import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
