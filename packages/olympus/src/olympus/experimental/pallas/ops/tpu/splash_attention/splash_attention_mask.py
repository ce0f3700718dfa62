# SPDX-License-Identifier: Apache-2.0
"""Sparse masks of attention."""

from olympus_kernels.tpu.attention.masks import *  # noqa: F403
from olympus_kernels.tpu.attention.masks import __all__ as __all__

from ......_faces import present as _present

_present(__name__)
