# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.gpu.decode_attention import _gqa as __gqa
from olympus_kernels.gpu.decode_attention import _mqa as __mqa
from olympus_kernels.gpu.decode_attention import gqa_reference as gqa_reference
from olympus_kernels.gpu.decode_attention import mha_reference as mha_reference
from olympus_kernels.gpu.decode_attention import mqa_reference as mqa_reference
gqa = __gqa
mqa = __mqa
