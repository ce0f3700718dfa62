# SPDX-License-Identifier: Apache-2.0
"""The table of reference rules, and the two kinds of rules in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..programs.rules import RuleTable

__all__ = ["reference_rules", "takes_arrays"]

Rule = TypeVar("Rule", bound=Callable[..., Any])

# From a primitive to a function `(*numpy_arrays, **params)`, which returns one NumPy array, or a
# list if the primitive has several results. Elements of extended dtypes come as NumPy's raw
# bytes, one item per element, which NumPy can slice, join, select and compare.
reference_rules: RuleTable[Callable[..., Any]] = RuleTable(
    "reference", package="olympus_ir", folder="reference", expands=True
)

# Rules that take and return arrays instead, such as those of primitives that run programs.
array_rules: set[Callable[..., Any]] = set()


def takes_arrays(rule: Rule) -> Rule:
    """Marks a reference rule that takes and returns arrays rather than NumPy arrays.

    Rules of primitives that run programs do so, because they evaluate equations on arrays.
    """
    array_rules.add(rule)
    return rule
