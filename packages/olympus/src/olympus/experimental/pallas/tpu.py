# SPDX-License-Identifier: Apache-2.0
"""What kernels for TPUs have besides."""

from olympus_pallas.tpu import *  # noqa: F403
from olympus_pallas.tpu import __all__ as __all__
