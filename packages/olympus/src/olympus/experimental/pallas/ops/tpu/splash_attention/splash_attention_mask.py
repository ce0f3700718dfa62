# SPDX-License-Identifier: Apache-2.0
"""Masks of attention with sparse masks."""

from olympus_kernels.tpu.attention.masks import *  # noqa: F403
from olympus_kernels.tpu.attention.masks import __all__ as __all__

from ......_faces import present as _present

_present(__name__)
