# SPDX-License-Identifier: Apache-2.0
"""``python -m olympus examples``: lists, copies and runs the small programs in this folder.

Each program is a module that needs nothing besides OLYMPUS, and ends in seconds.
"""

from __future__ import annotations

import argparse
import ast
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

from ..layout import section

__all__ = ["add_parser", "available"]

_FOLDER = Path(__file__).parent


def available() -> dict[str, str]:
    """Returns the summaries of the examples, by name.

    Example:
      >>> "gradient_descent" in available()
      True
    """
    found = {}
    for path in sorted(_FOLDER.glob("*.py")):
        if path.name != "__init__.py":
            text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            found[path.stem] = text.partition("\n")[0]
    return found


def add_parser(commands: Any) -> None:
    """Adds this command to the command line."""
    text = "lists, copies or runs small examples"
    parser = commands.add_parser("examples", help=text, description=text.capitalize() + ".")
    parser.set_defaults(run=_list)
    actions = parser.add_subparsers(title="actions", metavar="action")
    listing = actions.add_parser("list", help="lists the examples (the default)")
    listing.set_defaults(run=_list)
    copying = actions.add_parser("copy", help="copies examples into a folder")
    copying.add_argument("name", choices=[*available(), "all"], help="the example, or all")
    copying.add_argument(
        "folder", nargs="?", default=".", help="the folder, by default the current one"
    )
    copying.set_defaults(run=_copy)
    running = actions.add_parser("run", help="runs an example")
    running.add_argument("name", choices=list(available()), help="the example")
    running.set_defaults(run=_run)


def _list(options: argparse.Namespace) -> int:
    section("", available())
    return 0


def _copy(options: argparse.Namespace) -> int:
    folder = Path(options.folder)
    names = list(available()) if options.name == "all" else [options.name]
    targets = [folder / f"{name}.py" for name in names]
    existing = [target for target in targets if target.exists()]
    if existing:
        print(f"{existing[0]} exists; it is not overwritten.", file=sys.stderr)
        return 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target in targets:
            shutil.copyfile(_FOLDER / target.name, target)
            print(target)
    except OSError as error:
        print(f"The examples cannot be copied: {error}", file=sys.stderr)
        return 1
    return 0


def _run(options: argparse.Namespace) -> int:
    runpy.run_path(str(_FOLDER / f"{options.name}.py"), run_name="__main__")
    return 0
