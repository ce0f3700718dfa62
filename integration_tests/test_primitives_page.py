# SPDX-License-Identifier: Apache-2.0
"""Agreement of docs/primitives.md with the rule tables, which have no missing rules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "primitives.md"
TOOL = ROOT / "tools" / "primitives_table.py"


def test_page_is_up_to_date() -> None:
    # In a process of its own, because tests define primitives and rules, too.
    command = [sys.executable, str(TOOL), "--check"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def test_no_rule_is_missing() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert len(rows) > 100
    assert [row for row in rows if "**missing**" in row] == []
