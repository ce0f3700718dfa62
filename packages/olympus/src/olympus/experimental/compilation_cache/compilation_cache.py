# SPDX-License-Identifier: Apache-2.0
"""The persistent compilation cache: compiled programs on disk."""

from olympus_xla.compiling.compilation_cache import is_initialized, reset_cache, set_cache_dir

from ..._faces import present as _present

__all__ = ["is_initialized", "reset_cache", "set_cache_dir"]

_present(__name__)
