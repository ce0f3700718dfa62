# SPDX-License-Identifier: Apache-2.0
"""Vector quantization of the SciPy interface."""

from olympus_scipy.cluster.vq import *  # noqa: F403
