# SPDX-License-Identifier: Apache-2.0
"""Options that are one of a few values."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

__all__ = ["is_among"]


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
