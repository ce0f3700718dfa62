# SPDX-License-Identifier: Apache-2.0
"""Printing from kernels."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

__all__ = ["debug_print"]


def debug_print(fmt: str, *args: Any) -> None:
    """Prints a text and values while a kernel runs.

    Args:
      fmt: the text, with ``{}`` for each value; without placeholders the values come after it.
      *args: scalars or arrays.

    Raises:
      ValueError: where there are not as many placeholders as values.
    """
    placeholders = fmt.count("{}")
    if placeholders and placeholders != len(args):
        raise ValueError(
            f"the text {fmt!r} has {placeholders} placeholders, but debug_print was given "
            f"{len(args)} values"
        )
    if not placeholders and args:
        fmt = fmt + " {}" * len(args)
    lax.debug_print(fmt, *args)
