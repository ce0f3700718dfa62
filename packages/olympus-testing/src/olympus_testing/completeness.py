# SPDX-License-Identifier: Apache-2.0
"""Completeness of rule tables."""

from __future__ import annotations

from collections.abc import Iterable

from olympus_ir import RuleTable
from olympus_ir.programs.primitives import Primitive

__all__ = ["assert_complete"]


def assert_complete(table: RuleTable, primitives: Iterable[Primitive]) -> None:
    """Raises AssertionError if a table lacks rules or has stale exemptions.

    Args:
      table: the table.
      primitives: the primitives for which the table must have rules or exemptions.

    Example:
      >>> from olympus_ir import RuleTable, lax
      >>> costs = RuleTable("cost", package="example")
      >>> costs.define(lax.sin_p, lambda x: 1)
      >>> assert_complete(costs, [lax.sin_p])
    """
    problems = table.holes(primitives)
    assert not problems, "\n".join(problems)
