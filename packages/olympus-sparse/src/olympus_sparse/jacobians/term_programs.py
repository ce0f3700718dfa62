# SPDX-License-Identifier: Apache-2.0
"""Programs that compute the entries of a pattern term by term."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr, olympusprs_in_params
from olympus_ir.trees import pytrees

from .elimination import eliminate
from .functions import FunctionOfLeaves
from .patterns import Pattern
from .recovery import entries_of
from .terms import Linear, Term, Unsupported

__all__ = ["program_of_entries"]

# Programs of terms have at most about this many operations, so that they compile fast.
_MOST_OPERATIONS = 2000


def _equation_count(program: Olympuspr) -> int:
    inner = (sub for equation in program.eqns for sub in olympusprs_in_params(equation.params))
    return len(program.eqns) + sum(map(_equation_count, inner))


def program_of_entries(
    flat: FunctionOfLeaves, push: ClosedOlympuspr, pattern: Pattern
) -> ClosedOlympuspr | None:
    """Returns a program that computes the entries term by term; None if no short one exists.

    Args:
      flat: the function.
      push: the program of the jvp of ``flat``. Its operands are the tangents, the leaves and the
        other arguments.
      pattern: the pattern of the entries.
    """
    degree = pattern.nnz / max(pattern.shape[0], 1)
    if degree * _equation_count(push.olympuspr) > _MOST_OPERATIONS:
        return None
    tangents, start = [], 0
    for aval in flat.avals:
        columns = np.arange(start, start + math.prod(aval.shape)).reshape(aval.shape)
        tangents.append(Linear(aval, (Term(columns, np.ones((), aval.dtype)),)))
        start += columns.size
    dtype = np.result_type(*(aval.dtype for aval in push.out_avals))

    def entries(leaves: Any, others: Any) -> Any:
        operands = [*tangents, *leaves, *pytrees.tree_leaves(others)]
        return entries_of(eliminate(push, operands), pattern, dtype)

    try:
        return make_olympuspr(entries)(list(flat.avals), flat.others)
    except Unsupported:
        return None
