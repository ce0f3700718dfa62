# SPDX-License-Identifier: Apache-2.0
"""The user's line of a traced operation, added to errors that occur after tracing."""

from __future__ import annotations

import linecache

from .source_info import SourceInfo, user_frame
from .traceback_filtering import filter_traceback

__all__ = ["add_line", "line_of", "place_of", "traced_at"]

_MARK = "was traced at "


def traced_at(name: str, source: SourceInfo) -> str:
    """Returns a sentence with the line at which an operation was traced; empty if unknown.

    Args:
      name: the name of the operation.
      source: the origin of the operation.

    Example:
      >>> from .source_info import unknown_source
      >>> traced_at("while", unknown_source)
      ''
    """
    location = place_of(source)
    return f"`{name}` {_MARK}{location}" if location else ""


def place_of(source: SourceInfo) -> str:
    """Returns the user's file, line and function, and the text of the line; empty if unknown."""
    frame = user_frame(source)
    if frame is None:
        return ""
    location = f"{frame.file_name}:{frame.start_line} ({frame.function_name})"
    line = line_of(source)
    return location + (f":\n    {line}" if line else "")


def line_of(source: SourceInfo) -> str:
    """Returns the text of the user's line; empty if unknown."""
    frame = user_frame(source)
    return "" if frame is None else linecache.getline(frame.file_name, frame.start_line).strip()


def add_line(error: Exception, name: str, source: SourceInfo) -> None:
    """Adds the user's line of an operation to an error raised by a rule of the operation.

    Errors of user functions, and errors that already name a line, stay unchanged.

    Args:
      error: the error, which is changed in place.
      name: the name of the operation.
      source: the origin of the operation.
    """
    if len(error.args) != 1 or not isinstance(error.args[0], str) or _MARK in error.args[0]:
        return
    if filter_traceback(error.__traceback__, is_below=True) is not None:
        return
    location = traced_at(name, source)
    if location:
        error.args = (f"{error.args[0]}\n{location}",)
