# SPDX-License-Identifier: Apache-2.0
"""Attributes of foreign calls as parameters of an equation: hashable, compared by value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class HashableArray:
    """An immutable NumPy array that is compared by its elements."""

    __slots__ = ("_hash", "val")

    def __init__(self, val: np.ndarray) -> None:
        self.val = np.array(val)
        self.val.setflags(write=False)
        self._hash = hash((self.val.shape, self.val.dtype, self.val.tobytes()))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, HashableArray)
            and self.val.dtype == other.val.dtype
            and self.val.shape == other.val.shape
            and self.val.tobytes() == other.val.tobytes()
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"HashableArray({self.val!r})"


class FrozenDict:
    """An immutable, hashable dictionary."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = dict(items)

    def items(self) -> Any:
        return self._items.items()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, FrozenDict) and self._items == other._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"FrozenDict({self._items!r})"


class TypedScalar:
    """A scalar compared by type and bits. In Python, ``1``, ``1.0`` and ``True`` are equal."""

    __slots__ = ("_key", "val")

    def __init__(self, val: Any) -> None:
        self.val = val
        is_float = isinstance(val, float | np.floating)
        self._key = (type(val), np.asarray(val).tobytes() if is_float else val)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedScalar) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.val)


def hashable_attribute(name: str, value: Any) -> Any:
    """Returns an attribute of a foreign call in hashable form.

    Raises:
      TypeError: the value cannot be an attribute.
    """
    if isinstance(value, str | bytes | np.dtype):
        return value
    if isinstance(value, np.ndarray):
        return HashableArray(value)
    if isinstance(value, Mapping):
        return FrozenDict(
            {key: hashable_attribute(name, element) for key, element in value.items()}
        )
    if isinstance(value, bool | int | float | np.generic):
        return TypedScalar(value)
    if isinstance(value, tuple):
        return tuple(hashable_attribute(name, element) for element in value)
    reason = "Non-hashable" if getattr(type(value), "__hash__", None) is None else "Unsupported"
    raise TypeError(
        f"{reason} keyword argument to ffi_call {name}: {value!r} of type {type(value).__name__}. "
        "Attributes are scalars, strings, dtypes, NumPy arrays, and tuples and dictionaries of "
        "them; "
        "arrays to be computed with are positional arguments."
    )
