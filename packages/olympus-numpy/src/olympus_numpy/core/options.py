# SPDX-License-Identifier: Apache-2.0
"""Options: flags, and values among a few choices."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

__all__ = ["as_flag", "is_among"]


def as_flag(function: str, name: str, value: Any) -> bool:
    """Returns the truth value of an option.

    Raises:
      ValueError: an array of several elements is given, or one whose value is unknown while it is
        traced.

    Example:
      >>> as_flag("svd", "hermitian", 1)
      True
    """
    if value.__class__ is bool:
        return value
    try:
        return bool(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{function} requires True or False for `{name}`, got {value.__class__.__name__}; it "
            "cannot be an array"
        ) from None


def is_among(value: Any, choices: Container[Any]) -> bool:
    """Returns whether an option is one of the choices; False for unhashable values.

    Example:
      >>> is_among("full", ("full", "same")), is_among({}, {"full": 0})
      (True, False)
    """
    try:
        return value in choices
    except (TypeError, ValueError):
        return False
