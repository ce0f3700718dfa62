# SPDX-License-Identifier: Apache-2.0
"""Evaluation rules of random keys on simulated cores, as arrays of key data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation
from olympus_random.keys.primitives import random_clone_p, random_unwrap_p, random_wrap_p

from .evaluation import Core, machine_rules


def _same(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    return operands[0]


for _primitive in (
    random_wrap_p,
    random_unwrap_p,
    random_clone_p,
    lax.to_edtype_p,
    lax.from_edtype_p,
):
    machine_rules.define(_primitive, _same)
