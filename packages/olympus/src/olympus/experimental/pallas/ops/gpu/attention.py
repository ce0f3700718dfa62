# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention."""

from olympus_kernels.gpu.attention import *  # noqa: F403
from olympus_kernels.gpu.attention import __all__ as __all__

from ....._faces import present as _present

_present(__name__)
