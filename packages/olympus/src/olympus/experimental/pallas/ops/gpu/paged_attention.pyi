# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.gpu.paged_attention import _paged_attention as __paged_attention
from olympus_kernels.gpu.paged_attention import paged_attention_reference as paged_attention_reference
paged_attention = __paged_attention
