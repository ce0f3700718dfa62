# SPDX-License-Identifier: Apache-2.0
"""Programs that compute the entries of a pattern term by term."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir.programs.dead_code import dce_closed
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr, olympusprs_in_params
from olympus_ir.trees import pytrees

from .coefficients import Coefficients, coefficients_of
from .elimination import eliminate
from .functions import FunctionOfLeaves
from .origins import origins_of
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
    entries_of_each: list[np.ndarray] = []

    def coefficients(leaves: Any, others: Any) -> list[Any]:
        operands = [*tangents, *leaves, *pytrees.tree_leaves(others)]
        found = coefficients_of(eliminate(push, operands), pattern, dtype)
        entries_of_each[:] = [term.entries for term in found]
        return [term.values for term in found]

    try:
        made = make_olympuspr(coefficients)(list(flat.avals), flat.others)
    except Unsupported:
        return None
    origins = origins_of(made)
    with_sources = made.olympuspr.replace(outvars=[*made.outvars, *origins.sources])

    def entries(*operands: Any) -> Any:
        values = eval_olympuspr(with_sources, made.consts, *operands)
        own, sources = values[: len(entries_of_each)], values[len(entries_of_each) :]
        return entries_of(
            list(map(Coefficients, own, entries_of_each)),
            origins.results,
            [source.reshape(-1) for source in sources],
            pattern,
            dtype,
        )

    return dce_closed(make_olympuspr(entries)(*made.in_avals), [True], instantiate=True)[0]
