# SPDX-License-Identifier: Apache-2.0
"""Warnings that point to the user's line."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import TYPE_CHECKING

from .source_info import is_user_file

if TYPE_CHECKING:
    from types import FrameType


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warns at the innermost line of the user's program.

    Args:
      message: the text, or an instance of a warning.
      category: the class of the warning, if ``message`` is a text.

    Example:
      >>> import warnings
      >>> with warnings.catch_warnings(record=True) as caught:
      ...     warnings.simplefilter("always")
      ...     warn_user("use jit", FutureWarning)
      >>> str(caught[0].message)
      'use jit'
    """
    warnings.warn(message, category, stacklevel=_user_level())


def _user_level() -> int:
    """Returns the stack level of the user's line, relative to `warn_user`."""
    level = 2
    frame: FrameType | None = sys._getframe(level)
    while frame is not None:
        name = frame.f_code.co_filename
        if is_user_file(name) and name != contextlib.__file__:
            return level
        frame = frame.f_back
        level += 1
    return 2
