# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs in Triton: the names beyond `pallas`."""

from olympus_pallas.triton import *  # noqa: F403
from olympus_pallas.triton import __all__ as __all__
