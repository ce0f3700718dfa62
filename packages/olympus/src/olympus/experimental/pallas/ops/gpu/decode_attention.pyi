# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.gpu.decode_attention import gqa as gqa
from olympus_kernels.gpu.decode_attention import gqa_reference as gqa_reference
from olympus_kernels.gpu.decode_attention import mha_reference as mha_reference
from olympus_kernels.gpu.decode_attention import mqa as mqa
from olympus_kernels.gpu.decode_attention import mqa_reference as mqa_reference
