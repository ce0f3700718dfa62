# SPDX-License-Identifier: Apache-2.0
"""Dense attention by blocks."""

from olympus_kernels.tpu.attention.flash import *  # noqa: F403
from olympus_kernels.tpu.attention.flash import __all__ as __all__

from ....._faces import present as _present

_present(__name__)
