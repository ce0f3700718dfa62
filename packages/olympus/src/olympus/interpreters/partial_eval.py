# SPDX-License-Identifier: Apache-2.0
"""Tracing, partial evaluation, and removal of dead code from programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, TypeAlias

from olympus_ir.adapters.partial_evaluation import OlympusprTracer as OlympusprTracer
from olympus_ir.adapters.partial_evaluation import PartialVal as PartialVal
from olympus_ir.adapters.partial_evaluation import (
    custom_partial_eval_rules as custom_partial_eval_rules,
)
from olympus_ir.adapters.partial_evaluation import (
    partial_eval_olympuspr_custom_rules as partial_eval_olympuspr_custom_rules,
)
from olympus_ir.adapters.partial_evaluation import (
    trace_to_olympuspr_dynamic as trace_to_olympuspr_dynamic,
)
from olympus_ir.adapters.partial_evaluation import (
    trace_to_olympuspr_nounits as trace_to_olympuspr_nounits,
)
from olympus_ir.programs import dead_code
from olympus_ir.programs.dead_code import dead_code_rules
from olympus_ir.programs.olympuspr import Equation, Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import StagingTrace as DynamicOlympusprTrace
from olympus_ir.programs.staging import StagingTracer as DynamicOlympusprTracer

from .. import _lazy

Val: TypeAlias = Any

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})

Rule: TypeAlias = Callable[[list[bool], Equation], tuple[list[bool], Any]]


class _DeadCodeRules(MutableMapping[Primitive, Rule]):
    """View of the dead-code rules as functions with JAX's signature.

    Maps a primitive to ``rule(used_outputs, equation)``. The rule returns a flag for each input,
    which says whether the input is used, and the reduced equation. The rule returns None in place
    of an equation that is removed.
    """

    def __getitem__(self, primitive: Primitive) -> Rule:
        own: Any = dead_code_rules[primitive]
        given = getattr(own, "given", None)
        return _in_form_of_jax(own) if given is None else given

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        def own(equation: Equation, used_outputs: list[bool]) -> tuple[Any, list[bool]]:
            used_inputs, reduced = rule(used_outputs, equation)
            return reduced, used_inputs

        own.given = rule  # type: ignore[attr-defined]  # comes back as it was given
        dead_code_rules[primitive] = own

    def __delitem__(self, primitive: Primitive) -> None:
        del dead_code_rules[primitive]

    def __contains__(self, primitive: object) -> bool:
        return primitive in dead_code_rules

    def __iter__(self) -> Iterator[Primitive]:
        return iter(dead_code_rules)

    def __len__(self) -> int:
        return len(dead_code_rules)


def _in_form_of_jax(own: Callable[..., Any]) -> Rule:
    def rule(used_outputs: list[bool], equation: Equation) -> tuple[list[bool], Any]:
        if not any(used_outputs) and not equation.effects:
            return [False] * len(equation.invars), None
        reduced, used_inputs = own(equation, used_outputs)
        return used_inputs, reduced

    return rule


dce_rules = _DeadCodeRules()


def dce_olympuspr(
    olympuspr: Olympuspr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Olympuspr, list[bool]]:
    """Removes the equations and inputs that the used results do not need.

    Args:
      olympuspr: the program.
      used_outputs: for each result, whether it is used; a single bool applies to all.
      instantiate: for each input, whether it is kept even if it is unused; a single bool applies to
        all.

    Returns:
      The program, and for each input, whether it is kept.
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
    """Applies `dce_olympuspr`, and also removes constants that are not needed.

    Returns:
      The program; for each constant, whether it is kept; for each input, whether it is kept.
    """
    reduced, used_inputs = dce_olympuspr(olympuspr, used_outputs, instantiate)
    needed = {var for equation in reduced.eqns for var in equation.invars} | {*reduced.outvars}
    used_constants = [var in needed for var in reduced.constvars]
    kept = [var for var in reduced.constvars if var in needed]
    return reduced.replace(constvars=kept), used_constants, used_inputs


def _dce_call(key: str, used_outputs: list[bool], eqn: Equation) -> tuple[list[bool], Any]:
    rule = dead_code_rules.get(eqn.primitive)
    if rule is None:
        raise TypeError(
            f"`{eqn.primitive.name}` is not a primitive that calls a program in its parameter "
            f"`{key}`"
        )
    reduced, used_inputs = rule(eqn, used_outputs)
    return used_inputs, reduced if any(used_outputs) or reduced.effects else None


def dce_olympuspr_call_rule(
    used_outputs: list[bool], eqn: Equation
) -> tuple[list[bool], Equation | None]:
    """Applies the dead-code rule of calls of an open program."""
    return _dce_call("call_jaxpr", used_outputs, eqn)


def dce_olympuspr_closed_call_rule(
    used_outputs: list[bool], eqn: Equation
) -> tuple[list[bool], Equation | None]:
    """Applies the dead-code rule of calls of a closed program."""
    return _dce_call("call_jaxpr", used_outputs, eqn)


__all__ = [
    "DynamicOlympusprTrace",
    "DynamicOlympusprTracer",
    "OlympusprTracer",
    "PartialVal",
    "Val",
    "custom_partial_eval_rules",
    "dce_olympuspr",
    "dce_olympuspr_call_rule",
    "dce_olympuspr_closed_call_rule",
    "dce_olympuspr_consts",
    "dce_rules",
    "partial_eval_olympuspr_custom_rules",
    "trace_to_olympuspr_dynamic",
    "trace_to_olympuspr_nounits",
]
