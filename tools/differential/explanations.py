# SPDX-License-Identifier: Apache-2.0
"""Patterns of findings that docs/differences.md explains."""

from __future__ import annotations

import fnmatch
import pathlib
import re

__all__ = ["explained", "explanations"]

DIFFERENCES = pathlib.Path(__file__).parent.parent.parent / "docs" / "differences.md"


def explanations(section: str) -> list[str]:
    """Returns the shell patterns in the first column of the tables in a section."""
    text = DIFFERENCES.read_text("utf-8")
    part = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\|(.*?)\|", part[1] if part else "", re.MULTILINE)
    return [pattern for row in rows for pattern in re.findall(r"`([^`]+)`", row)]


def explained(patterns: list[str], label: str, heading: str) -> bool:
    """Returns whether a pattern matches a case or the heading of a finding."""
    return any(
        fnmatch.fnmatchcase(text, pattern) for text in (label, heading) for pattern in patterns
    )
