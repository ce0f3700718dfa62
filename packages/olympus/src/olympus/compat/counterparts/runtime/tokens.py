# SPDX-License-Identifier: Apache-2.0
"""The tokens of effects as one object, under the name of JAX's private module."""

from __future__ import annotations

from typing import Any

from olympus_xla.calls import effect_tokens

__all__ = ["RuntimeTokenSet", "runtime_tokens"]


class RuntimeTokenSet:
    """View of the tokens for which later computations wait.

    All instances show the same tokens, those of this process.
    """

    @property
    def current_tokens(self) -> dict[Any, Any]:
        """The token of each ordered effect."""
        return effect_tokens._tokens

    @property
    def output_runtime_tokens(self) -> dict[int, Any]:
        """The tokens of computations with unordered effects, by their positions in the queue."""
        return dict(enumerate(effect_tokens._pending))

    def clear(self) -> None:
        """Forgets all tokens."""
        effect_tokens.clear()

    def block_until_ready(self) -> None:
        """Waits until all effects so far have happened."""
        effect_tokens.barrier()


runtime_tokens = RuntimeTokenSet()
