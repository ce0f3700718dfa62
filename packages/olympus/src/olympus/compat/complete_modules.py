# SPDX-License-Identifier: Apache-2.0
"""Modules whose ``__dict__`` has all their names, as libraries that copy namespaces expect.

A public module of OLYMPUS looks a name up at its first use. Libraries that wrap every function of
``jax.numpy`` iterate over ``vars(jax.numpy)`` instead of asking for names.
"""

from __future__ import annotations

import contextlib
import pkgutil
from types import ModuleType
from typing import Any

__all__ = ["CompleteModule", "complete"]


class CompleteModule(ModuleType):
    """A module that looks all its names up when its ``__dict__`` is first read.

    Submodules that are not imported yet stay out, as in any package.
    """

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        present = super().__dict__
        if "_is_complete" not in present:
            # Set first: `dir` reads the `__dict__` of a module.
            present["_is_complete"] = True
            for name in {*dir(self)} - present.keys() - _submodules(self):
                with contextlib.suppress(AttributeError, ImportError):
                    getattr(self, name)
        return present


def complete(module: ModuleType) -> None:
    """Makes a module whose names are looked up at their first use a `CompleteModule`.

    Args:
      module: the module. One that has a class of its own or all its names stays as it is.

    Example:
      >>> import olympus.scipy.linalg
      >>> complete(olympus.scipy.linalg)
      >>> "cholesky" in vars(olympus.scipy.linalg)
      True
    """
    if type(module) is ModuleType and "__getattr__" in vars(module):
        module.__class__ = CompleteModule


def _submodules(module: ModuleType) -> set[str]:
    return {found.name for found in pkgutil.iter_modules(getattr(module, "__path__", ()))}
