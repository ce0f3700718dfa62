# SPDX-License-Identifier: Apache-2.0
"""Checks of format strings, made before the values are known."""

from __future__ import annotations

import string
from typing import Any

__all__ = ["check_fields"]


def check_fields(fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Checks that a format string's fields match the values, and returns whether it has fields.

    Args:
      fmt: the format string.
      args: the positional values.
      kwargs: the named values.

    Raises:
      IndexError: a positional field has no value.
      KeyError: a named field has no value.
      ValueError: no field uses one of the values.

    Example:
      >>> check_fields("x is {x:.2f}", (), {"x": 1})
      True
    """
    checker = _FormatChecker()
    try:
        checker.vformat(fmt, args, kwargs)
    except KeyError as error:
        name = error.args[0]
        raise KeyError(
            f"{name!r}: the format string {fmt!r} names {name!r}, which is not among the keyword "
            f"arguments ({', '.join(kwargs) or 'none are given'}). Pass it: "
            f"`debug.print({fmt!r}, {name}=...)`"
        ) from None
    except IndexError:
        raise IndexError(
            f"tuple index out of range: the format string {fmt!r} has more fields than the "
            f"{len(args)} values that follow it. Pass a value for each field"
        ) from None
    return checker.has_fields


class _FormatChecker(string.Formatter):
    """Formatter that checks whether the fields of a format string match the arguments."""

    def __init__(self) -> None:
        self.has_fields = False

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        self.has_fields = True
        first, _ = _split_field_name(field_name)
        return self.get_value(first, args, kwargs), first

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [arg for position, arg in enumerate(args) if position not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `olympus.debug.print`: {unused}")
        unused_names = [name for name in kwargs if name not in used_args]
        if unused_names:
            raise ValueError(
                f"Unused keyword arguments to `olympus.debug.print`: {unused_names}. You may be "
                'passing an f-string (such as `f"{x}"`) to `olympus.debug.print`; pass a plain '
                "string."
            )


def _split_field_name(field_name: str) -> tuple[Any, str]:
    for position, character in enumerate(field_name):
        if character in ".[":
            first, rest = field_name[:position], field_name[position:]
            break
    else:
        first, rest = field_name, ""
    return (int(first) if first.isdigit() else first), rest
