# SPDX-License-Identifier: Apache-2.0
"""Softmax along the last dimension."""

from olympus_kernels.gpu.softmax import *  # noqa: F403
from olympus_kernels.gpu.softmax import __all__ as __all__
