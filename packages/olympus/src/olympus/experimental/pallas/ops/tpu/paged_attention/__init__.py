# SPDX-License-Identifier: Apache-2.0
"""Attention of one query per sequence to keys and values in pages."""

from olympus_kernels.tpu.attention.paged import paged_attention

__all__ = ["paged_attention"]
