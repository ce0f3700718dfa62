# SPDX-License-Identifier: Apache-2.0
"""Attention with sparse masks: its kernels."""

from olympus_kernels.tpu.attention.splash import *  # noqa: F403
from olympus_kernels.tpu.attention.splash import __all__ as __all__
