# SPDX-License-Identifier: Apache-2.0
"""Caches of values derived from functions. An entry lives as long as its function."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any


class FunctionCache:
    """Cache that maps each function, by a weak reference, to a dictionary of derived values.

    The values must not refer to the function, which would keep it alive forever.

    Example:
      >>> cache = FunctionCache()
      >>> def f(x): return x
      >>> cache.of(f)["times traced"] = 1
      >>> cache.of(f)
      {'times traced': 1}
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[Any, tuple[weakref.ref, dict[Any, Any]]] = {}
        _caches.append(self)

    def of(self, fun: Any) -> dict[Any, Any]:
        """Returns the dictionary of a function.

        A function to which no weak reference can be made gets a new dictionary each time. The
        dictionary of a bound method belongs to the object, because each look-up of a method makes a
        new bound method.
        """
        key: Any
        if fun.__class__ is types.MethodType:
            owner = fun.__self__
            key = (id(owner), fun.__func__)
        else:
            owner = fun
            key = id(fun)
        entry = self._entries.get(key)
        if entry is not None and entry[0]() is owner:
            return entry[1]
        known: dict[Any, Any] = {}
        entries = self._entries
        try:
            reference = weakref.ref(owner, lambda _: entries.pop(key, None))
        except TypeError:  # the function has no weak references
            return known
        entries[key] = (reference, known)
        return known

    def derive(
        self, fun: Any, make: Callable[[Callable[[], Any]], Callable[..., Any]]
    ) -> Callable[..., Any]:
        """Returns the function that ``make`` derives from ``fun``.

        Each call returns the same object, unless ``fun`` does not support weak references.

        ``make`` receives a function without arguments that returns ``fun``. The derived function
        must not hold another reference to ``fun``.
        """
        known = self.of(fun)
        derived = known.get(make)
        if derived is None:
            is_method = fun.__class__ is types.MethodType
            try:
                reference = weakref.WeakMethod(fun) if is_method else weakref.ref(fun)
            except TypeError:
                return make(lambda: fun)
            derived = known[make] = make(reference)
        return derived

    def clear(self) -> None:
        self._entries.clear()


def keep(entries: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Adds an entry to a cache of at most ``most`` entries; drops the oldest entries if it is full.

    Example:
      >>> squares = {1: 1, 2: 4}
      >>> keep(squares, 3, 9, most=2)
      >>> squares
      {2: 4, 3: 9}
    """
    entries[key] = value
    if len(entries) > most:
        for old in list(entries)[: len(entries) - most]:
            entries.pop(old, None)


_caches: list[FunctionCache] = []


def forget_function(fun: Any) -> None:
    """Removes the entries of one function from all caches."""
    for cache in _caches:
        cache.of(fun).clear()


def clear_function_caches() -> None:
    """Clears all caches of values derived from functions, such as traced programs."""
    for cache in _caches:
        cache.clear()
