# SPDX-License-Identifier: Apache-2.0
"""Log messages about tracing cache misses, for the flag ``explain_cache_misses``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any

from ..._jaxlib import config_trace_context_names
from ...diagnostics import source_info
from ...diagnostics.debug_info import DebugInfo
from ...diagnostics.name_stacks import no_names
from ...settings.naming import logger_name
from ...trees.pytree_paths import keystr
from ...trees.pytree_prefix import equality_errors_of_structures
from .trace_keys import TraceKey

__all__ = ["explain"]

# Source positions of calls of functions that had not been traced before.
_locations: set[str] = set()


def explain(
    fun: Callable[..., Any], info: DebugInfo, key: TraceKey, seen: Collection[TraceKey]
) -> None:
    """Logs the difference between a call and the most similar call traced before.

    Args:
      fun: the function.
      info: the function's debug information.
      key: the cache key of the call.
      seen: the cache keys of earlier calls.
    """
    code = getattr(fun, "__code__", None)
    if code is not None and not source_info.is_user_file(code.co_filename):
        return
    location = source_info.summarize(source_info.SourceInfo(source_info.capture(), no_names))
    name = source_info.function_name(fun)
    defined = f" defined at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    lines = [f"TRACING CACHE MISS at {location}:"]
    if seen:
        lines.append(f"  for {name}{defined}")
        lines.append("  all previously seen cache keys differ. For the closest previous key:")
        lines.append("  " + min(_difference(info, key, old) for old in seen)[-1])
    else:
        lines.append(f"  never seen function:\n    {name} id={id(fun)}{defined}")
        if location in _locations:
            lines.append(
                "  but seen another function defined on the same line; maybe the function is\n"
                "  being re-defined repeatedly, preventing caching?"
            )
        _locations.add(location)
    logging.getLogger(logger_name("interpreters.partial_eval")).warning("\n".join(lines))


def _difference(info: DebugInfo, new: TraceKey, old: TraceKey) -> tuple[int, int, str]:
    """Describes the difference between two cache keys.

    Returns:
      The rank of the kind of difference, the number of differing parts, and the description. The
      closest key has the smallest rank, and among equal ranks the smallest number.
    """
    parts = []
    if (new.context, new.axes) != (old.context, old.axes):
        names = config_trace_context_names()
        for name, now, before in zip(names, new.context, old.context, strict=False):
            if now != before:
                parts.append(f"  * {name} differs: now {now} and before {before}")
        heading = "Tracing context doesn't match, e.g. due to config or context manager."
        return 0, len(parts), "\n".join([heading, *parts])
    if new.in_tree != old.in_tree:
        for path, now, before, why in equality_errors_of_structures(new.in_tree, old.in_tree):
            parts.append(
                f"  * at input path {keystr(path)}, now {now} and before {before}, so {why}"
            )
        return 1, len(parts), "\n".join(["different input pytree:", *parts])
    if new.statics != old.statics:
        text = f"different static arguments:\n  * now {new.statics} and before {old.statics}"
        return 2, 1, text
    names = info.arg_names or [f"argument {position}" for position in range(len(new.avals))]
    for name, now, before in zip(names, new.avals, old.avals, strict=False):
        if now != before:
            parts.append(f"  * at {name}, {_types(now, before)}")
    if parts:
        return 3, len(parts), "\n".join(["different input types:", *parts])
    return 4, 0, "the functions are compiled with different options"


def _types(now: Any, before: Any) -> str:
    """Describes two types; shows weak types only if they differ."""
    shown = [aval.str_short(True) for aval in (now, before)]
    weak = [getattr(aval, "weak_type", False) for aval in (now, before)]
    if weak[0] != weak[1]:
        shown = [f"{text}{{weak_type={flag}}}" for text, flag in zip(shown, weak, strict=True)]
    return f"now {shown[0]} and before {shown[1]}"
