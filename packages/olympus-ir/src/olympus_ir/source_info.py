# SPDX-License-Identifier: Apache-2.0
"""Where equations come from: the traceback of the user's call and the names given by scopes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from ._jaxlib import Traceback

capture = Traceback.get_traceback


class SourceInfo(NamedTuple):
    """The origin of one equation.

    Attributes:
      traceback: jaxlib's raw traceback, formatted only when it is shown; None where unknown.
      name_stack: the names of the scopes around, outermost first.
    """

    traceback: Traceback | None
    name_stack: tuple[str, ...] = ()

    def replace(self, **changes: object) -> SourceInfo:
        return self._replace(**changes)


unknown_source = SourceInfo(None, ())


class Frame(NamedTuple):
    """One line of the user's program."""

    file_name: str
    function_name: str
    start_line: int


# The code of these folders is ours: a user's line is one outside of them.
_library_folders: list[str] = []


def register_library_folder(path: str) -> None:
    """Marks all code below a folder, or in a file, as the library's own."""
    path = os.path.abspath(path)
    if not os.path.isfile(path):
        path = os.path.join(path, "")
    if path not in _library_folders:
        _library_folders.append(path)


register_library_folder(os.path.dirname(__file__))


def is_user_file(file_name: str) -> bool:
    return not file_name.startswith(tuple(_library_folders)) and not file_name.startswith("<frozen")


def user_frames(source: SourceInfo) -> Iterator[Frame]:
    """The lines of the user's program, innermost first."""
    if source.traceback is None:
        return
    for frame in source.traceback.frames:
        if is_user_file(frame.file_name):
            yield Frame(frame.file_name, frame.function_name, frame.line_num)


def user_frame(source: SourceInfo) -> Frame | None:
    """The innermost line of the user's program."""
    return next(user_frames(source), None)


def summarize(source: SourceInfo, frames: int = 1) -> str:
    """``file:line (function)`` of the user's innermost lines; ``unknown`` where there are none."""
    lines = []
    for frame, _ in zip(user_frames(source), range(frames), strict=False):
        lines.append(f"{frame.file_name}:{frame.start_line}:0 ({frame.function_name})")
    return "\n".join(lines) or "unknown"
