# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.attention.flash import SegmentIds as SegmentIds
from olympus_kernels.tpu.attention.masks import CausalMask as CausalMask
from olympus_kernels.tpu.attention.masks import FullMask as FullMask
from olympus_kernels.tpu.attention.masks import LocalMask as LocalMask
from olympus_kernels.tpu.attention.masks import Mask as Mask
from olympus_kernels.tpu.attention.masks import MultiHeadMask as MultiHeadMask
from olympus_kernels.tpu.attention.masks import NumpyMask as NumpyMask
from olympus_kernels.tpu.attention.masks import make_causal_mask as make_causal_mask
from olympus_kernels.tpu.attention.masks import make_local_attention_mask as make_local_attention_mask
from olympus_kernels.tpu.attention.masks import make_random_mask as make_random_mask
from olympus_kernels.tpu.attention.splash import BlockSizes as BlockSizes
from olympus_kernels.tpu.attention.splash import QKVLayout as QKVLayout
from olympus_kernels.tpu.attention.splash import make_masked_mha_reference as make_masked_mha_reference
from olympus_kernels.tpu.attention.splash import make_masked_mqa_reference as make_masked_mqa_reference
from olympus_kernels.tpu.attention.splash import make_splash_mha as make_splash_mha
from olympus_kernels.tpu.attention.splash import make_splash_mha_single_device as make_splash_mha_single_device
from olympus_kernels.tpu.attention.splash import make_splash_mqa as make_splash_mqa
from olympus_kernels.tpu.attention.splash import make_splash_mqa_single_device as make_splash_mqa_single_device
