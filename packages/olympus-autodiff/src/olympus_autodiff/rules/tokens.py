# SPDX-License-Identifier: Apache-2.0
"""Derivative rules of tokens and sinks, which carry no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from ..tables import jvp_rules

jvp_rules.exempt(lax.create_token_p, reason="it has no operands")
jvp_rules.exempt(lax.after_all_p, reason="tokens have no tangents")


@jvp_rules.define(lax.dce_sink_p)
def _dce_sink_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    return lax.dce_sink_p.bind(*primals, **params), []
