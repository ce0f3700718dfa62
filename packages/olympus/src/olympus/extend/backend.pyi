# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.calls.jit import clear_caches as _clear_caches
from olympus_xla.compiling.compile_options import get_compile_options as get_compile_options
from olympus_xla.platforms.backends import backends as backends
from olympus_xla.platforms.backends import clear_backends as clear_backends
from olympus_xla.platforms.backends import get_backend as get_backend
from olympus_xla.platforms.backends import register_backend_factory as register_backend_factory
from typing import Any
Callable: Any
backend_xla_version: Any
clear_in_memory_compilation_cache = _clear_caches
get_default_device: Any
register_backend_cache: Any
