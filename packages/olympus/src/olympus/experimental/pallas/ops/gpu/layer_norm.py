# SPDX-License-Identifier: Apache-2.0
"""Layer normalization."""

from olympus_kernels.gpu.layer_norm import *  # noqa: F403
from olympus_kernels.gpu.layer_norm import __all__ as __all__

from ....._faces import present as _present

_present(__name__)
