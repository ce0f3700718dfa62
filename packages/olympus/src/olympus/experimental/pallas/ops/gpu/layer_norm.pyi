# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.gpu.layer_norm import layer_norm as layer_norm
from olympus_kernels.gpu.layer_norm import layer_norm_reference as layer_norm_reference
