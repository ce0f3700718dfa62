# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.images import ResizeMethod as ResizeMethod
from olympus_scipy.images import resize as resize
from olympus_scipy.images import scale_and_translate as scale_and_translate
