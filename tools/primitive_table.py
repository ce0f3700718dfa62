# SPDX-License-Identifier: Apache-2.0
"""Writes docs/primitives.md: each primitive with what every interpreter does with it.

Usage: python primitive_table.py [--check]
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import olympus_autodiff.rules
import olympus_batching.rules
import olympus_random
import olympus_sharding
from olympus_autodiff.tables import jvp_rules, transpose_rules
from olympus_batching.tables import batching_rules, collective_batching_rules
from olympus_ir import Primitive, RuleTable, primitives
from olympus_ir.reference.tables import reference_rules
from olympus_testing import samples
from olympus_xla.lowering.tables import lowering_rules

# Imported because they define primitives or rules, and named here to say so.
DEFINE = (olympus_autodiff.rules, olympus_batching.rules, olympus_random, olympus_sharding)

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "primitives.md"

COLUMNS: dict[str, RuleTable] = {
    "reference": reference_rules,
    "batching": batching_rules,
    "jvp": jvp_rules,
    "transpose": transpose_rules,
    "lowering": lowering_rules,
    "sample": samples,
}

INTRODUCTION = """\
# Primitives

Every primitive with the rules it has in each interpreter. Written by `nox -s primitives` from the
tables themselves; the tests fail when this page is out of date.

A cell says *rule* where somebody wrote one, *derived* where it follows from something else, and
gives the number of a note where there is none, with the reason. An operation that is not linear has
no transpose, and that cell is empty. The rules stand in the files of the family, for example
`olympus_batching/rules/<family>.py`.
"""


class Notes:
    """Numbered notes; the same text has the same number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of the note that says ``text``."""
        return self.numbers.setdefault(text, len(self.numbers) + 1)


def cell(table: RuleTable, primitive: Primitive, notes: Notes) -> str:
    """What one table says of one primitive."""
    if primitive in table.derived:
        return "derived"
    if primitive in table or (table is batching_rules and primitive in collective_batching_rules):
        return "rule"
    if reason := table.exemptions.get(primitive):
        return f"none ({notes.number(reason)})"
    return "" if table is transpose_rules else "**missing**"


def document() -> str:
    """The text of docs/primitives.md."""
    families: dict[str, list[Primitive]] = defaultdict(list)
    for primitive in primitives():
        families[primitive.family or "other"].append(primitive)
    notes = Notes()
    lines = [INTRODUCTION]
    for family, members in sorted(families.items()):
        lines += [f"## {family}", "", "| primitive | " + " | ".join(COLUMNS) + " |"]
        lines += ["|---" * (1 + len(COLUMNS)) + "|"]
        for primitive in sorted(members, key=lambda each: each.name):
            cells = [cell(table, primitive, notes) for table in COLUMNS.values()]
            lines.append(f"| `{primitive.name}` | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["## Notes", ""]
    lines += [f"{number}. {text}" for text, number in notes.numbers.items()]
    return "\n".join(lines) + "\n"


def main(*arguments: str) -> None:
    """Writes the page, or with ``--check`` fails where it would change."""
    text = document()
    if arguments != ("--check",):
        DOCUMENT.write_text(text, encoding="utf-8")
    elif not DOCUMENT.exists() or DOCUMENT.read_text(encoding="utf-8") != text:
        sys.exit(f"{DOCUMENT} is out of date: run `nox -s primitives` and commit the result")


if __name__ == "__main__":
    main(*sys.argv[1:])
