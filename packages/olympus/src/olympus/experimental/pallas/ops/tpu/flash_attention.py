# SPDX-License-Identifier: Apache-2.0
"""Dense attention by blocks."""

from olympus_kernels.tpu.attention.flash import *  # noqa: F403
from olympus_kernels.tpu.attention.flash import __all__ as __all__
