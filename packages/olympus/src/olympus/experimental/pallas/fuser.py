# SPDX-License-Identifier: Apache-2.0
"""Fusion of the operations around a kernel into the kernel."""

from olympus_pallas.fuser import *  # noqa: F403
from olympus_pallas.fuser import __all__ as __all__

from ..._faces import present as _present

_present(__name__)
