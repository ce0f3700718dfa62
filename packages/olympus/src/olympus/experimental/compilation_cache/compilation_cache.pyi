# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.compiling.compilation_cache import is_initialized as is_initialized
from olympus_xla.compiling.compilation_cache import reset_cache as reset_cache
from olympus_xla.compiling.compilation_cache import set_cache_dir as set_cache_dir
