# SPDX-License-Identifier: Apache-2.0
"""Modules whose submodules are imported at their first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["attach"]


def attach(
    package_name: str, submodules: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns the attributes of a package that imports its submodules at their first use.

    Args:
      package_name: the name of the package.
      submodules: the names of the submodules.

    Returns:
      The ``__getattr__``, the ``__dir__`` and the ``__all__`` of the calling module.

    Raises:
      RuntimeError: the calling module has no name.

    Example:
      >>> getattribute, _, names = attach("importlib", ["machinery"])
      >>> getattribute("machinery").__name__, names
      ('importlib.machinery', ['machinery'])
    """
    owner = sys._getframe(1).f_globals.get("__name__")
    if owner is None:
        raise RuntimeError("Cannot determine the ``__name__`` of the caller.")
    names = list(submodules)

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module '{package_name}' has no attribute '{name}'")
        submodule = importlib.import_module(f"{package_name}.{name}")
        setattr(sys.modules[owner], name, submodule)
        return submodule

    return __getattr__, lambda: names, names
