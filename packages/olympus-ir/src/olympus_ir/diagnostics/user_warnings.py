# SPDX-License-Identifier: Apache-2.0
"""Warnings that point to the user's line."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import TYPE_CHECKING

from .source_info import is_user_file

if TYPE_CHECKING:
    from collections.abc import Container
    from types import FrameType

#: The number of warnings so far, including those that a filter hides.
count = 0


def warn_user(
    message: str | Warning,
    category: type[Warning] = UserWarning,
    *,
    called_through: Container[str] = (),
) -> None:
    """Warns at the innermost line of the user's program.

    Args:
      message: the text, or an instance of a warning.
      category: the class of the warning, if ``message`` is a text.
      called_through: top-level packages whose lines are not the user's, such as packages of the
        standard library that call a hook.

    Example:
      >>> import warnings
      >>> with warnings.catch_warnings(record=True) as caught:
      ...     warnings.simplefilter("always")
      ...     warn_user("use jit", FutureWarning)
      >>> str(caught[0].message)
      'use jit'
    """
    global count
    count += 1
    warnings.warn(message, category, stacklevel=_user_level(called_through))


def _user_level(called_through: Container[str]) -> int:
    """Returns the stack level of the user's line, relative to `warn_user`."""
    level = 2
    frame: FrameType | None = sys._getframe(level)
    while frame is not None:
        name = frame.f_code.co_filename
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if is_user_file(name) and name != contextlib.__file__ and package not in called_through:
            return level
        frame = frame.f_back
        level += 1
    return 2
