# SPDX-License-Identifier: Apache-2.0
"""Paged attention of one query per sequence, over keys and values that are stored in pages."""

from olympus_kernels.tpu.attention.paged import paged_attention

from ......_faces import present as _present

__all__ = ["paged_attention"]

_present(__name__)
