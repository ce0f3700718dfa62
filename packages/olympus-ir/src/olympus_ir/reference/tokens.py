# SPDX-License-Identifier: Apache-2.0
"""Reference rules of tokens and sinks, which do nothing because operations run in order."""

from __future__ import annotations

from typing import Any

from ..lax.tokens import Token, after_all_p, create_token_p, dce_sink_p
from .tables import reference_rules, takes_arrays


@reference_rules.define(create_token_p)
@takes_arrays
def create_token() -> Token:
    return Token(None)


@reference_rules.define(after_all_p)
@takes_arrays
def after_all(*tokens: Any) -> Token:
    return Token(None)


@reference_rules.define(dce_sink_p)
@takes_arrays
def dce_sink(*operands: Any, prevent_mlir_dce: bool) -> list[Any]:
    return []
