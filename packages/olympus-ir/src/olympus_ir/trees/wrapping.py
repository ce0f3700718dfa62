# SPDX-License-Identifier: Apache-2.0
"""Functions that stand for others, and bear their names and documentation.

As in `functools`, for all callables there are: objects may have a ``__name__`` that is no text.
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
    """Gives a function the name and the documentation of another one, as far as they are such.

    Args:
      wrapper: the function.
      wrapped: whose name it gets.
      updated: attributes that are dictionaries and take in those of the other one.

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
            continue  # what is no name cannot be a function's
    for name in updated:
        getattr(wrapper, name).update(getattr(wrapped, name, {}))
    wrapper.__wrapped__ = wrapped  # type: ignore[attr-defined]
    return wrapper


def wraps(
    wrapped: Callable[..., Any], updated: Sequence[str] = ("__dict__",)
) -> Callable[[_Wrapper], _Wrapper]:
    """A decorator of a function that stands for another one; see `update_wrapper`."""
    return functools.partial(update_wrapper, wrapped=wrapped, updated=updated)
