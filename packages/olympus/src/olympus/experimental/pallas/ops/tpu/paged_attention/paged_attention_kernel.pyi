# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.attention.paged import _paged_attention as __paged_attention
paged_attention = __paged_attention
