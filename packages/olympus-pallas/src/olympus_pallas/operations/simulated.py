# SPDX-License-Identifier: Apache-2.0
"""Detection of kernels that only simulated cores can run.

The interpreter turns a kernel into a loop over the grid, on one device. Such a loop has no other
devices, no concurrent threads, and no state of a core that outlives an operation.
"""

from __future__ import annotations

from typing import Any

from olympus_ir.programs.olympuspr import Olympuspr, olympusprs_in_params
from olympus_ir.programs.primitives import Primitive

from .effects import thread_effect
from .scoped import get_global_p
from .transfers import communicates, get_barrier_semaphore_p

__all__ = ["needs_simulation", "simulated_primitives"]

#: Primitives that work on the state of a core. Each primitive is added by the module that defines
#: it.
simulated_primitives: set[Primitive] = {get_barrier_semaphore_p, get_global_p}

_KEYS_OF_CORES = ("pallas_tpu", "_pallas_stateful")


def needs_simulation(program: Olympuspr) -> bool:
    """Returns whether a kernel runs on simulated cores only."""
    return communicates(program) or thread_effect in program.effects or _uses_cores(program)


def _uses_cores(program: Olympuspr) -> bool:
    return any(
        equation.primitive in simulated_primitives
        or any(_is_key_of_core(atom.aval) for atom in equation.invars)
        or any(map(_uses_cores, olympusprs_in_params(equation.params)))
        for equation in program.eqns
    )


def _is_key_of_core(aval: Any) -> bool:
    """Returns whether a value is a random key that draws bits from a core's generator."""
    implementation = getattr(getattr(aval, "dtype", None), "implementation", None)
    return implementation is not None and implementation.name in _KEYS_OF_CORES
