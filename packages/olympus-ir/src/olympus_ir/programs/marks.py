# SPDX-License-Identifier: Apache-2.0
"""Marks: attributes of the operations that a ``with`` block or a decorated function traces.

The attributes appear in the compiled program. They are entries of an equation's `NameStack`, like
the names of scopes. They propagate into called functions and derivatives, as names do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from ..diagnostics.name_stacks import Mark, NameStack
from ..settings.user_contexts import UserContext
from .tracing import current

# The attributes that are in force at the call of a compiled function. The function's program
# depends on these attributes.
_around = UserContext(())


def attribute_text(value: Any) -> str:
    """Returns the text of an attribute's value; booleans are in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class MarkedBlock:
    """Context manager and decorator that attaches attributes to the operations traced inside.

    Args:
      attributes: a mapping from names to texts; None removes an attribute set by outer blocks.
    """

    __slots__ = ("_attributes", "_entered")

    def __init__(self, attributes: Mapping[str, str | None]) -> None:
        self._attributes = tuple(sorted(attributes.items()))
        self._entered: list[tuple[NameStack, Any]] = []

    def __enter__(self) -> None:
        override = _around((*_around.value, *self._attributes))
        override.__enter__()
        self._entered.append((current.name_stack, override))
        current.name_stack = NameStack((*current.name_stack, Mark(self._attributes)))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        current.name_stack, override = self._entered.pop()
        override.__exit__(kind, error, traceback)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with MarkedBlock(dict(self._attributes)):
                return function(*args, **kwargs)

        return marked
