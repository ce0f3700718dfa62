# SPDX-License-Identifier: Apache-2.0
"""Detection of traced values that outlive their trace, and of objects that refer to them."""

from __future__ import annotations

import gc
import types
from collections.abc import Sequence
from typing import Any

from ..diagnostics.errors import LeakedTracerError
from .tracing import Trace, Tracer

__all__ = ["check_leaks"]

_SHOWN = 5  # the maximal number of tracers in a message
_CHAIN = 5  # the maximal number of links from a tracer to its holder


def check_leaks(trace: Trace) -> None:
    """Raises if tracers of a finished trace are still alive.

    Raises:
      LeakedTracerError: tracers are alive. The message names the tracers, the lines that made them
          and the objects that refer to them.
    """
    if not _tracers_of(trace):
        return
    gc.collect()  # some tracers may be in reference cycles, for example after an exception
    tracers = _tracers_of(trace)
    if tracers:
        del tracers[_SHOWN:]
        described = "\n\n".join([_describe(tracer, [trace, tracers]) for tracer in tracers])
        raise LeakedTracerError(f"Leaked trace {trace!r}. Leaked tracer(s):\n{described}")


def _tracers_of(trace: Trace) -> list[Tracer]:
    return [referrer for referrer in gc.get_referrers(trace) if isinstance(referrer, Tracer)]


def _describe(tracer: Tracer, own: Sequence[Any]) -> str:
    text = (
        f"This {type(tracer).__name__} with object id {id(tracer)} was created on line:\n"
        f"  {_line(tracer)}\n"
    )
    return text + "\n".join(_chain(tracer, [*own, tracer]))


def _line(tracer: Tracer) -> str:
    return tracer._origin_message().replace("\n", "\n  ") or "<unknown>"


def _chain(value: Any, own: list[Any]) -> list[str]:
    """Returns sentences about the chain of objects, except ``own``, that keep a value alive."""
    lines: list[str] = []
    known = {id(owner) for owner in own}
    known |= {id(own), id(lines)}
    while len(lines) < _CHAIN:
        referrers = gc.get_referrers(value)
        known.add(id(referrers))
        found = next((referrer for referrer in referrers if _is_of_interest(referrer, known)), None)
        if found is None:
            break
        holder, how = _holder(found, value)
        known |= {id(found), id(holder)}
        lines.append(f"{_name(value)} is referred to by {_name(holder)}{how}")
        value = holder
    return lines or [f"{_name(value)} is referred to by a variable"]


def _is_of_interest(referrer: Any, known: set[int]) -> bool:
    return id(referrer) not in known and not isinstance(
        referrer, types.FrameType | types.ModuleType
    )


def _holder(referrer: Any, value: Any) -> tuple[Any, str]:
    """Returns the object that holds a value through ``referrer``, and the attribute or item."""
    if isinstance(referrer, types.CellType):
        closures = [holder for holder in gc.get_referrers(referrer) if type(holder) is tuple]
        for closure in closures:
            for function in gc.get_referrers(closure):
                if isinstance(function, types.FunctionType) and function.__closure__ is closure:
                    position = _position(closure, referrer)
                    name = function.__code__.co_freevars[position]
                    return function, f" ({function.__name__}) closed-over variable {name}"
    if isinstance(referrer, list | tuple):
        return referrer, f"[{_position(referrer, value)}]"
    if isinstance(referrer, dict):
        key = next((key for key, item in referrer.items() if item is value), None)
        for owner in gc.get_referrers(referrer):
            if getattr(owner, "__dict__", None) is referrer:
                return owner, f".{key}"
        return referrer, f"[{key!r}]"
    return referrer, ""


def _position(sequence: Sequence[Any], value: Any) -> int:
    # Compares by identity, because `==` of tracers records an equation.
    return next(position for position, item in enumerate(sequence) if item is value)


def _name(value: Any) -> str:
    return f"<{type(value).__name__} {id(value)}>"
