# SPDX-License-Identifier: Apache-2.0
"""Name stacks: the names of the scopes and transformations around an equation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Mark", "NameStack", "TransformationName", "name_stack_text", "no_names"]


class TransformationName(str):
    """The name of a transformation among those of scopes: what is within stands in parentheses."""

    __slots__ = ()


class Mark(str):
    """No name, but attributes of all operations within; see `olympus_ir.programs.marks`.

    Attributes:
      attributes: pairs of names and texts; None takes an attribute of outer marks away.
    """

    __slots__ = ("attributes",)

    # Whether there has been one: lowering looks for them only then.
    are_used = False

    attributes: tuple[tuple[str, str | None], ...]

    def __new__(cls, attributes: Iterable[tuple[str, str | None]]) -> Mark:
        mark = str.__new__(cls, "")
        mark.attributes = tuple(attributes)
        cls.are_used = True
        return mark


class NameStack(tuple[str, ...]):
    """The names around an equation, outermost first.

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
        """The names with those of one more scope inside."""
        return NameStack((*self, name))

    def transform(self, transform_name: str) -> NameStack:
        """The names with that of one more transformation inside."""
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
    """The marks among names: what a function that is traced anew keeps of its surroundings."""
    if not names:
        return names
    return NameStack(name for name in names if name.__class__ is Mark)


def attributes_of(names: NameStack) -> dict[str, str]:
    """The attributes of the marks among names: the innermost decides, and None takes one away."""
    attributes: dict[str, str | None] = {}
    for name in names:
        if isinstance(name, Mark):
            attributes.update(name.attributes)
    return {name: text for name, text in attributes.items() if text is not None}


def name_stack_text(names: tuple[str, ...]) -> str:
    """The names as programs show them: a transformation encloses the outermost scope inside of it.

    Example:
      >>> name_stack_text((TransformationName("vmap"), "layer", "product"))
      'vmap(layer)/product'
    """
    parts: list[str] = []  # the innermost first
    for name in reversed(tuple(names)):
        if name.__class__ is Mark:
            continue
        if name.__class__ is TransformationName:
            parts.append(f"{name}({parts.pop() if parts else ''})")
        else:
            parts.append(name)
    return "/".join(reversed(parts))
