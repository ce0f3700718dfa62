# SPDX-License-Identifier: Apache-2.0
"""Modules that are imported at their first use, which shortens start-up.

A package that exports names of such modules declares them with `lazy_exports`.

A module that few programs need and that is slow to import is declared at the top of the file that
uses it::

    if TYPE_CHECKING:
        import logging
    else:
        logging = deferred("logging", milliseconds=1.5)

All late imports in OLYMPUS have this form. `deferred_modules` lists them, and
`tools/deferred_imports.py` measures the time that each saves. A deferral must not hide an import
cycle: the import contracts in ``pyproject.toml`` do not see deferred imports.
"""

from __future__ import annotations

import gc
import importlib
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

__all__ = [
    "Deferral",
    "deferred",
    "deferred_modules",
    "import_seconds",
    "imported",
    "lazy_exports",
    "timed_import",
]


_loaded_at = time.perf_counter()
# The number of new objects above which an import is large.
_LARGE = 5000


class _TimedImport:
    """Context manager that adds up the time of imports, including nested imports.

    The garbage collector rests meanwhile, and the objects of a large import join those that only
    full collections look at. Modules make many objects and hardly any garbage, and the collector
    would look at each of them several times: a tenth of the time of the import.
    """

    __slots__ = ("_changing", "_collects", "depth", "seconds", "started")

    def __init__(self) -> None:
        self.seconds = self.started = 0.0
        self.depth = 0
        # A finalizer or a handler of signals can import while this thread holds the lock.
        self._changing = threading.RLock()
        self._collects = False

    def __enter__(self) -> None:
        with self._changing:
            if not self.depth:
                self.started = time.perf_counter()
                self._collects = gc.isenabled()
                gc.disable()
            self.depth += 1

    def __exit__(self, *raised: object) -> None:
        with self._changing:
            self.depth -= 1
            if not self.depth:
                self.seconds += time.perf_counter() - self.started
                if self._collects:
                    if gc.get_count()[0] > _LARGE and not gc.get_freeze_count():
                        gc.freeze()
                        gc.unfreeze()  # to the oldest generation
                    gc.enable()

    def add_since_loading(self) -> None:
        """Sets ``seconds`` to the time since this module was loaded.

        The module is loaded near the start of the import.
        """
        self.seconds = time.perf_counter() - _loaded_at


timed_import = _TimedImport()


def imported(module: str) -> ModuleType:
    """Imports a module late, and adds the time to `import_seconds`.

    Args:
      module: the full name of the module.

    Raises:
      ModuleNotFoundError: there is no such module.

    Example:
      >>> imported("colorsys").rgb_to_hsv(0.0, 0.0, 0.0)
      (0.0, 0.0, 0.0)
    """
    with timed_import:
        return importlib.import_module(module)


def import_seconds() -> float:
    """Returns the seconds that imports of OLYMPUS have taken so far."""
    return timed_import.seconds


class Deferral:
    """Record of one late import.

    Attributes:
      module: the full name of the module that is imported late.
      user: the name of the module that declares the deferral.
      milliseconds: the time that start-up saves, as measured on the reference machine.
    """

    __slots__ = ("milliseconds", "module", "user")

    def __init__(self, module: str, user: str, milliseconds: float) -> None:
        self.module = module
        self.user = user
        self.milliseconds = milliseconds

    def __repr__(self) -> str:
        return f"Deferral({self.module!r}, {self.user!r}, milliseconds={self.milliseconds})"


#: All late imports that the loaded modules have declared.
deferred_modules: list[Deferral] = []


class _DeferredModule(ModuleType):
    """Stand-in for a module. The first use of an attribute imports the module."""

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self.__name__)
        # Another thread may be importing the module. It has only some of its names until then.
        if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
            # `inspect` looks for this attribute in all objects, and no module has it.
            if name == "__wrapped__":
                raise AttributeError(name)
            module = imported(self.__name__)
        return getattr(module, name)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))


def deferred(module: str, *, milliseconds: float) -> Any:
    """Returns a stand-in for a module. The first use of an attribute imports the module.

    Args:
      module: the module's name; a leading dot means the package of the calling module.
      milliseconds: the import time that start-up saves, as measured.

    Returns:
      An object with the attributes of the module.

    Raises:
      ValueError: ``milliseconds`` is not positive. An import that takes no time needs no deferral.

    Example:
      >>> colors = deferred("colorsys", milliseconds=0.3)
      >>> colors.rgb_to_hsv(0.0, 0.0, 0.0)
      (0.0, 0.0, 0.0)
    """
    if milliseconds <= 0:
        raise ValueError(
            f"`milliseconds` must be the measured import time of {module}, got {milliseconds}; if "
            "the deferral saves no time, import the module at the top of the file."
        )
    user = sys._getframe(1).f_globals
    name = _full_name(module, user["__package__"])
    deferred_modules.append(Deferral(name, user["__name__"], milliseconds))
    return _DeferredModule(name)


def _full_name(module: str, package: str) -> str:
    """Returns the full name of a module.

    This function replaces `importlib.util.resolve_name`, because `importlib.util` is not loaded at
    start-up.
    """
    name = module.lstrip(".")
    levels = len(module) - len(name)
    return (
        ".".join([*package.split(".")[: package.count(".") + 2 - levels], name]) if levels else name
    )


def lazy_exports(
    package: str, module_of: Mapping[str, str], submodules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` for a package that loads some modules late.

    The first use of a name loads its module and keeps all names that the package imports from it.

    Args:
      package: the package's ``__name__``.
      module_of: a mapping from a name to the module below the package that exports it.
      submodules: public modules below the package that are loaded late themselves.

    Returns:
      The two functions. ``import *`` imports all names except private names and inner modules.

    Example:
      >>> import concurrent
      >>> find, names = lazy_exports("concurrent", {"Future": "futures"})
      >>> find("Future").__name__, "Future" in names()
      ('Future', True)
    """
    namespace = vars(sys.modules[package])

    def __dir__() -> list[str]:
        return sorted({*namespace, *module_of, *submodules})

    def is_public(name: str) -> bool:
        is_inner = isinstance(namespace.get(name), ModuleType) and name not in submodules
        return name[0] != "_" and not is_inner

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # `from package import *` reads `__all__`
            return [present for present in __dir__() if is_public(present)]
        if name in submodules:
            return imported(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = imported(f"{package}.{module_of[name]}")
        namespace.update(
            (public, getattr(module, public))
            for public in module.__all__
            if module_of.get(public) == module_of[name]
        )
        return namespace[name]

    return __getattr__, __dir__
