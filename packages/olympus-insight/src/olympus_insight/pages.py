# SPDX-License-Identifier: Apache-2.0
"""Pages in HTML: escaped text, tables, and whole files that need no network."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

__all__ = ["HasFragment", "escaped", "fragment", "page", "save", "table"]

_STYLE = """
.olympus { font: 13px/1.45 system-ui, sans-serif; color: #1c2430; max-width: 1200px; }
.olympus h3 { font-size: 15px; margin: 14px 0 4px; }
.olympus table { border-collapse: collapse; margin: 6px 0; }
.olympus th { text-align: left; font-weight: 600; border-bottom: 1px solid #8a94a3; }
.olympus th, .olympus td { padding: 2px 10px 2px 0; vertical-align: top; }
.olympus td.number { text-align: right; font-variant-numeric: tabular-nums; }
.olympus td { border-bottom: 1px solid #e3e7ec; }
.olympus code { font: 12px ui-monospace, monospace; background: #f2f4f7; padding: 0 3px; }
.olympus .note { color: #5b6675; }
.olympus svg text { font: 11px ui-monospace, monospace; fill: #1c2430; }
"""


class HasFragment(Protocol):
    """A report that shows itself as a piece of HTML."""

    def _repr_html_(self) -> str: ...


def escaped(text: object) -> str:
    """Returns text with HTML's special characters replaced.

    Example:
      >>> escaped("f32[3] & <lambda>")
      'f32[3] &amp; &lt;lambda&gt;'
    """
    return html.escape(str(text), quote=True)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a table. Numbers, and texts that begin with a digit, are aligned at the right."""
    head = "".join(f"<th>{escaped(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    text = escaped(value)
    kind = ' class="number"' if text[:1].isdigit() else ""
    return f"<td{kind}>{text}</td>"


def fragment(*parts: str) -> str:
    """Returns pieces of HTML as one element that contains its style sheet."""
    return f'<div class="olympus"><style>{_STYLE}</style>{"".join(parts)}</div>'


def page(title: str, body: str) -> str:
    """Returns a whole HTML file."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escaped(title)}</title></head><body>{body}</body></html>"
    )


def save(path: str | os.PathLike[str], title: str, report: HasFragment) -> None:
    """Writes a report as a file that opens without a network."""
    Path(path).write_text(page(title, report._repr_html_()), encoding="utf-8")
