# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.gpu.rms_norm import rms_norm as rms_norm
from olympus_kernels.gpu.rms_norm import rms_norm_reference as rms_norm_reference
