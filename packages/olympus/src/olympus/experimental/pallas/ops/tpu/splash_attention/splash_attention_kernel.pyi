# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.attention.flash import SegmentIds as SegmentIds
from olympus_kernels.tpu.attention.splash import BlockSizes as BlockSizes
from olympus_kernels.tpu.attention.splash import QKVLayout as QKVLayout
from olympus_kernels.tpu.attention.splash import SplashAttentionKernel as SplashAttentionKernel
from olympus_kernels.tpu.attention.splash import attention_reference as attention_reference
from olympus_kernels.tpu.attention.splash import make_attention_reference as make_attention_reference
from olympus_kernels.tpu.attention.splash import make_masked_mha_reference as make_masked_mha_reference
from olympus_kernels.tpu.attention.splash import make_masked_mqa_reference as make_masked_mqa_reference
from olympus_kernels.tpu.attention.splash import make_splash_mha as make_splash_mha
from olympus_kernels.tpu.attention.splash import make_splash_mha_single_device as make_splash_mha_single_device
from olympus_kernels.tpu.attention.splash import make_splash_mqa as make_splash_mqa
from olympus_kernels.tpu.attention.splash import make_splash_mqa_single_device as make_splash_mqa_single_device
DEFAULT_MASK_VALUE: float
