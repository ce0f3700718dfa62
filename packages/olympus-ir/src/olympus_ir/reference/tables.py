# SPDX-License-Identifier: Apache-2.0
"""Table of reference rules, and the two kinds of rules in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..programs.rules import RuleTable

__all__ = ["reference_rules", "takes_arrays"]

Rule = TypeVar("Rule", bound=Callable[..., Any])

# Maps a primitive to a function `(*numpy_arrays, **params)`. The function returns one NumPy array,
# or a list if the primitive has several results. An element of an extended dtype is one item of raw
# bytes, which NumPy can slice, join, select and compare.
reference_rules: RuleTable[Callable[..., Any]] = RuleTable(
    "reference", package="olympus_ir", folder="reference", expands=True
)

# Rules that take and return arrays of the evaluator, such as those of primitives that run programs.
array_rules: set[Callable[..., Any]] = set()


def takes_arrays(rule: Rule) -> Rule:
    """Marks a reference rule that takes and returns the evaluator's arrays, not NumPy arrays.

    Primitives that run programs have such rules, because they evaluate equations on arrays.
    """
    array_rules.add(rule)
    return rule
