# SPDX-License-Identifier: Apache-2.0
"""Writes docs/primitives.md, the table of the rules of each primitive for each interpreter.

``python tools/primitives_table.py`` rewrites the page, and ``--check`` fails if it is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

import olympus_ir.lax  # noqa: F401 - declares the instruction set
import olympus_random  # noqa: F401 - declares primitives of its own
import olympus_sharding.manual.shard_map  # noqa: F401 - likewise
from olympus_autodiff.tables import jvp_rules, linearize_rules, transpose_rules
from olympus_batching.tables import batching_rules
from olympus_ir import RuleTable, primitives
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.reference.tables import reference_rules
from olympus_xla.compiling.lowering.tables import lowering_rules

PAGE = Path(__file__).parent.parent / "docs" / "primitives.md"

HEADER = """# Primitives

The rules by which each interpreter handles each primitive of the instruction set. The page is
generated from the rule tables (`nox -s primitives`). *Rule*: the table has a rule. *Derived*: the
rule follows from another rule. *Exempt*: no rule is needed or possible, for the reason given below.

"""


def cell(table: RuleTable, primitive: Primitive) -> str:
    """Returns the entry of a primitive in a rule table."""
    if primitive in table.derived:
        return "derived"
    if primitive in table:
        return "rule"
    if primitive in table.exemptions:
        return "exempt"
    if table in (reference_rules, lowering_rules) and primitive in expansion_rules:
        return "derived"
    return "**missing**"


def transpose_cell(primitive: Primitive) -> str:
    """Returns the entry for the transpose rule.

    Only primitives that are linear in operands need the rule.
    """
    found = cell(transpose_rules, primitive)
    return "not linear" if found == "**missing**" and not primitive.linear_in else found


def derivative_cell(primitive: Primitive) -> str:
    """Returns the entry for a jvp rule, or for a linearization rule in its place."""
    found = cell(jvp_rules, primitive)
    return "rule" if found == "**missing**" and primitive in linearize_rules else found


def page() -> str:
    """Returns the text of the page."""
    lines = [HEADER + "| primitive | family | reference | jvp | transpose | batching | lowering |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    tables = {
        "reference": reference_rules,
        "jvp": jvp_rules,
        "transpose": transpose_rules,
        "batching": batching_rules,
        "lowering": lowering_rules,
    }
    instructions = sorted(primitives(), key=lambda each: (each.family, each.name))
    for each in instructions:
        cells = [
            cell(reference_rules, each),
            derivative_cell(each),
            transpose_cell(each),
            cell(batching_rules, each),
            cell(lowering_rules, each),
        ]
        lines.append(f"| `{each.name}` | {each.family} | {' | '.join(cells)} |")
    lines += ["", "## Exemptions", ""]
    for name, table in tables.items():
        reasons: dict[str, list[str]] = {}
        for each in instructions:
            if each in table.exemptions:
                reasons.setdefault(table.exemptions[each], []).append(f"`{each.name}`")
        lines += [f"- {name}: {', '.join(names)}: {why}." for why, names in reasons.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes the page, or checks with ``--check`` that it is up to date."""
    text = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            raise SystemExit("docs/primitives.md is out of date: run `nox -s primitives`")
        return
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
