# SPDX-License-Identifier: Apache-2.0
"""Paged attention of one query per sequence, over keys and values that are stored in pages."""

from olympus_kernels.gpu.paged_attention import *  # noqa: F403
from olympus_kernels.gpu.paged_attention import __all__ as __all__

from ....._faces import present as _present

_present(__name__)
