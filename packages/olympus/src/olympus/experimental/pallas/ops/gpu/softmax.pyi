# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.gpu.softmax import softmax as softmax
