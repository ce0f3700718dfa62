# SPDX-License-Identifier: Apache-2.0
"""Attention with sparse masks: the masks."""

from olympus_kernels.tpu.attention.masks import *  # noqa: F403
from olympus_kernels.tpu.attention.masks import __all__ as __all__
