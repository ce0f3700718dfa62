# SPDX-License-Identifier: Apache-2.0
"""Name stacks: the names of the scopes and transformations around an equation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Mark", "NameStack", "TransformationName", "name_stack_text", "no_names"]


class TransformationName(str):
    """Name of a transformation in a name stack.

    The name is printed with the inner names in parentheses, as in ``jvp(f)``.
    """

    __slots__ = ()


class Mark(str):
    """Nameless entry of a name stack, which sets attributes of the operations inside.

    See `olympus_ir.programs.marks`.

    Attributes:
      attributes: pairs of names and texts; None removes an attribute set by outer marks.
    """

    __slots__ = ("attributes",)

    # True after the first mark has been made. Until then, lowering does not search for marks.
    are_used = False

    attributes: tuple[tuple[str, str | None], ...]

    def __new__(cls, attributes: Iterable[tuple[str, str | None]]) -> Mark:
        mark = str.__new__(cls, "")
        mark.attributes = tuple(attributes)
        cls.are_used = True
        return mark


class NameStack(tuple[str, ...]):
    """The names of scopes and transformations around an equation, outermost first.

    Args:
      stack: names of scopes, which are strings, and of transformations, `TransformationName`.

    Example:
      >>> print(NameStack(("layer",)).transform("vmap").extend("product"))
      layer/vmap(product)
    """

    __slots__ = ()

    def __new__(cls, stack: Iterable[str] = ()) -> NameStack:
        return tuple.__new__(cls, stack)

    @property
    def stack(self) -> tuple[str, ...]:
        """The names, as a plain tuple."""
        return tuple(self)

    def extend(self, name: str) -> NameStack:
        """Returns the stack with the name of an inner scope appended."""
        return NameStack((*self, name))

    def transform(self, transform_name: str) -> NameStack:
        """Returns the stack with the name of an inner transformation appended."""
        return NameStack((*self, TransformationName(transform_name)))

    def __add__(self, other: tuple[str, ...]) -> NameStack:  # type: ignore[override]
        return NameStack((*self, *other))

    def __radd__(self, other: tuple[str, ...]) -> NameStack:
        return NameStack((*other, *self))

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return NameStack(found) if isinstance(index, slice) else found

    def __str__(self) -> str:
        return name_stack_text(self)

    def __repr__(self) -> str:
        names = [
            f"{'Transform' if isinstance(name, TransformationName) else 'Scope'}"
            f"(name={str.__repr__(name)})"
            for name in self
        ]
        return f"NameStack(stack=({', '.join(names)}{',' if len(names) == 1 else ''}))"


no_names = NameStack()


def marks_of(names: NameStack) -> NameStack:
    """Returns only the marks of a name stack. Newly traced functions inherit these marks."""
    if not names:
        return names
    return NameStack(name for name in names if name.__class__ is Mark)


def attributes_of(names: NameStack) -> dict[str, str]:
    """Returns the attributes of all marks.

    Inner marks override outer marks. The value None removes an attribute.
    """
    attributes: dict[str, str | None] = {}
    for name in names:
        if isinstance(name, Mark):
            attributes.update(name.attributes)
    return {name: text for name, text in attributes.items() if text is not None}


def name_stack_text(names: tuple[str, ...]) -> str:
    """Formats the names of a name stack as printed programs show them.

    Example:
      >>> name_stack_text((TransformationName("vmap"), "layer", "product"))
      'vmap(layer)/product'
    """
    parts: list[str] = []  # the parts, innermost first
    for name in reversed(tuple(names)):
        if name.__class__ is Mark:
            continue
        if name.__class__ is TransformationName:
            parts.append(f"{name}({parts.pop() if parts else ''})")
        else:
            parts.append(name)
    return "/".join(reversed(parts))
