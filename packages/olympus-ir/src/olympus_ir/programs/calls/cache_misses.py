# SPDX-License-Identifier: Apache-2.0
"""Log messages about tracing cache misses, for the flag ``explain_cache_misses``."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from ..._jaxlib import config_trace_context_names
from ...diagnostics import source_info
from ...diagnostics.debug_info import DebugInfo
from ...diagnostics.name_stacks import no_names
from ...settings.naming import logger_name
from ...trees.pytree_paths import keystr
from ...trees.pytree_prefix import equality_errors_of_structures

__all__ = ["explain"]

# Source positions of calls of functions that had not been traced before.
_locations: set[str] = set()


def explain(fun: Any, info: DebugInfo, key: tuple, seen: Collection[tuple]) -> None:
    """Logs the difference between a call and the most similar call traced before.

    Args:
      fun: the function.
      info: the function's debug information.
      key: the cache key of the call: options, the structure of the arguments, their types, static
        arguments, named axes, and the configuration.
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


def _difference(info: DebugInfo, new: tuple, old: tuple) -> tuple[int, int, str]:
    """Describes the difference between two cache keys.

    Returns:
      The rank of the kind of difference, the number of differing parts, and the description. The
      closest key has the smallest rank, and among equal ranks the smallest number.
    """
    _, new_tree, new_avals, new_statics, new_axes, new_context = new
    _, old_tree, old_avals, old_statics, old_axes, old_context = old
    parts = []
    if (new_context, new_axes) != (old_context, old_axes):
        names = config_trace_context_names()
        for name, now, before in zip(names, new_context, old_context, strict=False):
            if now != before:
                parts.append(f"  * {name} differs: now {now} and before {before}")
        heading = "Tracing context doesn't match, e.g. due to config or context manager."
        return 0, len(parts), "\n".join([heading, *parts])
    if new_tree != old_tree:
        for path, now, before, why in equality_errors_of_structures(new_tree, old_tree):
            parts.append(
                f"  * at input path {keystr(path)}, now {now} and before {before}, so {why}"
            )
        return 1, len(parts), "\n".join(["different input pytree:", *parts])
    if new_statics != old_statics:
        text = f"different static arguments:\n  * now {new_statics} and before {old_statics}"
        return 2, 1, text
    names = info.arg_names or [f"argument {position}" for position in range(len(new_avals))]
    for name, now, before in zip(names, new_avals, old_avals, strict=False):
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
        shown = [f"{text}{{weak_type={each}}}" for text, each in zip(shown, weak, strict=True)]
    return f"now {shown[0]} and before {shown[1]}"
