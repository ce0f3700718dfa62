# SPDX-License-Identifier: Apache-2.0
"""Kernels of attention with sparse masks."""

from olympus_kernels.tpu.attention.splash import *  # noqa: F403
from olympus_kernels.tpu.attention.splash import __all__ as __all__

from ......_faces import present as _present

_present(__name__)
