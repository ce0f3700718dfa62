# SPDX-License-Identifier: Apache-2.0
"""Python frames of a breakpoint, kept until the debugger opens.

A breakpoint is reached while a function is traced, and its debugger opens when the program runs. By
then the frames no longer exist, so their contents are kept: the source around the line, and the
variables with their values. Values that are known only at run time are operands of the breakpoint's
equation.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from types import FrameType
from typing import Any

from ..diagnostics.traceback_filtering import include_frame
from ..programs.tracing import Tracer
from ..trees import pytrees
from ..types.arrays import Array

__all__ = ["DebuggerFrame", "collect_frames"]

# Number of source lines shown before and after the current line.
LINES_BEFORE, LINES_AFTER = 3, 2


@dataclasses.dataclass(frozen=True)
class DebuggerFrame:
    """One frame of a breakpoint's stack.

    Attributes:
      filename: the file of the frame's code.
      lineno: the current line, counted from one.
      source: the lines of the function; empty if they cannot be found.
      first_line: the number of the first line of ``source``.
      variables: the local variables.
      scope: the global variables.
    """

    filename: str
    lineno: int
    source: tuple[str, ...]
    first_line: int
    variables: dict[str, Any]
    scope: dict[str, Any]

    @property
    def line(self) -> str:
        """The current line, without indentation."""
        index = self.lineno - self.first_line
        return self.source[index].strip() if 0 <= index < len(self.source) else ""

    def listing(self) -> list[str]:
        """The lines around the current line, which an arrow marks."""
        index = self.lineno - self.first_line
        start = max(0, index - LINES_BEFORE)
        shown = (*self.source, "")[start : index + LINES_AFTER + 1]
        return [
            ("->  " if start + offset == index else "    ") + line
            for offset, line in enumerate(shown)
        ]

    def evaluate(self, expression: str) -> Any:
        """Evaluates an expression with the frame's variables."""
        return eval(expression, {**self.scope, **self.variables})


def collect_frames(
    frame: FrameType | None, limit: int | None, omits_libraries: bool
) -> tuple[list[DebuggerFrame], list[Any]]:
    """Captures the frames from a given frame to its outermost caller.

    Args:
      frame: the innermost frame.
      limit: the number of frames to keep; None for all.
      omits_libraries: whether to omit frames of libraries.

    Returns:
      The frames, innermost first, and the arrays among the values of their variables. In the
      frames, a `_Place` replaces each array until `with_values` inserts a value.
    """
    frames: list[DebuggerFrame] = []
    arrays: list[Any] = []
    while frame is not None and (limit is None or len(frames) < limit):
        if not omits_libraries or include_frame(frame):
            frames.append(_kept(frame, arrays))
        frame = frame.f_back
    return frames, arrays


def _kept(frame: FrameType, arrays: list[Any]) -> DebuggerFrame:
    is_module = frame.f_code.co_name == "<module>"
    variables = {} if is_module else dict(frame.f_locals)
    source, first_line = _source(frame)
    return DebuggerFrame(
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        source=source,
        first_line=first_line,
        variables={name: _without_arrays(value, arrays) for name, value in variables.items()},
        scope=frame.f_globals,
    )


def _source(frame: FrameType) -> tuple[tuple[str, ...], int]:
    try:
        lines, first_line = inspect.getsourcelines(frame)
    except (OSError, TypeError):  # the code was typed at a prompt, or generated
        return (), frame.f_lineno
    return tuple(line.rstrip("\n") for line in lines), max(first_line, 1)


# ---- values that are known when the program runs ----


class _Place:
    """Placeholder for an array: its position among the arrays of all frames."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


class _Tree:
    """Placeholder for a pytree with arrays: its leaves and its structure."""

    __slots__ = ("leaves", "tree")

    def __init__(self, leaves: list[Any], tree: Any) -> None:
        self.leaves = leaves
        self.tree = tree


def _is_operand(leaf: Any) -> bool:
    """Returns whether a value is an array that the breakpoint's equation can take."""
    if not isinstance(leaf, Array) or getattr(leaf.aval, "is_ref", False):
        return False
    return not (isinstance(leaf, Tracer) and leaf._trace.finished)


def _without_arrays(value: Any, arrays: list[Any]) -> Any:
    try:
        leaves, tree = pytrees.tree_flatten(value)
        operands = [leaf for leaf in leaves if _is_operand(leaf)]
    except Exception:  # `value` may be an unfinished instance, which lacks attributes
        return value
    if not operands:
        return value
    kept = []
    for leaf in leaves:
        if _is_operand(leaf):
            kept.append(_Place(len(arrays)))
            arrays.append(leaf)
        else:
            kept.append(leaf)
    return _Tree(kept, tree)


def with_values(frames: Sequence[DebuggerFrame], arrays: Sequence[Any]) -> list[DebuggerFrame]:
    """Returns the frames with the placeholders replaced by the values of one run."""
    return [
        dataclasses.replace(
            frame,
            variables={name: _filled(value, arrays) for name, value in frame.variables.items()},
        )
        for frame in frames
    ]


def _filled(value: Any, arrays: Sequence[Any]) -> Any:
    if value.__class__ is not _Tree:
        return value
    return pytrees.tree_unflatten(
        value.tree,
        [arrays[leaf.position] if leaf.__class__ is _Place else leaf for leaf in value.leaves],
    )
