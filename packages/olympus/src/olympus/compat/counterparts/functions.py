# SPDX-License-Identifier: Apache-2.0
"""Hashable functions and memoization, under the names of JAX's private module."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from olympus_ir._jaxlib import weakref_lru_cache as _weakref_lru_cache
from olympus_ir.programs.tracing import current
from olympus_ir.settings.config import trace_context
from olympus_ir.trees.flattening import function_name

__all__ = [
    "Hashable",
    "HashableFunction",
    "HashablePartial",
    "HashableWrapper",
    "Unhashable",
    "cache",
    "curry",
    "fun_name",
    "fun_qual_name",
    "maybe_named_axis",
    "memoize",
    "set_module",
    "weakref_lru_cache",
    "wrap_name",
]

F = TypeVar("F", bound=Callable[..., Any])


def _context() -> Any:
    """Returns the settings and the named axes on which the result of tracing depends."""
    return current.axes, trace_context()


def _no_context() -> None:
    return None


def weakref_lru_cache(
    f: Callable[..., Any] | None = None,
    *,
    maxsize: int | None = 2048,
    trace_context_in_key: bool = True,
    explain: Callable[..., Any] | None = None,
) -> Any:
    """Caches the results of a function; the cache refers weakly to the first argument.

    Args:
      f: the function; if it is None, the result is a decorator.
      maxsize: the number of results to keep.
      trace_context_in_key: whether a change of settings makes the function run again.
      explain: has no effect.

    Example:
      >>> weakref_lru_cache(lambda x, y: y)(abs, 2)
      2
    """
    if f is None:
        return functools.partial(
            weakref_lru_cache, maxsize=maxsize, trace_context_in_key=trace_context_in_key
        )
    context = _context if trace_context_in_key else _no_context
    return _weakref_lru_cache(context, f, maxsize)


def cache(max_size: int | None = 4096, trace_context_in_key: Any = True) -> Callable[[F], F]:
    """Returns a decorator that caches the results of a function of hashable arguments.

    Args:
      max_size: the number of results to keep.
      trace_context_in_key: whether a change of settings makes the function run again. It may be a
        function that returns the settings in question.
    """
    if callable(trace_context_in_key):
        context: Callable[[], Any] = trace_context_in_key
    else:
        context = _context if trace_context_in_key else _no_context

    def decorate(f: Any) -> Any:
        @functools.lru_cache(max_size)
        def in_context(_: Any, *args: Any, **kwargs: Any) -> Any:
            return f(*args, **kwargs)

        @functools.wraps(f)
        def cached(*args: Any, **kwargs: Any) -> Any:
            return in_context(context(), *args, **kwargs)

        face: Any = cached
        face.cache_clear = in_context.cache_clear
        face.cache_info = in_context.cache_info
        return cached

    return decorate


def memoize(f: Callable[[], Any]) -> Callable[[], Any]:
    """Returns a function that runs once and then returns the same result."""
    return functools.lru_cache(None)(f)


def curry(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that takes the first arguments of ``f``, and returns one of the others.

    Example:
      >>> curry(lambda x, y: x - y)(3)(1)
      2
    """
    return functools.wraps(f)(functools.partial(functools.partial, f))


def fun_name(fun: Callable[..., Any], default_name: str = "<unnamed function>") -> str:
    """Returns the name of the function inside all partial applications."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", default_name)


def fun_qual_name(fun: Callable[..., Any]) -> str:
    """Returns the qualified name of a function."""
    return getattr(fun, "__qualname__", getattr(fun, "__name__", function_name(fun)))


def wrap_name(transform_name: str, name: str) -> str:
    """Returns the name of a transformed function.

    Example:
      >>> wrap_name("vmap", "f")
      'vmap(f)'
    """
    return f"{transform_name}({name})"


def set_module(module: str) -> Callable[[F], F]:
    """Returns a decorator that sets ``__module__``."""

    def decorate(f: F) -> F:
        f.__module__ = module
        return f

    return decorate


def maybe_named_axis(
    axis: Any, if_pos: Callable[[int], Any], if_named: Callable[[Any], Any]
) -> Any:
    """Calls one function for the position of an axis, and another for a name."""
    try:
        position = axis.__index__()
    except AttributeError:
        return if_named(axis)
    return if_pos(position)


class HashableFunction:
    """Function that equals other functions of the same code and the same closure.

    Args:
      f: a function whose result depends only on its arguments and on ``closure``.
      closure: a hashable value.

    Example:
      >>> double = lambda: HashableFunction(lambda x: 2 * x, closure=())
      >>> double()(4)
      8
    """

    def __init__(self, f: Callable[..., Any], closure: Any) -> None:
        self.f = f
        self.closure = closure

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, HashableFunction)
            and self.f.__code__ == other.f.__code__
            and self.closure == other.closure
        )

    def __hash__(self) -> int:
        return hash((self.f.__code__, self.closure))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<hashable {fun_name(self.f)} with closure={self.closure}>"


class HashablePartial:
    """Partial application that equals others of the same function and equal arguments."""

    def __init__(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.f = f
        self.args = args
        self.kwargs = kwargs

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, HashablePartial)
            and self.f.__code__ == other.f.__code__
            and (self.args, self.kwargs) == (other.args, other.kwargs)
        )

    def __hash__(self) -> int:
        return hash((self.f.__code__, self.args, tuple(sorted(self.kwargs.items()))))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*self.args, *args, **self.kwargs, **kwargs)


class Unhashable:
    """Value that cannot be hashed and equals itself alone."""

    __slots__ = ("val",)

    def __init__(self, val: Any) -> None:
        self.val = val

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and self.val == other.val

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Hashable:
    """Hashable value, marked as such."""

    __slots__ = ("val",)

    def __init__(self, val: Any) -> None:
        self.val = val

    def __hash__(self) -> int:
        return hash(self.val)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashable) and self.val == other.val


class HashableWrapper:
    """Value of any type as a key: by its own hash if it has one, else by its identity."""

    __slots__ = ("hash", "x")

    def __init__(self, x: Any) -> None:
        self.x = x
        try:
            self.hash: int | None = hash(x)
        except TypeError:
            self.hash = None

    def __hash__(self) -> int:
        return id(self.x) if self.hash is None else self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HashableWrapper):
            return False
        return self.x is other.x if self.hash is None else bool(self.x == other.x)
