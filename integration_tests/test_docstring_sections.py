# SPDX-License-Identifier: Apache-2.0
"""Sections of docstrings: documentation tools need each argument to start a line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = sorted((ROOT / "packages").iterdir())
SECTION = re.compile(r"(?:Args|Attributes|Raises):$")


def entries(docstring: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the first line of each entry in a section, with the lines that continue it."""
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        if not SECTION.match(line.strip()):
            continue
        found: list[list[str]] = []
        indent = None
        for text in lines[number + 1 :]:
            if not text.strip() or len(text) - len(text.lstrip()) <= len(line) - len(line.lstrip()):
                break
            indent = len(text) - len(text.lstrip()) if indent is None else indent
            if len(text) - len(text.lstrip()) == indent:
                found.append([text.strip()])
            elif found:
                found[-1].append(text.strip())
        yield from ((entry[0], entry[1:]) for entry in found)


def parameters(node: ast.AST) -> set[str]:
    """Returns the parameters of a function, or the fields and attributes of a class."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given = node.args
        return {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return {
        each.target.id
        for each in ast.walk(node)
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def faults(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        names = parameters(node) | {"TypeError", "ValueError"}
        merged = re.compile(r"[.)] \*{0,2}(?:" + "|".join(map(re.escape, names)) + "): ")
        for first, rest in entries(ast.get_docstring(node, clean=True) or ""):
            if merged.search(" ".join([first, *rest])):
                yield f"{path}:{node.lineno} {node.name}: two entries in {first!r}"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_each_section_entry_starts_a_line(package: Path) -> None:
    found = [fault for path in sorted(package.glob("src/**/*.py")) for fault in faults(path)]
    assert not found, "\n".join(found)


def test_two_entries_in_one_line_are_reported(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    for arguments, count in (("x: one. y: two.", 1), ("x: one.\n      y: two.", 0)):
        sample.write_text(
            f'def add(x, y):\n    """Adds.\n\n    Args:\n      {arguments}\n    """\n'
        )
        assert len(list(faults(sample))) == count
