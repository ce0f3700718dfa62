# SPDX-License-Identifier: Apache-2.0
"""Refusal to run JAX and OLYMPUS in one process, whichever is imported first.

Both attach methods to the same C++ class of arrays, so the package that is imported second would
change the other's arrays.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any, NoReturn, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_REASON = "both attach their own methods to jaxlib's array type. Use them in two processes, or "


def refuse_jax() -> None:
    """Raises ImportError if JAX has been imported."""
    spec = getattr(sys.modules.get("jax"), "__spec__", None)
    # A module named `jax` need not be JAX: `prime` installs an empty module temporarily, and
    # `olympus.compat` gives the name to OLYMPUS.
    if spec is not None and spec.name != "olympus":
        raise ImportError(
            f"JAX is imported in this process, and OLYMPUS cannot run beside it: {_REASON}find who "
            "imports jax with `python -X importtime`."
        )


def refuse_later_import() -> None:
    """Makes later imports of an installed JAX raise ImportError."""
    if not any(isinstance(finder, _JaxFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _JaxFinder())


# The class has no base class, because `importlib.abc` would import `tempfile` and other modules.
class _JaxFinder:
    """Finder that finds JAX but refuses to load it.

    Programs can still ask whether JAX is installed.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "jax":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = cast(Any, _RefusingLoader())
        return spec


class _RefusingLoader:
    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> NoReturn:
        raise ImportError(
            f"OLYMPUS is imported in this process, and JAX cannot run beside it: {_REASON}call "
            "`olympus.compat.install()` first, by which `import jax` gives OLYMPUS.",
            name=module.__name__,
        )
