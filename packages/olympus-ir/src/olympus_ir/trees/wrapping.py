# SPDX-License-Identifier: Apache-2.0
"""Wrappers that copy the names and documentation of the wrapped functions.

They work like those of `functools`, but also accept callables whose ``__name__`` is not a string.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

__all__ = ["update_wrapper", "wraps"]

_Wrapper = TypeVar("_Wrapper", bound=Callable[..., Any])


def update_wrapper(
    wrapper: _Wrapper, wrapped: Callable[..., Any], updated: Sequence[str] = ("__dict__",)
) -> _Wrapper:
    """Copies a function's name and documentation to its wrapper, except invalid values.

    Args:
      wrapper: the wrapper.
      wrapped: the wrapped function.
      updated: names of dictionary attributes, which are updated with the attributes of ``wrapped``.

    Example:
      >>> class Named:
      ...     __name__ = 3
      >>> update_wrapper(lambda x: x, Named()).__wrapped__.__name__
      3
    """
    try:
        functools.update_wrapper(wrapper, wrapped, updated=updated)
        return wrapper
    except TypeError:
        pass
    for name in functools.WRAPPER_ASSIGNMENTS:
        try:
            setattr(wrapper, name, getattr(wrapped, name))
        except (AttributeError, TypeError):
            continue  # the value is not a valid function name
    for name in updated:
        getattr(wrapper, name).update(getattr(wrapped, name, {}))
    wrapper.__wrapped__ = wrapped  # type: ignore[attr-defined]
    return wrapper


def wraps(
    wrapped: Callable[..., Any], updated: Sequence[str] = ("__dict__",)
) -> Callable[[_Wrapper], _Wrapper]:
    """Returns a decorator for wrappers of a function; see `update_wrapper`."""
    return functools.partial(update_wrapper, wrapped=wrapped, updated=updated)
