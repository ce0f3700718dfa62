# SPDX-License-Identifier: Apache-2.0
"""Lowering rules of `pallas_call` and of kernels over meshes of cores, one for each platform.

A rule interprets the kernel, simulates it (`machine`) or compiles it. The compiler is `triton` for
NVIDIA's GPUs and `mosaic` for TPUs. The compilers and the machine are imported with the first
kernel that needs them. This is the top folder, which may import all others except `fuser` and
`mosaic_gpu`.
"""

from . import calls as calls
from . import core_maps as core_maps
