# SPDX-License-Identifier: Apache-2.0
"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["bytes_text", "section"]


def section(title: str, rows: Mapping[str, str]) -> None:
    """Prints a title, and under it names and values in two columns."""
    print(f"\n{title}" if title else "", end="\n" if title else "")
    width = max(map(len, rows), default=0)
    for name, value in rows.items():
        print(f"  {name.ljust(width)}  {value}")


def bytes_text(count: int) -> str:
    """Returns a number of bytes in a suitable unit.

    Example:
      >>> bytes_text(3 * 1024**2)
      '3.0 MiB'
    """
    amount = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
