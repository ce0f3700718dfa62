# SPDX-License-Identifier: Apache-2.0
"""Classes and decorators of classes, under the names of JAX's private module of utilities."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NoReturn, TypeVar

__all__ = ["OrderedSet", "StrictABC", "StrictABCMeta", "use_cpp_class", "use_cpp_method"]

T = TypeVar("T")
C = TypeVar("C", bound=type)


class OrderedSet(Generic[T]):
    """A set that keeps the order in which its elements were added.

    Example:
      >>> elements = OrderedSet()
      >>> elements.update("cabac")
      >>> list(elements), "b" in elements, len(elements)
      (['c', 'a', 'b'], True, 3)
    """

    def __init__(self) -> None:
        self._elements: dict[T, None] = {}

    def add(self, elt: T) -> None:
        """Adds an element at the end, unless the set has it."""
        self._elements.setdefault(elt)

    def update(self, elts: Iterable[T]) -> None:
        """Adds elements at the end."""
        for element in elts:
            self.add(element)

    def __iter__(self) -> Iterator[T]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __contains__(self, elt: object) -> bool:
        return elt in self._elements


class StrictABCMeta(abc.ABCMeta):
    """Metaclass of abstract classes without virtual subclasses."""

    def register(cls, subclass: type) -> NoReturn:  # type: ignore[override]  # refuses
        """Refuses a virtual subclass.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(f"{cls} does not support virtual subclasses")

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


class StrictABC(metaclass=StrictABCMeta):
    """Base of abstract classes without virtual subclasses."""

    __slots__ = ()


def use_cpp_class(cpp_cls: type | None) -> Callable[[C], Any]:
    """Returns a decorator that moves the members of a Python class to a class of C++.

    Members under `use_cpp_method` stay those of C++.

    Example:
      >>> use_cpp_class(None)(int)
      <class 'int'>
    """

    def moved(cls: C) -> Any:
        if cpp_cls is None:
            return cls
        for name, member in vars(cls).items():
            kept = getattr(_function_of(member), "_use_cpp", False)
            if name not in ("__module__", "__dict__", "__doc__") and not kept:
                setattr(cpp_cls, name, member)
        cpp_cls.__doc__ = cls.__doc__
        return cpp_cls

    return moved


def use_cpp_method(is_enabled: bool = True) -> Callable[[T], T]:
    """Returns a decorator of methods that a class of C++ has itself; see `use_cpp_class`.

    Raises:
      TypeError: the argument is not a boolean.
    """
    if not isinstance(is_enabled, bool):
        raise TypeError("``is_enabled`` must be a bool")

    def marked(method: T) -> T:
        if is_enabled:
            _function_of(method)._use_cpp = True
        return method

    return marked


def _function_of(member: Any) -> Any:
    """Returns the function of a property or a static method."""
    return member.fget if isinstance(member, property) else getattr(member, "__func__", member)
