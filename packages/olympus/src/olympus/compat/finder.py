# SPDX-License-Identifier: Apache-2.0
"""The import hook that finds OLYMPUS's modules under JAX's names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .complete_modules import complete

JAX = "jax"
PRIVATE = "jax._src"

# These modules have JAX's name as ``__name__``: libraries compare ``xp.__name__`` to tell
# NumPy-like namespaces apart.
_NAMED_AS_IN_JAX = ("jax.numpy",)


def own_name(name: str) -> str:
    """Returns the name of OLYMPUS's module that provides the public names of a module of JAX.

    Example:
        >>> own_name("jax.numpy.linalg")
        'olympus.numpy.linalg'
    """
    return "olympus" + name.removeprefix(JAX)


class AliasFinder(MetaPathFinder):
    """Finds ``jax`` and all modules below it, before any other finder can.

    Args:
      version: the version in the metadata of the distribution ``jax``.
      private_modules: maps names of private modules to functions that make the modules. Private
        modules are below ``jax._src`` or below public modules.
    """

    def __init__(self, version: str, private_modules: Mapping[str, Callable[[], ModuleType]]):
        self._version = version
        self._private_modules = private_modules

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != JAX and not fullname.startswith(f"{JAX}."):
            return None
        if fullname == PRIVATE or fullname.startswith(f"{PRIVATE}."):
            return self._find_private(fullname)
        own = own_name(fullname)
        spec = importlib.util.find_spec(own)
        if spec is None:
            raise ModuleNotFoundError(
                f"OLYMPUS has no module {fullname!r} (it would be {own!r})", name=fullname
            )
        return ModuleSpec(
            fullname,
            AliasLoader(own, self._parts_of(fullname)),
            origin=spec.origin,
            is_package=spec.submodule_search_locations is not None,
        )

    def _parts_of(self, fullname: str) -> dict[str, Callable[[], ModuleType]]:
        """Maps the name of each private submodule of a module to the function that makes it."""
        return {
            name: make
            for name, make in self._private_modules.items()
            if name.rpartition(".")[0] == fullname
        }

    def _find_private(self, fullname: str) -> ModuleSpec:
        make = self._private_modules.get(fullname)
        if make is None:
            raise ModuleNotFoundError(
                f"OLYMPUS has no module {fullname!r}: of JAX's private modules, OLYMPUS provides "
                "only the names that libraries are known to use",
                name=fullname,
            )
        return ModuleSpec(fullname, PrivateLoader(make), is_package=True)

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterable[Distribution]:
        """Yields the distribution ``jax``, so that `importlib.metadata` knows its version."""
        if context is not None and context.name == JAX:
            yield JaxDistribution(self._version)


class AliasLoader(Loader):
    """Loader that returns an existing module under a second name, with private submodules.

    Args:
      own: the module's name in OLYMPUS.
      parts: functions that make the private modules, by full name.
    """

    def __init__(self, own: str, parts: Mapping[str, Callable[[], ModuleType]]):
        self._own = own
        self._parts = parts

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._own)
        if spec.name in _NAMED_AS_IN_JAX:
            module.__name__ = spec.name
        # Importlib overwrites the module's specification; `exec_module` restores it.
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec
        complete(module)
        # Importlib finds submodules of packages only. This module may not be a package, so its
        # submodules are made here.
        for name, make in self._parts.items():
            sys.modules[name] = make()
            setattr(module, name.rpartition(".")[2], sys.modules[name])

    def get_code(self, fullname: str) -> CodeType | None:
        """Returns the module's code, which ``python -m`` runs."""
        spec = importlib.util.find_spec(self._own)
        loader: Any = spec.loader if spec is not None else None
        return loader.get_code(self._own)


class PrivateLoader(Loader):
    """Loader of a module that a function makes."""

    def __init__(self, make: Callable[[], ModuleType]):
        self._make = make

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._make()

    def exec_module(self, module: ModuleType) -> None:
        pass


class JaxDistribution(Distribution):
    """The metadata of a distribution ``jax`` without files."""

    def __init__(self, version: str):
        self._version = version

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: {JAX}\nVersion: {self._version}\n"
        return None

    def locate_file(self, path: Any) -> Any:
        return Path(path)
