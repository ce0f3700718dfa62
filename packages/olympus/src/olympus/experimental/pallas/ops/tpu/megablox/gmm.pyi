# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.grouped_matmul import _gmm as __gmm
from olympus_kernels.tpu.grouped_matmul import _tgmm as __tgmm
from olympus_kernels.tpu.grouped_matmul import make_group_metadata as make_group_metadata
gmm = __gmm
tgmm = __tgmm
