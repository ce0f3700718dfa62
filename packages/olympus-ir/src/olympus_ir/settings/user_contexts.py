# SPDX-License-Identifier: Apache-2.0
"""User-defined values on which compiled functions depend."""

from __future__ import annotations

import itertools
from typing import Any

from .configuration import Kind, Override, State

__all__ = ["UserContext", "make_user_context"]

_numbers = itertools.count()


class UserContext:
    """User-defined value on which compiled functions depend. A context manager overrides it.

    Calling the object with a value returns the context manager.

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
        """Returns the process-wide value, which threads without an override have."""
        return self._state.get_global()

    def set_global(self, value: Any) -> None:
        """Sets the process-wide value, which threads without an override have."""
        self._state.update(value)

    def __call__(self, new_value: Any) -> Override:
        return self._state(new_value)


def make_user_context(default_value: Any = None) -> UserContext:
    """Makes a value that compiled functions may depend on.

    The functions are traced again when the value changes.

    Args:
      default_value: the value without an override. Values must be hashable.

    Example:
      >>> mode = make_user_context("train")
      >>> with mode("evaluate"):
      ...     print(mode.value)
      evaluate
      >>> mode.value
      'train'
    """
    return UserContext(default_value)
