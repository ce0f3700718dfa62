# SPDX-License-Identifier: Apache-2.0
"""Passes over programs before their equations are lowered, for the CPU compiler.

Repeated blocks become calls of one function (repetition.py) if this bounds the growth of fused
functions. Otherwise, chains of operations that would be fused into ever larger functions are cut
(cuts/fusions.py). Barriers separate updates in place from the operations that compute the new
values, and gathers from the computation of the elements that they take repeatedly
(cuts/operands.py). Finally, starts of slices of stacked operands become values, so that equal steps
become equal functions (cuts/window_starts.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr
from olympus_ir.settings.config_flags import outline_repeated_blocks

from .context import LoweringContext
from .cuts.fusions import Cuts, cut, grows
from .cuts.operands import cut_from_operands, may_be_cut
from .cuts.window_starts import with_starts_as_values
from .repetition import outlined

__all__ = ["prepared", "prepared_in"]

# Programs with fewer equations are left unchanged.
_FEWEST_EQUATIONS = 16


def prepared(
    olympuspr: Olympuspr, platforms: Sequence[str], budget: float | None, cuts: list[Cuts]
) -> Olympuspr:
    """Returns the program with outlined blocks and cut chains; unchanged if there are none.

    Args:
      olympuspr: the program.
      platforms: the program's platforms; only programs whose sole platform is the CPU change.
      budget: the desired compile time in seconds; None to cut only if much is gained.
      cuts: the list to which the cuts of the program are added.
    """
    olympuspr, found = cut(_outlined_if_faster(olympuspr, platforms), platforms, budget)
    olympuspr, operands = cut_from_operands(olympuspr, platforms)
    olympuspr, windows = with_starts_as_values(olympuspr, platforms)
    cuts += [cut for cut in (found, operands, windows) if cut is not None]
    return olympuspr


def _outlined_if_faster(olympuspr: Olympuspr, platforms: Sequence[str]) -> Olympuspr:
    """Heuristic: outlines repeated blocks if fused functions would grow, and then no longer do.

    If they do not grow, calls save no time. If they still grow, the program is cut, and cuts alone
    give faster programs.
    """
    blocks = outlined(olympuspr, platforms)
    if blocks is olympuspr or not grows(olympuspr) or grows(blocks):
        return olympuspr
    return blocks


def prepared_in(context: LoweringContext, closed: ClosedOlympuspr) -> ClosedOlympuspr:
    """Applies `prepared` to an inner program, such as a called function or a loop body."""
    module = context.module
    inner = closed.jaxpr
    if len(inner.eqns) < _FEWEST_EQUATIONS and not may_be_cut(inner):
        return closed
    key = ("prepared", context.platforms, module.compile_budget, outline_repeated_blocks.value)
    found = closed.memo.get(key)
    if found is None:
        cuts: list[Cuts] = []
        olympuspr = prepared(closed.jaxpr, context.platforms, module.compile_budget, cuts)
        program = closed
        if olympuspr is not closed.jaxpr:
            program = ClosedOlympuspr(olympuspr, closed.consts)
        found = closed.memo[key] = (program, cuts)
    program, cuts = found
    module.cuts += cuts
    return program
