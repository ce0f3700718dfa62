# SPDX-License-Identifier: Apache-2.0
"""Names for kernels for GPUs in Triton, in addition to the names of `pallas`."""

from olympus_pallas.triton import *  # noqa: F403
from olympus_pallas.triton import __all__ as __all__

from ..._faces import present as _present

_present(__name__)
