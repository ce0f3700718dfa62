# SPDX-License-Identifier: Apache-2.0
"""The kernel of attention to keys and values in pages."""

from olympus_kernels.tpu.attention.paged import paged_attention

__all__ = ["paged_attention"]
