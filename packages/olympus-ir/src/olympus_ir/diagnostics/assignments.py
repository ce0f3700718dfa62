# SPDX-License-Identifier: Apache-2.0
"""Assignments of traced values to elements of NumPy arrays, written as updates of arrays."""

from __future__ import annotations

import ast
import linecache
import opcode
import sys
from types import FrameType

from .source_info import is_user_file

__all__ = ["mended_assignment"]

_ASSIGNMENTS = tuple(opcode.opmap.get(name) for name in ("STORE_SUBSCR", "STORE_SLICE"))

_UPDATES = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}


def mended_assignment() -> str:
    """Returns a sentence that writes the assignment which runs now as an update of an array.

    Returns:
      The sentence with the mended code. The sentence is empty where the user's line that runs now
      does not assign to an element.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or frame.f_code.co_code[frame.f_lasti] not in _ASSIGNMENTS:
        return ""
    statement = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return (
        "A NumPy array cannot hold traced values: make the array with `olympus.numpy`, and write "
        f"`{_as_update(statement)}`."
    )


def _as_update(statement: str) -> str:
    """Returns an assignment to an element, as ``x[0] = y``, in the form ``x = x.at[0].set(y)``."""
    match _only_statement(statement):
        case ast.Assign(targets=[ast.Subscript() as element], value=value):
            update = "set"
        case ast.AugAssign(target=ast.Subscript() as element, value=value, op=op) if (
            type(op) in _UPDATES
        ):
            update = _UPDATES[type(op)]
        case _:
            return "array = array.at[index].set(value)"
    place = ast.Subscript(ast.Attribute(element.value, "at"), element.slice)
    array, updated = ast.unparse(element.value), f"{ast.unparse(place)}.{update}"
    return f"{array} = {updated}({ast.unparse(value)})"


def _only_statement(line: str) -> ast.stmt | None:
    """Returns the statement of a line; None if it holds a part of a statement, or several."""
    try:
        statements = ast.parse(line).body
    except (SyntaxError, ValueError):
        return None
    return statements[0] if len(statements) == 1 else None
