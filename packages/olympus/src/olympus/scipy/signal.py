# SPDX-License-Identifier: Apache-2.0
"""Signal processing of the SciPy interface."""

from olympus_scipy.signal import *  # noqa: F403
