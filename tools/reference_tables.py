# SPDX-License-Identifier: Apache-2.0
"""Tables of the reference, generated from the code: flags, variables, extras, command lines."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from flags_page import default

import olympus
from olympus_ir.settings.configuration import Configuration, State, config

ROOT = Path(olympus.__file__).parents[4]

# Modules with a command line, which `python -m` runs.
_COMMANDS = (
    "olympus",
    "olympus doctor",
    "olympus info",
    "olympus cache",
    "olympus frozen",
    "olympus examples",
    "olympus.compat",
    "olympus.collect_profile",
    "olympus.tools.olympus_to_ir",
)


NAMES = ("flags", "environment-variables", "extras", "command-lines")


def write(folder: Path) -> tuple[str, ...]:
    """Writes the tables as pages into a folder, and returns their names."""
    texts = (flags_page(config), variables_page(), extras_page(), commands_page())
    for name, text in zip(NAMES, texts, strict=True):
        (folder / f"{name}.md").write_text(text, "utf-8")
    return NAMES


def escaped(text: str) -> str:
    """Returns a text escaped for a cell of a table, on a single line."""
    return " ".join(text.replace("|", "\\|").replace("``", "`").split())


def flags_page(configuration: Configuration) -> str:
    """Returns the table of all flags."""
    lines = [
        "# Flags",
        "",
        """\
`olympus.config.update(name, value)` sets a flag for the process, as does the environment variable
of the same name in capitals. A flag with a context manager, such as `olympus.enable_x64(True)`,
can be set for a block of one thread. Flags that shape programs are part of the key of cached
compiled functions.""",
        "",
        "| flag | default | for a block | shapes programs | |",
        "|---|---|---|---|---|",
    ]
    for flag in sorted(configuration._flags.values(), key=lambda flag: flag.flag_name):
        manager = "yes" if isinstance(flag, State) else ""
        shapes = "yes" if flag.shapes_programs else ""
        shown = escaped(str(default(flag))) or "''"
        lines.append(
            f"| `{flag.flag_name}` | `{shown}` | {manager} | {shapes} | "
            f"{escaped(flag.description)} |"
        )
    return "\n".join(lines) + "\n"


def variables_page() -> str:
    """Returns the table of environment variables that the code reads, other than those of flags."""
    of_flags = {flag.flag_name.upper() for flag in config._flags.values()}
    lines = [
        "# Environment variables",
        "",
        """\
Each [flag](flags.md) is read from the variable of the same name in capitals, such as
`OLYMPUS_ENABLE_X64=1`. For programs written for JAX, `JAX_*` is read as well. The code also reads
these variables:""",
        "",
        "| variable | read by |",
        "|---|---|",
    ]
    for name, modules in sorted(variables_read().items()):
        if name not in of_flags:
            lines.append(f"| `{name}` | {', '.join(f'`{each}`' for each in sorted(modules))} |")
    lines += ["", "[Platforms](../platforms.md) explains the variables about devices."]
    return "\n".join(lines) + "\n"


def variables_read() -> dict[str, set[str]]:
    """Returns the environment variables that the packages read, and the modules that read them."""
    found: dict[str, set[str]] = {}
    for path in sorted(ROOT.glob("packages/*/src/**/*.py")):
        text = path.read_text("utf-8")
        if "environ" not in text:
            continue
        module = ".".join(path.relative_to(path.parents[-1]).with_suffix("").parts)
        module = re.sub(r".*\.src\.", "", module).removesuffix(".__init__")
        for name in variables_of(ast.parse(text)):
            found.setdefault(name, set()).add(module)
    return found


def variables_of(tree: ast.AST) -> Iterator[str]:
    """Yields the names that a module looks up in the environment."""
    constants = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }
    for node in ast.walk(tree):
        key = None
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            key = node.slice
        elif isinstance(node, ast.Call) and node.args:
            function = ast.unparse(node.func)
            if re.search(
                r"\.(get|pop|setdefault)$|getenv$", function
            ):  # some functions receive a copy of the environment
                key = node.args[0]
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]).endswith("environ"):
            key = node.left
        name = constants.get(key.id) if isinstance(key, ast.Name) else getattr(key, "value", None)
        if isinstance(name, str) and re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|PYTHONPATH", name):
            yield name


def extras_page() -> str:
    """Returns the table of the extras of all packages."""
    lines = [
        "# Extras",
        "",
        'Packages that `pip install "olympus[name]"` installs besides `olympus`. Inner packages',
        "have their own extras.",
        "",
        "| install | brings |",
        "|---|---|",
    ]
    for path in sorted(ROOT.glob("packages/*/pyproject.toml")):
        project = tomllib.loads(path.read_text("utf-8"))["project"]
        for extra, needed in project.get("optional-dependencies", {}).items():
            brought = ", ".join(f"`{each}`" for each in needed)
            lines.append(f"| `{project['name']}[{extra}]` | {brought} |")
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Returns the page with the help texts of all command lines."""
    lines = ["# Command lines", ""]
    for command in _COMMANDS:
        lines += [f"## python -m {command}", "", "```text", help_of(command), "```", ""]
    lines += [
        "## pytest",
        "",
        "The package `olympus` declares a plugin:",
        "",
        "```text",
        help_of_plugin(),
        "```",
    ]
    return "\n".join(lines) + "\n"


def help_of(command: str) -> str:
    """Returns what ``python -m command --help`` prints."""
    done = subprocess.run(
        [sys.executable, "-m", *command.split(), "--help"],
        env={**os.environ, "COLUMNS": "90"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.rstrip()


def help_of_plugin() -> str:
    """Returns the help text of the options of the plugin for pytest."""
    plugin = importlib.import_module("olympus_pytest")
    parser = argparse.ArgumentParser(prog="pytest", add_help=False, usage=argparse.SUPPRESS)
    group = mock.Mock(addoption=parser.add_argument)
    plugin.pytest_addoption(mock.Mock(getgroup=lambda name: group))
    return parser.format_help().rstrip()
