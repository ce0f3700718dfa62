# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.matmul import _matmul as __matmul
from olympus_kernels.tpu.matmul import matmul_kernel as matmul_kernel
matmul = __matmul
