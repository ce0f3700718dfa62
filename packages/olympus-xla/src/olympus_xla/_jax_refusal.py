# SPDX-License-Identifier: Apache-2.0
"""Refusal of JAX beside OLYMPUS in one process, whichever of them is imported first.

Both attach methods to the same C++ class of arrays, so the second import would change the arrays of
the first.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_REASON = "both attach their own methods to jaxlib's array type. Use them in two processes, or "


def refuse_jax() -> None:
    """Raises ImportError if JAX has been imported."""
    spec = getattr(sys.modules.get("jax"), "__spec__", None)
    # Priming publishes an empty module of this name for a moment, and `olympus.compat` gives the
    # name to OLYMPUS.
    if spec is not None and spec.name != "olympus":
        raise ImportError(
            f"JAX is imported in this process, and OLYMPUS cannot run beside it: {_REASON}find who "
            "imports jax with `python -X importtime`."
        )


def refuse_later_import() -> None:
    """Makes ``import jax`` raise ImportError from now on where JAX is installed."""
    if not any(isinstance(finder, _JaxFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _JaxFinder())


class _JaxFinder(MetaPathFinder):
    """Finds JAX, for programs that ask whether it is installed, and refuses to load it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "jax":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _RefusingLoader()
        return spec


class _RefusingLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> NoReturn:
        raise ImportError(
            f"OLYMPUS is imported in this process, and JAX cannot run beside it: {_REASON}call "
            "`olympus.compat.install()` first, by which `import jax` gives OLYMPUS.",
            name=module.__name__,
        )
