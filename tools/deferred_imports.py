# SPDX-License-Identifier: Apache-2.0
"""Measures the time that each late import saves, and writes docs/deferred-imports.md.

``--check`` only compares the declarations in the source with those on the page.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "deferred-imports.md"
ROUNDS = 3

HEAD = """# Late imports

Modules that are imported at their first use ([decision 121](decisions/121-late-imports.md)).
`nox -s deferred-imports` writes this page. Milliseconds are the processor time of the import in a
process that has imported the declaring module: the median of {rounds} processes. Modules that are
not installed have no figure.

| module | declared in | milliseconds |
|---|---|---|
"""

MEASUREMENT = """
import importlib, sys, time
importlib.import_module({user!r})
start = time.thread_time()
importlib.import_module({module!r})
print((time.thread_time() - start) * 1e3)
"""


class Declaration(NamedTuple):
    """One call of `deferred`: the module that is imported late, and the module that declares it."""

    module: str
    user: str


def declarations() -> list[Declaration]:
    """Returns the declarations in the source of all packages, in order of the declaring module."""
    found = []
    for path in sorted(ROOT.glob("packages/*/src/**/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts = path.relative_to(next(p for p in path.parents if p.name == "src")).with_suffix("")
        is_package = parts.name == "__init__"
        user = ".".join(parts.parts[:-1] if is_package else parts.parts)
        package = user if is_package else user.rpartition(".")[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "deferred":
                (name,) = node.args
                assert isinstance(name, ast.Constant), (
                    f"{path}: the argument of `deferred` must be a literal"
                )
                found.append(Declaration(importlib.util.resolve_name(name.value, package), user))
    return found


def milliseconds(declaration: Declaration) -> str:
    """Returns the median import time, or an empty text for a module that cannot be imported."""
    program = MEASUREMENT.format(user=declaration.user, module=declaration.module)
    times = []
    for _ in range(ROUNDS):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        if done.returncode:
            return ""
        times.append(float(done.stdout.split()[-1]))
    return f"{statistics.median(times):.1f}"


def figures(text: str) -> dict[Declaration, str]:
    """Returns the declarations that a page lists, with their milliseconds."""
    cells = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    return {Declaration(row[1].strip(" `"), row[2].strip(" `")): row[3].strip() for row in cells}


def main() -> None:
    """Writes the page, or compares with ``--check``."""
    parser = argparse.ArgumentParser(prog="deferred_imports")
    parser.add_argument("--check", action="store_true", help="only compare the list with the page")
    parser.add_argument(
        "--new", action="store_true", help="measure only imports that the page does not list"
    )
    arguments = parser.parse_args()
    found = declarations()
    if arguments.check:
        if found != list(figures(PAGE.read_text(encoding="utf-8"))):
            raise SystemExit(f"{PAGE} is stale: run nox -s deferred-imports")
        return
    known = figures(PAGE.read_text(encoding="utf-8")) if arguments.new else {}
    lines = [
        f"| `{each.module}` | `{each.user}` | {known.get(each) or milliseconds(each)} |"
        for each in found
    ]
    PAGE.write_text(HEAD.format(rounds=ROUNDS) + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
