# SPDX-License-Identifier: Apache-2.0
"""Facts about the carry of a loop that hold before and after each iteration.

An example of a fact is whether a component of the carry has a tangent, or a batch dimension. A
component may lack a tangent before the loop and get one in an iteration. The body of the derived
loop must then take a tangent of this component from the first iteration on.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["until_stable"]

Derived = TypeVar("Derived")
Fact = TypeVar("Fact")


def until_stable(
    derive: Callable[[tuple[Fact, ...]], tuple[Derived, Sequence[Fact]]],
    facts: Sequence[Fact],
    join: Callable[[Fact, Fact], Fact] = operator.or_,
) -> tuple[Derived, tuple[Fact, ...]]:
    """Derives the body of a loop again until an iteration keeps the facts about the carry.

    Args:
      derive: maps the facts before an iteration, one for each component of the carry, to the
        derived body and to the facts after the iteration.
      facts: the facts before the loop.
      join: returns the fact that is true if one of two facts is true. Repeated joins must reach a
        fact that further joins do not change, as joins of flags do.

    Returns:
      The derived body, and the facts that hold before and after each iteration.

    Example:
      >>> def shift(flags):  # each iteration moves the values to the right
      ...     return "the body", (flags[-1], *flags[:-1])
      >>> until_stable(shift, [True, False, False])
      ('the body', (True, True, True))
    """
    stable = tuple(facts)
    while True:
        derived, after = derive(stable)
        joined = tuple([join(*pair) for pair in zip(stable, after, strict=True)])
        if joined == stable:
            return derived, stable
        stable = joined
