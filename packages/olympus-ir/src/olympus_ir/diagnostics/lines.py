# SPDX-License-Identifier: Apache-2.0
"""Lines of the user's program, as shown in reports."""

from __future__ import annotations

import linecache

__all__ = ["Line"]


class Line(str):
    """A line of the user's program, as the text ``file:line``.

    Attributes:
      file: the file.
      number: the line number.
      function: the enclosing function.

    Example:
      >>> line = Line("model.py", 12, "loss")
      >>> line, line.number, line.function
      ('model.py:12', 12, 'loss')
    """

    __slots__ = ("file", "function", "number")

    file: str
    number: int
    function: str

    def __new__(cls, file: str, number: int, function: str = "") -> Line:
        line = super().__new__(cls, f"{file}:{number}")
        line.file, line.number, line.function = file, number, function
        return line

    @property
    def text(self) -> str:
        """The source text of the line; empty if the file is missing."""
        return linecache.getline(self.file, self.number).strip()
