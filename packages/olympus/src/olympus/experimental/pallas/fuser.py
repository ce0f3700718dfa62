# SPDX-License-Identifier: Apache-2.0
"""Fusion of what surrounds a kernel into it."""

from olympus_pallas.fuser import *  # noqa: F403
from olympus_pallas.fuser import __all__ as __all__
