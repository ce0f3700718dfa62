# SPDX-License-Identifier: Apache-2.0
"""Softmax along the last dimension."""

from olympus_pallas.ops.gpu.softmax import *  # noqa: F403
from olympus_pallas.ops.gpu.softmax import __all__ as __all__
