# SPDX-License-Identifier: Apache-2.0
"""Suggestions for unknown names: the nearest known name, or advice on other libraries' names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["hint", "nearest"]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Returns the known name that differs least from a misspelled name; None if none is near.

    The distance counts insertions, deletions, replacements and exchanges of neighbors (the optimal
    string alignment). One edit is allowed for each three characters, and three at most.

    Args:
      name: the misspelled name.
      names: the names that exist.

    Example:
      >>> nearest("vamp", ["vmap", "jit", "grad"])
      'vmap'
    """
    limit = min(3, max(1, len(name) // 3))
    lower, letters = name.lower(), set(name.lower())
    best: tuple[int, str] | None = None
    for candidate in names:
        if candidate[:1] == "_" or abs(len(candidate) - len(name)) > limit:
            continue
        # Each edit changes the set of letters by two at most.
        if len(letters ^ set(candidate.lower())) > 2 * limit:
            continue
        distance = _distance(lower, candidate.lower())
        if distance <= limit and (best is None or (distance, candidate) < best):
            best = distance, candidate
    return None if best is None else best[1]


def _distance(left: str, right: str) -> int:
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left):
        before, above, row = row, before, [i + 1]
        for j, b in enumerate(right):
            step = min(before[j] + (a != b), before[j + 1] + 1, row[j] + 1)
            if i and j and a == right[j - 1] and b == left[i - 1]:
                step = min(step, above[j - 1] + 1)
            row.append(step)
    return row[-1]


def hint(name: str, names: Iterable[str], habits: Mapping[str, str]) -> str:
    """Returns the end of an error message about an unknown name: the suggested replacement.

    Args:
      name: the unknown name.
      names: the names that exist.
      habits: advice for names that other libraries have.

    Example:
      >>> hint("vamp", ["vmap", "jit"], {})
      ". Did you mean: 'vmap'?"
      >>> hint("cat", ["all"], {"cat": "use `concatenate`"})
      '; use `concatenate`'
    """
    if name in habits:
        return f"; {habits[name]}"
    near = nearest(name, names)
    return f". Did you mean: {near!r}?" if near is not None else ""
