# SPDX-License-Identifier: Apache-2.0
"""Context managers that say where the equations recorded within come from."""

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
    """A context manager that puts other names in the place of those in force."""

    # What was in force before: the names, and the origin of equations where one is fixed.
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
    """A context manager: equations recorded within carry one more name.

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
    """A context manager: equations recorded within come about by a transformation.

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
    """A context manager: equations recorded within carry these names and no others.

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
    """Returns a context manager: equations recorded within carry no names."""
    return set_name_stack(no_names)


class user_context(set_name_stack):
    """A context manager: equations recorded within come from a place that is known already.

    Args:
      traceback: the lines of the user's program; None leaves them as they are.
      name_stack: the names of the scopes around; None leaves them as they are.
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
