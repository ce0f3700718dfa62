# SPDX-License-Identifier: Apache-2.0
"""Advice for assignments to elements of traced arrays: the same assignment as an array update."""

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
    """Returns a sentence that shows how to write the running assignment as an array update.

    Returns:
      The sentence with the mended code; empty if the user's running line does not assign to an
      element.
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
    """Converts an assignment such as ``x[0] = y`` to the form ``x = x.at[0].set(y)``."""
    match _only_statement(statement):
        case ast.Assign(targets=[ast.Subscript() as element], value=value):
            update = "set"
        case ast.AugAssign(target=ast.Subscript() as element, value=value, op=op) if (
            type(op) in _UPDATES
        ):
            update = _UPDATES[type(op)]
        case _:
            return "array = array.at[index].set(value)"
    target = ast.Subscript(ast.Attribute(element.value, "at"), element.slice)
    array, updated = ast.unparse(element.value), f"{ast.unparse(target)}.{update}"
    return f"{array} = {updated}({ast.unparse(value)})"


def _only_statement(line: str) -> ast.stmt | None:
    """Returns the statement on a line; None unless the line has exactly one whole statement."""
    try:
        statements = ast.parse(line).body
    except (SyntaxError, ValueError):
        return None
    return statements[0] if len(statements) == 1 else None
