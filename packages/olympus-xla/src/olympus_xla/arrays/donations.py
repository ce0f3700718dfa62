# SPDX-License-Identifier: Apache-2.0
"""Record of the calls to which arrays were donated.

Errors about deleted arrays name these calls. Only the first call of each executable is recorded,
because later calls do not enter Python. The record therefore contains the types of the donated
arrays, not the arrays. An error names the calls that took arrays of the same type.
"""

from __future__ import annotations

from collections.abc import Iterable

from olympus_ir.diagnostics.name_stacks import no_names
from olympus_ir.diagnostics.source_info import SourceInfo, capture
from olympus_ir.diagnostics.traced_lines import place_of
from olympus_ir.types.avals import AbstractValue

__all__ = ["calls_that_took", "note_donations"]

# Maps the type of a donated array to the calls that took arrays of this type, latest last.
_calls: dict[str, dict[str, None]] = {}

_MOST = 3  # the largest number of calls that are kept for one type
_MOST_TYPES = 1000


def note_donations(name: str, donated: Iterable[AbstractValue]) -> None:
    """Records that the user's current line donates arrays to a function.

    Args:
      name: the name of the function.
      donated: the types of the donated arrays.
    """
    location = place_of(SourceInfo(capture(), no_names))
    for kind in {aval.str_short() for aval in donated}:
        calls = _calls.setdefault(kind, {})
        call = f"`{name}`" + (f", called at {location}" if location else "")
        calls.pop(call, None)
        calls[call] = None
        if len(calls) > _MOST:
            del calls[next(iter(calls))]
    while len(_calls) > _MOST_TYPES:
        del _calls[next(iter(_calls))]


def calls_that_took(aval: AbstractValue) -> str:
    """Returns a text that lists the calls to which an array of this type may have been donated."""
    return "\nor ".join(reversed(_calls.get(aval.str_short(), {})))
