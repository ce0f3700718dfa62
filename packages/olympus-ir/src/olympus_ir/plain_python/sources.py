# SPDX-License-Identifier: Apache-2.0
"""Syntax trees of the definitions of functions, read from their source."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from types import CodeType, FunctionType

Definition = ast.FunctionDef | ast.Lambda


class SourceError(OSError):
    """Error for a function whose source cannot be read."""


def definition_of(fun: FunctionType) -> Definition:
    """Returns a copy of the node that defines a function, with the line numbers of its file.

    Raises:
      SourceError: the source is not available or does not match the function.
    """
    code = fun.__code__
    try:
        lines, _ = inspect.findsource(code)
    except (OSError, TypeError) as error:
        raise SourceError(
            f"control_flow=True needs the source of {fun.__qualname__}, which is not available: "
            f"{error}. Define the function in a file or in a notebook's cell."
        ) from None
    definitions = [node for node in _definitions("".join(lines)) if _defines(node, code)]
    if not definitions:
        raise SourceError(
            f"control_flow=True found no definition of {fun.__qualname__} on line "
            f"{code.co_firstlineno} of {code.co_filename}: the file was changed after it was read."
        )
    # Take the innermost of several functions on one line.
    return copy.deepcopy(min(definitions, key=_extent))


@functools.lru_cache(maxsize=64)
def _definitions(source: str) -> tuple[Definition, ...]:
    """Returns the definitions in a source text. IPython cells with magic commands have none."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()
    return tuple(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))


def _defines(node: Definition, code: CodeType) -> bool:
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
        return False
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if None not in (line, end_line, column, end_column) and (column, end_column) != (0, 0)
    ]
    return all(start <= first and last <= end for first, last in places)  # type: ignore[operator]


def _extent(node: Definition) -> tuple[int, int]:
    return (
        (node.end_lineno or node.lineno) - node.lineno,
        (node.end_col_offset or 0) - node.col_offset,
    )
