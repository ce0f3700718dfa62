# SPDX-License-Identifier: Apache-2.0
"""Effects that keep the operations of kernels in order, one for each resource of a core."""

from __future__ import annotations

from olympus_ir.types.effects import Effect, control_flow_allowed_effects, lowerable_effects

__all__ = [
    "KernelEffect",
    "check_effect",
    "matrix_unit_effect",
    "random_effect",
    "semaphore_effect",
    "thread_effect",
    "trace_effect",
]


class KernelEffect(Effect):
    """Effect that keeps operations on one resource in order.

    Attributes:
      name: the name of the resource in printed programs.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


lowerable_effects.add_type(KernelEffect)
control_flow_allowed_effects.add_type(KernelEffect)

#: The effect of checks of values.
check_effect = KernelEffect("Check")
#: The effect of operations of the matrix units.
matrix_unit_effect = KernelEffect("MatrixUnit")
#: The effect of draws from the core's random generator.
random_effect = KernelEffect("PRNG")
#: The effect of operations on semaphores.
semaphore_effect = KernelEffect("Semaphore")
#: The effect of operations of threads. Kernels with this effect run on simulated threads.
thread_effect = KernelEffect("Thread")
#: The effect of values that are shown in profiles.
trace_effect = KernelEffect("Trace")
