# SPDX-License-Identifier: Apache-2.0
"""Names for kernels for the sparse cores of TPUs, in addition to the names of `pallas`."""

from olympus_pallas.tpu_sc import *  # noqa: F403
from olympus_pallas.tpu_sc import __all__ as __all__

from ..._faces import present as _present

_present(__name__)
