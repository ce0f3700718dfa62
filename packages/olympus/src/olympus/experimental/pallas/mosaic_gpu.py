# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs that program each warpgroup: the names beyond `pallas`."""

from olympus_pallas.mosaic_gpu import *  # noqa: F403
from olympus_pallas.mosaic_gpu import __all__ as __all__
