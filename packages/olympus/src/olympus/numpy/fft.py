# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms of the NumPy interface."""

from olympus_numpy.fft import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
