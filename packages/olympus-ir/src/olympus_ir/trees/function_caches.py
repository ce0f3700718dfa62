# SPDX-License-Identifier: Apache-2.0
"""Caches of what has been worked out of functions, which forget with the functions."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any


class FunctionCache:
    """For each function, held weakly: a dictionary of what has been worked out of it.

    The values must not refer to the function, or it would live for ever.

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
        """The dictionary of a function; one that is forgotten at once where it cannot be kept.

        That of a method belongs to the object: each look-up of a method makes a new one.
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
        except TypeError:  # not weakly referable
            return known
        entries[key] = (reference, known)
        return known

    def derive(
        self, fun: Any, make: Callable[[Callable[[], Any]], Callable[..., Any]]
    ) -> Callable[..., Any]:
        """The function that ``make`` makes of a function: the same object at each call.

        ``make`` gets a function without arguments that returns ``fun``: what it makes must not hold
        ``fun`` otherwise.
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


_caches: list[FunctionCache] = []


def clear_function_caches() -> None:
    """Forgets what has been worked out of functions: traced programs above all."""
    for cache in _caches:
        cache.clear()
