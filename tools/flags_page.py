# SPDX-License-Identifier: Apache-2.0
"""Writes docs/flags.md, the table of configuration flags.

``python tools/flags_page.py`` rewrites the page, and ``--check`` fails if it is out of date.
"""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import Any

from olympus_ir.settings.config import config
from olympus_ir.settings.configuration import Flag, State
from olympus_ir.settings.flags_without_effect import REASONS

PAGE = Path(__file__).parent.parent / "docs" / "flags.md"

HEADER = """# Flags

Each flag is set by `config.update("olympus_<name>", value)` or by the environment variable
`OLYMPUS_<NAME>`. Flags marked *with* can also be set for a block of one thread, by
`with olympus.<name>(value)` or `with olympus_ir.settings.config_states.<name>(value)`. JAX's names,
`jax_<name>`, work in programs [written for JAX](programs-for-jax.md). The page is generated from
the declarations (`nox -s flags`).

| flag | default | | meaning |
|---|---|---|---|
"""

INERT = """
## Flags without effect

Programs written for JAX set these flags by name. Their values are checked, but no code reads them.

| flag | meaning in JAX | why it has no effect |
|---|---|---|
"""


def description(flag: Flag) -> str:
    """Returns the description of a flag with the values that it accepts."""
    choices = ", ".join(f"`{choice}`" for choice in flag.kind.choices)
    text = flag.description + (f" One of {choices}." if choices else "")
    return text.replace("|", "\\|")


def default(flag: Flag) -> Any:
    """Returns the default of a flag as users write it: members of enumerations by their names."""
    value = flag.default
    return value.name.lower() if isinstance(value, enum.Enum) else value


def page() -> str:
    """Returns the text of the page."""
    flags = sorted((config.flag(name) for name in config), key=lambda flag: flag.flag_name)
    read, inert = [], []
    for flag in flags:
        name = flag.__name__
        if name in REASONS:
            inert.append(f"| `{name}` | {flag.description} | {REASONS[name]} |\n")
        else:
            kind = "with" if isinstance(flag, State) else ""
            read.append(f"| `{name}` | `{default(flag)!r}` | {kind} | {description(flag)} |\n")
    return HEADER + "".join(read) + INERT + "".join(inert)


def main() -> int:
    """Writes the page, or checks with ``--check`` that it is up to date."""
    if "--check" in sys.argv:
        if PAGE.read_text("utf-8") != page():
            print("docs/flags.md is out of date; run python tools/flags_page.py")
            return 1
        return 0
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
