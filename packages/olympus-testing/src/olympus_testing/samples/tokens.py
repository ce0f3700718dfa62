# SPDX-License-Identifier: Apache-2.0
"""Tokens and sinks have no samples, because they carry no data to compare."""

from __future__ import annotations

from olympus_ir import lax

from .declarations import samples

for _primitive in (lax.create_token_p, lax.after_all_p):
    samples.exempt(_primitive, reason="tokens carry no data that could be compared")
samples.exempt(lax.dce_sink_p, reason="has no result")
