# SPDX-License-Identifier: Apache-2.0
"""Quantization of arrays to int8."""

from olympus_kernels.tpu.quantization import *  # noqa: F403
from olympus_kernels.tpu.quantization import __all__ as __all__

from ......_faces import present as _present

_present(__name__)
