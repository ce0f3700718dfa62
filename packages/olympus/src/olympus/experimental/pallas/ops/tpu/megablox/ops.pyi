# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.grouped_matmul import _gmm as __gmm
gmm = __gmm
