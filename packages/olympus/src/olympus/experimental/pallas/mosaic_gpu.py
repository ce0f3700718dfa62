# SPDX-License-Identifier: Apache-2.0
"""Names for kernels that program each warpgroup of a GPU, in addition to the names of `pallas`."""

from olympus_pallas.mosaic_gpu import *  # noqa: F403
from olympus_pallas.mosaic_gpu import __all__ as __all__

from ..._faces import present as _present

_present(__name__)
