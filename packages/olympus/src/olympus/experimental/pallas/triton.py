# SPDX-License-Identifier: Apache-2.0
"""What kernels for GPUs have besides."""

from olympus_pallas.triton import *  # noqa: F403
from olympus_pallas.triton import __all__ as __all__
