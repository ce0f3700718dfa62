# SPDX-License-Identifier: Apache-2.0
"""Names in JAX's private modules that libraries use, and their counterparts in OLYMPUS.

JAX's private modules are not a public interface, yet released libraries import from them. The
modules in `tables` list the names that libraries import. Each name is looked up when it is first
used. A module that is not listed does not exist, and a name that is not listed raises an
`AttributeError`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from olympus import _lazy

from .finder import PRIVATE
from .tables import NAMES, SPARSE_HELPERS, WHOLE_MODULES

# Modules with attributes that programs assign, and the classes of these modules.
_CLASSES = {
    f"{PRIVATE}.compilation_cache": ("olympus.compat.caches.cache_stores:CompilationCacheModule")
}

# The names in private modules whose parent modules are public.
_PARTS: dict[str, dict[str, str]] = {
    "jax.experimental.colocated_python.func": {},
    "jax.experimental.colocated_python.serialization": {
        **_lazy.names_from("olympus_xla._jaxlib", "DeviceList"),
        **_lazy.names_from("olympus_xla.platforms", "xb=backends"),
    },
    "jax.experimental.sparse.test_util": SPARSE_HELPERS,
}


def private_modules() -> dict[str, Callable[[], ModuleType]]:
    """Returns a dictionary from the names of private modules to functions that make them."""
    modules = {
        f"{PRIVATE}.{below}" if below else PRIVATE: _maker(below, sources)
        for below, sources in WHOLE_MODULES.items()
    }
    parts = {name: functools.partial(_module, name, names) for name, names in _PARTS.items()}
    return {**modules, **parts}


def _maker(below: str, sources: tuple[str, ...]) -> Callable[[], ModuleType]:
    name = f"{PRIVATE}.{below}" if below else PRIVATE
    prefix = f"{below}." if below else ""
    submodules = tuple(
        other.removeprefix(prefix)
        for other in WHOLE_MODULES
        if other and other.startswith(prefix) and "." not in other.removeprefix(prefix)
    )

    def fallback(attribute: str) -> Any:
        for source in sources:
            try:
                return getattr(importlib.import_module(source), attribute)
            except AttributeError:
                continue
        raise AttributeError(attribute)

    return functools.partial(_module, name, NAMES.get(below, {}), submodules, fallback)


def _class_of(name: str) -> type[ModuleType]:
    """Returns the class of a module."""
    if name not in _CLASSES:
        return ModuleType
    source, _, attribute = _CLASSES[name].partition(":")
    return getattr(importlib.import_module(source), attribute)


def _module(
    name: str,
    names: dict[str, str],
    submodules: tuple[str, ...] = (),
    fallback: Callable[[str], Any] | None = None,
) -> ModuleType:
    module = _class_of(name)(name, "Names of OLYMPUS under those of a private module of JAX.")
    attributes: Any = module
    attributes.__getattr__, attributes.__dir__ = _lazy.lazy_attributes(
        name, names, submodules, fallback
    )
    return module
