# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.gpu.softmax import _softmax as __softmax
softmax = __softmax
