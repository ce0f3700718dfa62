# SPDX-License-Identifier: Apache-2.0
"""Calls that arrays were donated to, for errors that say where an array's memory went.

Only the first call of each executable is noted, because later ones do not enter Python. The calls
are therefore known by the types of arrays that they take.
"""

from __future__ import annotations

from collections.abc import Iterable

from olympus_ir.diagnostics.name_stacks import no_names
from olympus_ir.diagnostics.source_info import SourceInfo, capture
from olympus_ir.diagnostics.traced_lines import place_of
from olympus_ir.types.avals import AbstractValue

__all__ = ["calls_that_took", "note_donations"]

# By type of the donated array: the calls, the last one last.
_calls: dict[str, dict[str, None]] = {}

_MOST = 3  # calls of one type, which an error names
_MOST_TYPES = 1000


def note_donations(name: str, donated: Iterable[AbstractValue]) -> None:
    """Notes that the user's line that is running donates arrays to a function.

    Args:
      name: the name of the function.
      donated: the types of the donated arrays.
    """
    place = place_of(SourceInfo(capture(), no_names))
    for kind in {aval.str_short() for aval in donated}:
        calls = _calls.setdefault(kind, {})
        call = f"`{name}`" + (f", called at {place}" if place else "")
        calls.pop(call, None)
        calls[call] = None
        if len(calls) > _MOST:
            del calls[next(iter(calls))]
    while len(_calls) > _MOST_TYPES:
        del _calls[next(iter(_calls))]


def calls_that_took(aval: AbstractValue) -> str:
    """Returns the calls that an array of a type may have been donated to, as a list in words."""
    return "\nor ".join(reversed(_calls.get(aval.str_short(), {})))
