# SPDX-License-Identifier: Apache-2.0
"""The effect that keeps operations between the threads of a GPU in order."""

from __future__ import annotations

from olympus_ir.types.effects import Effect, control_flow_allowed_effects, lowerable_effects

__all__ = ["ThreadEffect", "thread_effect"]


class ThreadEffect(Effect):
    """Effect that keeps operations of threads in order.

    Kernels with this effect run on simulated threads.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "Thread"


lowerable_effects.add_type(ThreadEffect)
control_flow_allowed_effects.add_type(ThreadEffect)
thread_effect = ThreadEffect()
