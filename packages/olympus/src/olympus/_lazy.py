# SPDX-License-Identifier: Apache-2.0
"""Names that are looked up when they are first used, so that importing OLYMPUS stays quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_attributes(
    module_name: str, sources: Mapping[str, str], submodules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a module whose names live elsewhere.

    Args:
      module_name: the module's ``__name__``.
      sources: from a name to ``"module"`` that has it, or ``"module:other_name"``.
      submodules: modules below this one.

    Returns:
      The two functions; what they find is kept in the module, so they run once for each name.
    """

    def __getattr__(name: str) -> Any:
        if name in submodules:
            return importlib.import_module(f"{module_name}.{name}")
        source = sources.get(name)
        if source is None:
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}")
        where, _, attribute = source.partition(":")
        value = getattr(importlib.import_module(where), attribute or name)
        setattr(importlib.import_module(module_name), name, value)
        return value

    def __dir__() -> list[str]:
        present = vars(importlib.import_module(module_name))
        return sorted({*present, *sources, *submodules})

    return __getattr__, __dir__


def names_from(module: str, *names: str) -> dict[str, str]:
    """Sources for names that one module has; ``"public=private"`` renames."""
    sources = {}
    for name in names:
        public, _, private = name.partition("=")
        sources[public] = f"{module}:{private or public}"
    return sources
