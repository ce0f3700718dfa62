# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.attention.masks import CausalMask as CausalMask
from olympus_kernels.tpu.attention.masks import ChunkedCausalMask as ChunkedCausalMask
from olympus_kernels.tpu.attention.masks import FullMask as FullMask
from olympus_kernels.tpu.attention.masks import LocalMask as LocalMask
from olympus_kernels.tpu.attention.masks import LogicalAnd as LogicalAnd
from olympus_kernels.tpu.attention.masks import LogicalOr as LogicalOr
from olympus_kernels.tpu.attention.masks import Mask as Mask
from olympus_kernels.tpu.attention.masks import MultiHeadMask as MultiHeadMask
from olympus_kernels.tpu.attention.masks import NumpyMask as NumpyMask
from olympus_kernels.tpu.attention.masks import make_causal_mask as make_causal_mask
from olympus_kernels.tpu.attention.masks import make_chunk_attention_mask as make_chunk_attention_mask
from olympus_kernels.tpu.attention.masks import make_local_attention_mask as make_local_attention_mask
from olympus_kernels.tpu.attention.masks import make_random_mask as make_random_mask
