# SPDX-License-Identifier: Apache-2.0
"""The tools that execute documents notice when a document does not do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parent.parent / "tools" / "execute_readme.py"


@pytest.fixture
def execute(tmp_path: Path):
    """Returns a function that executes a document and returns the finished process."""

    def run(text: str) -> subprocess.CompletedProcess[str]:
        document = tmp_path / "README.md"
        document.write_text(text, encoding="utf-8")
        command = [sys.executable, str(TOOL), str(document)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


def cell(source: str, output: str | None = None, info: str = "python") -> str:
    shown = f"\n```output\n{output}\n```\n" if output is not None else ""
    return f"```{info}\n{source}\n```\n{shown}"


FAILING = ":tags: [raises-exception, raises-ValueError]\n\nint('three')"


@pytest.mark.parametrize(
    "text",
    [
        cell("x = 1") + "prose\n\n" + cell("print(x + 1)", "2"),
        cell("print('a   b\\nc')", "a b\n..."),
        cell("raise SystemError", info="sh"),
        cell("raise SystemError") + cell("print(1)", "1", info="{code-cell} ipython3"),
        cell(":tags: [skip-execution]\n\nraise SystemError", info="{code-cell}"),
        cell(FAILING, "ValueError: invalid literal ...", info="{code-cell}"),
        "- item\n\n  ```python\n  for i in range(2):\n      print(i)\n  ```\n",
        "````md\n" + cell("raise SystemError") + "````\n",
    ],
)
def test_matching_documents_pass(execute, text: str) -> None:
    finished = execute(text)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (cell("print(1)", "2"), "expected output"),
        (cell("int('three')"), "ValueError"),
        (cell("import warnings\nwarnings.warn('old')"), "UserWarning"),
        (cell(FAILING.replace("'three'", "'3'"), info="{code-cell}"), "raised nothing"),
        (cell(FAILING.replace("'three'", "[]"), info="{code-cell}"), "raised TypeError"),
        (cell(FAILING, "ValueError: other", info="{code-cell}"), "expected output"),
        (
            cell(":tags: [raises-exception]\n\n1 / 0", info="{code-cell}"),
            "name the class of the error",
        ),
        (cell(":tags: [raises-KeyError]\n\n{}[0]", info="{code-cell}"), "needs the tag"),
        (cell(":label: x\n\n1", info="{code-cell}"), "unknown option"),
        ("```python\n1\n", "never closed"),
    ],
)
def test_mismatched_documents_fail(execute, text: str, complaint: str) -> None:
    finished = execute(text)
    assert finished.returncode != 0
    assert complaint in finished.stderr


def test_the_small_copy_has_300_lines() -> None:
    page = TOOL.parent.parent / "docs" / "olympus-in-300-lines.md"
    cells = re.findall(r"^```{code-cell}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    building = [each for each in cells[1:] if not re.search(r"^(assert|print|show)\b", each, re.M)]
    lines = [line for each in building for line in each.splitlines() if line.strip()]
    assert 250 < len(lines) <= 300
