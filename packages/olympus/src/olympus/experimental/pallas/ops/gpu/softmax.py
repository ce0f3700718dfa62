# SPDX-License-Identifier: Apache-2.0
"""Softmax along the last dimension."""

from olympus_kernels.gpu.softmax import *  # noqa: F403
from olympus_kernels.gpu.softmax import __all__ as __all__

from ....._faces import present as _present

_present(__name__)
