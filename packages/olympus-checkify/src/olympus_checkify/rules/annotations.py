# SPDX-License-Identifier: Apache-2.0
"""Errors in annotated programs, whose equations run inline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation

from ..errors import Error
from ..interpreter import run
from ..tables import Enabled, Outcome, error_rules


def _inline(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    return run(equation.params["jaxpr"], enabled, error, operands)


for _primitive in (lax.xla_metadata_call_p, lax.compute_on_p, lax.fused_call_p):
    error_rules.define(_primitive, _inline)
