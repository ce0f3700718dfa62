# SPDX-License-Identifier: Apache-2.0
"""One name a reference: a function must not get the same reference twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..programs.olympuspr import DebugInfo
from ..types.avals import get_aval
from .values import referent


def check_aliases(info: DebugInfo, closed_over: Sequence[Any], operands: Sequence[Any]) -> None:
    """Raises where a reference occurs twice among what a function closes over and is passed.

    Args:
      info: of the function: its name, what it is traced for, the names of its arguments.
      closed_over: what it closes over.
      operands: its flat arguments.

    Raises:
      ValueError: names the arguments.
    """
    places: dict[int, int] = {}
    for place, value in enumerate((*closed_over, *operands)):
        aval = get_aval(value)
        if not aval.is_ref:
            continue
        first = places.setdefault(id(referent(value)), place)
        if first != place:
            _raise_alias(info, aval, first - len(closed_over), place - len(closed_over))


def _raise_alias(info: DebugInfo, aval: Any, first: int, second: int) -> None:
    names = info.arg_names or ()

    def name(place: int) -> str:
        return names[place] if place < len(names) else f"argument {place}"

    if first < 0:
        raise ValueError(
            f"when tracing {info.func_src_info} for {info.traced_for}, a mutable array reference "
            f"of type {aval.str_short()} was both closed over and passed as the argument "
            f"{name(second)}. Use one of the two."
        )
    raise ValueError(
        "only one reference to a mutable array may be passed as an argument to a function, but "
        f"when tracing {info.func_src_info} for {info.traced_for} the mutable array reference of "
        f"type {aval.str_short()} appeared at both {name(first)} and {name(second)}."
    )
