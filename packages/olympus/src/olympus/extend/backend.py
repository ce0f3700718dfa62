# SPDX-License-Identifier: Apache-2.0
"""Backends: the available platforms, and the registration of more platforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_xla.calls.jit import clear_caches as clear_in_memory_compilation_cache
from olympus_xla.compiling.compile_options import get_compile_options as get_compile_options
from olympus_xla.platforms import backends as _backends
from olympus_xla.platforms.backends import backends as backends
from olympus_xla.platforms.backends import clear_backends as clear_backends
from olympus_xla.platforms.backends import get_backend as get_backend
from olympus_xla.platforms.backends import register_backend_factory as register_backend_factory

from .. import _lazy

__all__ = [
    "backend_xla_version",
    "backends",
    "clear_backends",
    "clear_in_memory_compilation_cache",
    "get_backend",
    "get_compile_options",
    "get_default_device",
    "register_backend_cache",
    "register_backend_factory",
]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})


def get_default_device() -> Any:
    """Returns the device of computations whose operands are not committed to a device.

    Example:
      >>> get_default_device().platform
      'cpu'
    """
    return _backends.default_device()


def backend_xla_version(platform: str | None = None) -> int | None:
    """Returns the version of XLA that a platform's plugin reports.

    Args:
      platform: the platform; None for the default one.

    Returns:
      The version, or None if the plugin reports none.
    """
    return getattr(get_backend(platform), "xla_version", None)


def register_backend_cache(cache: Any, for_what: str) -> None:
    """Registers a cache to be cleared when backends are reset.

    Args:
      cache: an object with a method ``cache_clear``.
      for_what: a description of the contents.
    """
    clear: Callable[[], None] = cache.cache_clear
    _backends.on_clear_backends(clear)
