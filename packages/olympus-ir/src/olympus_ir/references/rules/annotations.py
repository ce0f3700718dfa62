# SPDX-License-Identifier: Apache-2.0
"""Discharge rules of annotated calls, which keep their annotations."""

from __future__ import annotations

from typing import Any

from ... import lax
from ...programs.olympuspr import Equation
from ...types.memory_spaces import MemorySpace
from ..discharge import discharge_rules
from ..discharged_calls import (
    Changes,
    Operands,
    apply,
    changes_of_call,
    discharged_program,
    with_written_only,
)


def _annotated_call(primitive: Any, spaces: str | None = None) -> None:
    """Defines the rule of an annotated call: the same call, with the discharged program.

    Args:
      primitive: the primitive of the call.
      spaces: the parameter that holds the memory spaces of results; None if there is none.
    """

    @discharge_rules.define(primitive)
    def rule(equation: Equation, operands: Operands) -> Changes:
        params = equation.params
        discharged = discharged_program(equation, operands, params["jaxpr"])
        changed = {**params, "jaxpr": with_written_only(discharged)}
        if spaces is not None:
            changed[spaces] = (*params[spaces], *(MemorySpace.Device for _ in discharged.written))
        outs = apply(primitive, operands, changed)
        return changes_of_call(equation, discharged, outs)


_annotated_call(lax.xla_metadata_call_p)
_annotated_call(lax.compute_on_p, "out_memory_spaces")
_annotated_call(lax.fused_call_p, "out_spaces")
