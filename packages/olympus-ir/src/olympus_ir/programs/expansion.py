# SPDX-License-Identifier: Apache-2.0
"""Expansions: primitives that mean a function of other primitives.

Interpreters that have no rule of their own for such a primitive (the reference evaluator, the
lowering to XLA) run the function in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .rules import RuleTable

# From a primitive to a function `(*operands, **params)` of lax operations, which returns one
# result, or a list where the primitive has several.
expansion_rules: RuleTable[Callable[..., Any]] = RuleTable(
    "expansion", package="olympus_ir", folder=None
)
