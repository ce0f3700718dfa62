# SPDX-License-Identifier: Apache-2.0
"""Programs in parts: tracing, partial evaluation, and removal of dead code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from olympus_ir import dead_code
from olympus_ir.dead_code import dead_code_rules
from olympus_ir.olympuspr import Equation, Olympuspr
from olympus_ir.partial_evaluation import PartialVal as PartialVal
from olympus_ir.partial_evaluation import trace_to_olympuspr_dynamic as trace_to_olympuspr_dynamic
from olympus_ir.partial_evaluation import trace_to_olympuspr_nounits as trace_to_olympuspr_nounits
from olympus_ir.staging import StagingTrace as DynamicOlympusprTrace
from olympus_ir.staging import StagingTracer as DynamicOlympusprTracer

from .. import _lazy

Val: TypeAlias = Any
# The tracers of partial evaluation are those of staging.
OlympusprTracer = DynamicOlympusprTracer
# From a primitive to `rule(used_outputs, equation) -> (used_inputs, equation or None)`.
dce_rules = dead_code_rules

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})


def dce_olympuspr(
    olympuspr: Olympuspr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Olympuspr, list[bool]]:
    """Removes what the used results do not need.

    Args:
      olympuspr: the program.
      used_outputs: which results are used; a truth value stands for all.
      instantiate: which inputs are kept in any case; a truth value stands for all.

    Returns:
      The program, and which of the inputs it has kept.
    """
    outputs, inputs = (
        [flags] * len(atoms) if isinstance(flags, bool) else list(flags)
        for flags, atoms in (
            (used_outputs, olympuspr.outvars),
            (instantiate, olympuspr.invars),
        )
    )
    return dead_code.dce_olympuspr(olympuspr, outputs, inputs)


def dce_olympuspr_consts(
    olympuspr: Olympuspr,
    used_outputs: Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Olympuspr, list[bool], list[bool]]:
    """As `dce_olympuspr`, and removes constants that are not needed.

    Returns:
      The program, which of the constants and which of the inputs it has kept.
    """
    reduced, used_inputs = dce_olympuspr(olympuspr, used_outputs, instantiate)
    needed = {var for equation in reduced.eqns for var in equation.invars} | {*reduced.outvars}
    used_constants = [var in needed for var in reduced.constvars]
    kept = [var for var in reduced.constvars if var in needed]
    return reduced.replace(constvars=kept), used_constants, used_inputs


def _dce_call(key: str, used_outputs: list[bool], eqn: Equation) -> tuple[list[bool], Any]:
    rule = dead_code_rules.get(eqn.primitive)
    if rule is None:
        raise TypeError(f"`{eqn.primitive.name}` is not the call of a program in `{key}`")
    reduced, used_inputs = rule(eqn, used_outputs)
    return used_inputs, reduced if any(used_outputs) or reduced.effects else None


def dce_olympuspr_call_rule(
    used_outputs: list[bool], eqn: Equation
) -> tuple[list[bool], Equation | None]:
    """Removes dead code from a call of an open program."""
    return _dce_call("call_jaxpr", used_outputs, eqn)


def dce_olympuspr_closed_call_rule(
    used_outputs: list[bool], eqn: Equation
) -> tuple[list[bool], Equation | None]:
    """Removes dead code from a call of a closed program."""
    return _dce_call("call_jaxpr", used_outputs, eqn)


__all__ = [
    "DynamicOlympusprTrace",
    "DynamicOlympusprTracer",
    "OlympusprTracer",
    "PartialVal",
    "Val",
    "dce_olympuspr",
    "dce_olympuspr_call_rule",
    "dce_olympuspr_closed_call_rule",
    "dce_olympuspr_consts",
    "dce_rules",
    "trace_to_olympuspr_dynamic",
    "trace_to_olympuspr_nounits",
]
