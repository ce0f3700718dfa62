# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.attention.flash import BlockSizes as BlockSizes
from olympus_kernels.tpu.attention.flash import SegmentIds as SegmentIds
from olympus_kernels.tpu.attention.flash import flash_attention as flash_attention
from olympus_kernels.tpu.attention.flash import mha_reference as mha_reference
DEFAULT_MASK_VALUE: float
