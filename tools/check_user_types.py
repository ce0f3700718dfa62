# SPDX-License-Identifier: Apache-2.0
"""Checks the reports of pyright and mypy on users' code.

Every line of integration_tests/typing/accepted.py must pass both checkers. In
integration_tests/typing/rejected.py, both must find a mistake on each marked line, and on no other
line.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "integration_tests" / "typing"


def found_by_pyright(path: Path) -> set[int]:
    """Returns the lines in which pyright finds an error."""
    command = ("basedpyright", "--outputjson", "--pythonpath", sys.executable, str(path))
    shown = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    errors = [each for each in shown["generalDiagnostics"] if each["severity"] == "error"]
    for each in errors:
        print(f"pyright: {path.name}:{each['range']['start']['line'] + 1}: {each['message']}")
    return {error["range"]["start"]["line"] + 1 for error in errors}


def found_by_mypy(path: Path) -> set[int]:
    """Returns the lines in which mypy finds an error."""
    command = (
        sys.executable,
        "-m",
        "mypy",
        "--no-error-summary",
        "--check-untyped-defs",
        str(path),
    )
    shown = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER).stdout
    print(shown, end="")
    return {int(line) for line in re.findall(rf"{path.name}:(\d+): error", shown)}


def marked(path: Path) -> set[int]:
    """Returns the lines that are marked as mistakes."""
    lines = path.read_text("utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# mistake")}


def main() -> None:
    """Runs both checkers over both files."""
    wrong = []
    for path in (FOLDER / "accepted.py", FOLDER / "rejected.py"):
        for checker, found in (
            ("pyright", found_by_pyright(path)),
            ("mypy", found_by_mypy(path)),
        ):
            for line in sorted(found ^ marked(path)):
                kind = "a false error" if line in found else "a mistake not found"
                wrong.append(f"{checker}: {path.name}:{line}: {kind}")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
