# SPDX-License-Identifier: Apache-2.0
"""The effect of what threads of a GPU do together."""

from __future__ import annotations

from olympus_ir.types.effects import Effect, control_flow_allowed_effects, lowerable_effects

__all__ = ["ThreadEffect", "thread_effect"]


class ThreadEffect(Effect):
    """Keeps what threads do in order; what has it runs on simulated threads."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Thread"


lowerable_effects.add_type(ThreadEffect)
control_flow_allowed_effects.add_type(ThreadEffect)
thread_effect = ThreadEffect()
