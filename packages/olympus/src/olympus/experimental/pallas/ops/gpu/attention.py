# SPDX-License-Identifier: Apache-2.0
"""Attention of several heads."""

from olympus_pallas.ops.gpu.attention import *  # noqa: F403
from olympus_pallas.ops.gpu.attention import __all__ as __all__
