# SPDX-License-Identifier: Apache-2.0
"""Values of a program's own on which its compiled functions depend."""

from __future__ import annotations

import itertools
from typing import Any

from .configuration import Kind, Override, State

__all__ = ["UserContext", "make_user_context"]

_numbers = itertools.count()


class UserContext:
    """A value that can be overridden in a block, and that functions are compiled anew for.

    Calling it with a value returns the context manager.

    Attributes:
      value: the value in the current thread.
    """

    def __init__(self, default_value: Any = None) -> None:
        self._state = State(
            f"user_context_{next(_numbers)}",
            default_value,
            "A value of the program's own.",
            Kind(lambda value: value),
            shapes_programs=True,
        )

    @property
    def value(self) -> Any:
        return self._state.value

    def get_global(self) -> Any:
        """The value of threads that have no other."""
        return self._state.get_global()

    def set_global(self, value: Any) -> None:
        """Sets the value of threads that have no other."""
        self._state.update(value)

    def __call__(self, new_value: Any) -> Override:
        return self._state(new_value)


def make_user_context(default_value: Any = None) -> UserContext:
    """Makes a value on which compiled functions may depend: they are traced anew when it changes.

    Args:
      default_value: its value where no block says otherwise. Values must be hashable.

    Example:
      >>> mode = make_user_context("train")
      >>> with mode("evaluate"):
      ...     print(mode.value)
      evaluate
      >>> mode.value
      'train'
    """
    return UserContext(default_value)
