# SPDX-License-Identifier: Apache-2.0
"""The product of two matrices."""

from olympus_kernels.tpu.matmul import *  # noqa: F403
from olympus_kernels.tpu.matmul import __all__ as __all__
