# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.gpu.attention import BlockSizes as BlockSizes
from olympus_kernels.gpu.attention import _mha as __mha
from olympus_kernels.gpu.attention import mha_reference as mha_reference
from olympus_kernels.gpu.attention import segment_mask as segment_mask
mha = __mha
