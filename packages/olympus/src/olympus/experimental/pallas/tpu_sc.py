# SPDX-License-Identifier: Apache-2.0
"""What kernels for the sparse cores of TPUs have."""

from olympus_pallas.tpu_sc import *  # noqa: F403
from olympus_pallas.tpu_sc import __all__ as __all__
