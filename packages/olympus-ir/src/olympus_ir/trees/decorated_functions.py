# SPDX-License-Identifier: Apache-2.0
"""`DecoratedFunction`, the base of functions with custom rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .pickled_functions import NamedFunction

__all__ = ["DecoratedFunction"]

# The methods by which users define the rules of functions with custom rules.
_RULE_SETTERS = frozenset({"def_vmap", "defjvp", "defjvps", "defvjp"})


class DecoratedFunction(NamedFunction):
    """Base of functions with custom rules.

    A function may have several decorators. The outer decorator forwards the methods that set the
    rules of the inner decorator: ``custom_vmap(custom_jvp(f)).defjvp`` sets the rule of
    ``custom_jvp(f)``.
    """

    fun: Callable[..., Any]

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("fun")
        if name in _RULE_SETTERS and isinstance(inner, DecoratedFunction):
            return getattr(inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
