# SPDX-License-Identifier: Apache-2.0
"""Lowering rules of `pallas_call` and of kernels over meshes of cores, one for each platform.

A rule interprets the kernel, simulates it (`machine`) or compiles it: `triton` for NVIDIA's GPUs,
`mosaic` for TPUs. The compilers and the machine are imported with the first kernel that needs them.
The top folder: it may import all others, apart from `fuser` and `mosaic_gpu`.
"""

from . import calls as calls
from . import core_maps as core_maps
