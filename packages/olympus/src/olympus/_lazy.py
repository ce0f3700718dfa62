# SPDX-License-Identifier: Apache-2.0
"""Lazy lookup of public names, which keeps importing OLYMPUS fast."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from olympus_ir.diagnostics.traceback_filtering import filter_exception
from olympus_ir.loading import imported

from ._faces import face, missing_name, present

# JAX's words in names and their replacements, the longer words first. Modules accept both.
_WORDS = (("jaxpr", "olympuspr"), ("Jaxpr", "Olympuspr"), ("JAX", "OLYMPUS"), ("Jax", "Olympus"))


def own_spelling(name: str) -> str:
    """Returns ``name`` with JAX's words replaced: ``make_jaxpr`` is ``make_olympuspr``.

    Example:
        >>> own_spelling("ClosedJaxpr")
        'ClosedOlympuspr'
    """
    for word, own in _WORDS:
        name = name.replace(word, own)
    return name.replace("jax", "olympus")


def lazy_attributes(
    module_name: str,
    sources: Mapping[str, str],
    submodules: Iterable[str] = (),
    fallback: Callable[[str], Any] | None = None,
    deprecated: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns the ``__getattr__`` and ``__dir__`` of a module whose names come from other modules.

    Args:
      module_name: the module's ``__name__``.
      sources: maps each name to the ``"module"`` that defines it, or to ``"module:other_name"``.
      submodules: modules below this one.
      fallback: a function that returns the value of any other name, or raises `AttributeError`.
      deprecated: maps deprecated names, as ``sources`` does; each use of such a name warns.

    Returns:
      The functions ``__getattr__`` and ``__dir__``. The module stores each value found, so
      ``__getattr__`` runs once for each name. Deprecated names are not stored.
    """
    moved = deprecated or {}
    present(module_name)

    def find(name: str) -> Any:
        if name in submodules:
            return imported(f"{module_name}.{name}")
        if name in sources:
            return face(module_name, name, _look_up(name, sources[name]))
        if name == "__all__":  # `from ... import *` reads this list
            present = dir(importlib.import_module(module_name))
            return [public for public in present if not public.startswith("_")]
        # Importlib looks up names such as `__path__`, which only the module itself can have.
        if not name.startswith("__"):
            own = own_spelling(name)
            if own != name:
                return getattr(importlib.import_module(module_name), own)
            if fallback is not None:
                with contextlib.suppress(AttributeError):
                    return face(module_name, name, fallback(name))
        raise missing_name(module_name, name, lambda: dir(importlib.import_module(module_name)))

    def __getattr__(name: str) -> Any:
        present_name = own_spelling(name)
        if present_name in moved:
            source = moved[present_name]
            warnings.warn(_deprecation(module_name, name, source), DeprecationWarning, stacklevel=2)
            return face(module_name, name, _look_up(present_name, source))
        try:
            value = find(name)
        except AttributeError as error:
            filter_exception(error)
            raise
        setattr(importlib.import_module(module_name), name, value)
        return value

    def __dir__() -> list[str]:
        present = vars(importlib.import_module(module_name))
        return sorted({*present, *sources, *submodules})

    return __getattr__, __dir__


def _look_up(name: str, source: str) -> Any:
    module, _, attribute = source.partition(":")
    owner = imported(module)
    try:
        return getattr(owner, attribute or name)
    except AttributeError:
        # A package has its submodules as attributes only after they have been imported.
        try:
            return imported(f"{module}.{attribute or name}")
        except ModuleNotFoundError:
            pass
        raise


def _deprecation(module_name: str, name: str, source: str) -> str:
    text = f"{module_name}.{name} is deprecated."
    module, _, attribute = source.partition(":")
    if module.partition(".")[0] != "olympus":
        return text
    return f"{text} Use {module}.{name if attribute in ('', own_spelling(name)) else attribute}."


def names_from(module: str, *names: str) -> dict[str, str]:
    """Returns ``sources`` for names of one module; ``"public=private"`` renames a name."""
    sources = {}
    for name in names:
        public, _, private = name.partition("=")
        sources[public] = f"{module}:{private or public}"
    return sources
