# SPDX-License-Identifier: Apache-2.0
"""Dead code rules of annotated calls."""

from __future__ import annotations

from collections.abc import Callable

from .. import lax
from ..programs.dead_code import chosen, dce_closed, dead_code_rules, reduced_equation
from ..programs.olympuspr import Equation


def _annotated_call(
    key: str | None,
) -> Callable[[Equation, list[bool]], tuple[Equation, list[bool]]]:
    """Returns the dead code rule of a primitive that calls ``params["jaxpr"]``.

    If ``key`` is given, ``params[key]`` has one entry per result.
    """

    def rule(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
        program, used = dce_closed(equation.params["jaxpr"], used_results)
        params = {**equation.params, "jaxpr": program}
        if key is not None:
            params[key] = tuple(chosen(params[key], used_results))
        return reduced_equation(equation, used, used_results, params, program.effects)

    return rule


_xla_metadata_call = _annotated_call(None)
dead_code_rules.define(lax.xla_metadata_call_p, _xla_metadata_call)
dead_code_rules.define(lax.compute_on_p, _annotated_call("out_memory_spaces"))
dead_code_rules.define(lax.fused_call_p, _annotated_call("out_spaces"))


def dce_olympuspr_xla_metadata_rule(
    used_outputs: list[bool], eqn: Equation
) -> tuple[list[bool], Equation | None]:
    """Removes the unused results of a call with attributes.

    Returns:
      For each operand, whether it is used; and the reduced call, or None if no operation is left.
    """
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    reduced, used = _xla_metadata_call(eqn, list(used_outputs))
    return used, reduced
