# SPDX-License-Identifier: Apache-2.0
"""What kernels for GPUs have that say what each warpgroup does."""

from olympus_pallas.mosaic_gpu import *  # noqa: F403
from olympus_pallas.mosaic_gpu import __all__ as __all__
