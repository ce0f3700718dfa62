# SPDX-License-Identifier: Apache-2.0
"""Glimpses: records of Python values that tell later whether a value has changed.

A glimpse keeps numbers, strings and small containers of these. It refers to all other values
weakly, so a record of past calls keeps no array or model alive.
"""

from __future__ import annotations

import enum
import types
import weakref
from typing import Any

import numpy as np

__all__ = ["Glimpse"]

_ATOMS = frozenset({int, float, bool, str, bytes, complex, type(None), type(Ellipsis)})
_MOST_PARTS = 16
_MOST_LETTERS = 60


class Glimpse:
    """Record of a Python value, made so that a later change of the value can be detected.

    Args:
      value: the value.
      depth: the number of levels of containers to keep.
    """

    __slots__ = ("_identity", "_kind", "_reference", "_value")

    def __init__(self, value: Any, depth: int = 2) -> None:
        kind = type(value)
        self._kind = kind
        self._reference: Any = None
        self._value: Any = None
        self._identity: Any = None
        if kind in _ATOMS or isinstance(value, enum.Enum | np.generic):
            self._value = value
        elif kind in (tuple, list) and depth and len(value) <= _MOST_PARTS:
            self._value = [Glimpse(element, depth - 1) for element in value]
        elif kind is dict and depth and len(value) <= _MOST_PARTS:
            self._value = [
                (Glimpse(key, 1), Glimpse(element, depth - 1)) for key, element in value.items()
            ]
        else:
            self._identity = id(value)
            # A function defined again from the same code counts as the same function.
            code = getattr(_innermost(value), "__code__", None)
            if isinstance(code, types.CodeType):
                self._value = code
            try:
                self._reference = weakref.ref(value)
            except TypeError:  # objects of this type cannot be referenced weakly
                pass

    def is_same(self, other: Glimpse) -> bool:
        """Returns whether two records describe equal values.

        Numbers, strings and small containers are compared by value, and functions by code. Other
        objects are equal if they are the same object. Different objects are also equal if both are
        alive, have a hash, and compare equal with ``==``.
        """
        if self._kind is not other._kind:
            return False
        if self._identity is None or self._value is not None:
            return _same(self._value, other._value)
        if self._identity != other._identity:
            return _hashable_and_equal(self._object(), other._object())
        # Python may give the address of a dead object to another object.
        return self._reference is None or (self._object() is other._object() is not None)

    def _object(self) -> Any:
        return None if self._reference is None else self._reference()

    def __str__(self) -> str:
        value = self._value
        if self._identity is None:
            return _shortened(self._container_text() if isinstance(value, list) else repr(value))
        if value is not None:
            return f"{value.co_qualname} at {value.co_filename}:{value.co_firstlineno}"
        alive = self._object()
        if alive is None:
            return f"an object of type {self._kind.__name__}"
        shape, dtype = getattr(alive, "shape", None), getattr(alive, "dtype", None)
        if isinstance(shape, tuple) and dtype is not None:
            return f"{dtype}[{','.join(map(str, shape))}] (id {self._identity:#x})"
        if self._kind.__repr__ is object.__repr__:
            return f"{self._kind.__name__} object (id {self._identity:#x})"
        return _shortened(repr(alive))

    def _container_text(self) -> str:
        if self._kind is dict:
            return "{" + ", ".join(f"{key}: {value}" for key, value in self._value) + "}"
        parts = ", ".join(map(str, self._value))
        if self._kind is list:
            return f"[{parts}]"
        return f"({parts},)" if len(self._value) == 1 else f"({parts})"


def _innermost(value: Any) -> Any:
    for _ in range(100):  # a longer chain of wrappers must be circular
        wrapped = value.__dict__.get("__wrapped__") if hasattr(value, "__dict__") else None
        if wrapped is None:
            return value
        value = wrapped
    return value


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, Glimpse):
        return first.is_same(second)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    # Compares texts, because NaN differs from itself, and types, because True equals 1.
    return type(first) is type(second) and (first == second or repr(first) == repr(second))


def _hashable_and_equal(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return False
    try:
        hash(first)
        return bool(first == second)
    except Exception:  # a user's method may raise anything
        return False


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + "..."
