# SPDX-License-Identifier: Apache-2.0
"""Reference rules of calls, which run the called program directly."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lax.calls.composites import composite_p
from ..lax.calls.primitives import (
    checkpoint_p,
    closed_call_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    jit_p,
    optimization_barrier_p,
)
from ..programs.olympuspr import ClosedOlympuspr, Olympuspr, close_olympuspr
from .runs import run
from .tables import reference_rules, takes_arrays


@reference_rules.define(jit_p)
@takes_arrays
def jit(*args: Any, jaxpr: ClosedOlympuspr, **params: Any) -> list[Any]:
    return run(jaxpr, args)


@takes_arrays
def call(*args: Any, call_jaxpr: ClosedOlympuspr, **params: Any) -> list[Any]:
    return run(call_jaxpr, args)


reference_rules.define(closed_call_p, call)
# Concrete values have no derivatives, so the rule calls the function itself.
reference_rules.define(custom_jvp_call_p, call)
reference_rules.define(custom_vjp_call_p, call)


reference_rules.define(composite_p, jit)


@reference_rules.define(checkpoint_p)
@takes_arrays
def checkpoint(*args: Any, jaxpr: Olympuspr, **params: Any) -> list[Any]:
    return run(close_olympuspr(jaxpr), args)


@reference_rules.define(optimization_barrier_p)
def optimization_barrier(*arrays: np.ndarray) -> list[np.ndarray]:
    return list(arrays)
