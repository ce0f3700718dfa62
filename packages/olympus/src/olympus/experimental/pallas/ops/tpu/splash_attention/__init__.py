# SPDX-License-Identifier: Apache-2.0
"""Attention with sparse masks."""

from olympus_kernels.tpu.attention.masks import (
    CausalMask,
    FullMask,
    LocalMask,
    Mask,
    MultiHeadMask,
    NumpyMask,
    make_causal_mask,
    make_local_attention_mask,
    make_random_mask,
)
from olympus_kernels.tpu.attention.splash import (
    BlockSizes,
    QKVLayout,
    SegmentIds,
    make_masked_mha_reference,
    make_masked_mqa_reference,
    make_splash_mha,
    make_splash_mha_single_device,
    make_splash_mqa,
    make_splash_mqa_single_device,
)

from ......_faces import present as _present

__all__ = [
    "BlockSizes",
    "CausalMask",
    "FullMask",
    "LocalMask",
    "Mask",
    "MultiHeadMask",
    "NumpyMask",
    "QKVLayout",
    "SegmentIds",
    "make_causal_mask",
    "make_local_attention_mask",
    "make_masked_mha_reference",
    "make_masked_mqa_reference",
    "make_random_mask",
    "make_splash_mha",
    "make_splash_mha_single_device",
    "make_splash_mqa",
    "make_splash_mqa_single_device",
]

_present(__name__)
