# SPDX-License-Identifier: Apache-2.0
"""Runs of programs on the reference evaluator, with results of the declared types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lax.elementwise.conversion import convert_dtype
from ..programs.evaluation import eval_olympuspr
from ..programs.olympuspr import ClosedOlympuspr
from ..types.avals import get_aval

__all__ = ["run", "typed"]


def run(program: ClosedOlympuspr, args: Sequence[Any]) -> list[Any]:
    """Runs a program. The results have the types that the program declares."""
    results = eval_olympuspr(program.jaxpr, program.consts, *args)
    return [typed(value, aval) for value, aval in zip(results, program.out_avals, strict=True)]


def typed(value: Any, aval: Any) -> Any:
    """Converts a result to the type that the program declares.

    The conversion is needed because a result may be an operand or a literal.
    """
    if get_aval(value) is aval:
        return value
    return convert_dtype(value, aval.dtype, aval.weak_type)
