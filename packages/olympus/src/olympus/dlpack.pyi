# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.arrays.dlpack import from_dlpack as from_dlpack
from olympus_xla.arrays.dlpack import is_supported_dtype as is_supported_dtype
