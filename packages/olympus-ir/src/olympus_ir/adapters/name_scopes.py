# SPDX-License-Identifier: Apache-2.0
"""Context managers that set the name stack and the source of equations recorded in their bodies."""

from __future__ import annotations

from typing import Any

from .._jaxlib import Traceback
from ..diagnostics.name_stacks import NameStack, no_names
from ..diagnostics.source_info import SourceInfo
from ..programs.tracing import current

__all__ = [
    "extend_name_stack",
    "reset_name_stack",
    "set_name_stack",
    "transform_name_stack",
    "user_context",
]


class _NameScope:
    """Base of context managers that replace the current name stack."""

    # `prev` is the previous name stack. `_source` is the previous fixed source of equations, or
    # None.
    __slots__ = ("_source", "prev")

    prev: NameStack
    _source: SourceInfo | None

    def _names(self) -> NameStack:
        raise NotImplementedError(f"{type(self).__name__} must define _names")

    def __enter__(self) -> NameStack | None:
        self.prev, self._source = current.name_stack, current.source
        names = current.name_stack = self._names()
        if self._source is not None:
            current.source = self._source.replace(name_stack=names)
        return names

    def __exit__(self, *exception: object) -> None:
        current.name_stack, current.source = self.prev, self._source


class extend_name_stack(_NameScope):
    """Context manager that appends a scope name to the name stack.

    Args:
      name: the name of a scope.

    Example:
      >>> with extend_name_stack("layer"), extend_name_stack("product") as names:
      ...     print(names)
      layer/product
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def _names(self) -> NameStack:
        return current.name_stack.extend(self.name)


class transform_name_stack(extend_name_stack):
    """Context manager that appends the name of a transformation to the name stack.

    Args:
      name: the name of the transformation.

    Example:
      >>> with transform_name_stack("vmap"), extend_name_stack("product") as names:
      ...     print(names)
      vmap(product)
    """

    __slots__ = ()

    def _names(self) -> NameStack:
        return current.name_stack.transform(self.name)


class set_name_stack(_NameScope):
    """Context manager that sets the name stack.

    Args:
      name_stack: the names.
    """

    __slots__ = ("name_stack",)

    def __init__(self, name_stack: NameStack) -> None:
        self.name_stack = name_stack

    def _names(self) -> NameStack:
        return self.name_stack

    def __enter__(self) -> None:
        super().__enter__()


def reset_name_stack() -> set_name_stack:
    """Returns a context manager that empties the name stack."""
    return set_name_stack(no_names)


class user_context(set_name_stack):
    """Context manager that sets the source of the equations that its body records.

    Args:
      traceback: the traceback of the user's program; None leaves it unchanged.
      name_stack: the name stack; None leaves it unchanged.
    """

    __slots__ = ("traceback",)

    def __init__(self, traceback: Traceback | None, *, name_stack: NameStack | None = None) -> None:
        self.traceback = traceback
        super().__init__(name_stack)  # type: ignore[arg-type]

    def _names(self) -> NameStack:
        return current.name_stack if self.name_stack is None else self.name_stack

    def __enter__(self) -> None:
        super().__enter__()
        traceback: Any = self.traceback
        if traceback is not None:
            current.source = SourceInfo(traceback, current.name_stack)
