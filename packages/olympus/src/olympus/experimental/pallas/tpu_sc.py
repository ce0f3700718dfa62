# SPDX-License-Identifier: Apache-2.0
"""Kernels for the sparse cores of TPUs: the names beyond `pallas`."""

from olympus_pallas.tpu_sc import *  # noqa: F403
from olympus_pallas.tpu_sc import __all__ as __all__
