# SPDX-License-Identifier: Apache-2.0
"""Batching of tokens and sinks."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..tables import batching_rules

batching_rules.exempt(lax.create_token_p, reason="it has no operands")
batching_rules.exempt(lax.after_all_p, reason="tokens are the same for all examples")


@batching_rules.define(lax.dce_sink_p)
def _dce_sink(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    return lax.dce_sink_p.bind(*args, **params), []
