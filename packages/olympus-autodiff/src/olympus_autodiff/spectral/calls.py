# SPDX-License-Identifier: Apache-2.0
"""Recognition inside of compiled functions: their programs are inlined into the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.lax import linalg
from olympus_ir.programs.jit import jit_p, places_values
from olympus_ir.programs.olympuspr import Olympuspr, olympusprs_in_params

from ..forward.recognition import Inlined, RecognitionTrace
from ..tables import recognition_rules

__all__: list[str] = []

_DECOMPOSITIONS = frozenset((linalg.eigh_p, linalg.svd_p, linalg.eig_p))


@recognition_rules.define(jit_p)
def _jit(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Inlined | None:
    closed = params["jaxpr"]
    if places_values(params):
        return None  # the equation holds the shardings of its operands and results
    if any(trace.form_of(arg) is not None for arg in args) or _decomposes(closed.jaxpr):
        return trace.inline(closed.jaxpr, closed.consts, args)
    return None


def _decomposes(olympuspr: Olympuspr) -> bool:
    """Returns whether a program, or a function that it calls, contains a decomposition."""
    return any(
        equation.primitive in _DECOMPOSITIONS
        or (
            equation.primitive is jit_p
            and any(map(_decomposes, olympusprs_in_params(equation.params)))
        )
        for equation in olympuspr.eqns
    )
