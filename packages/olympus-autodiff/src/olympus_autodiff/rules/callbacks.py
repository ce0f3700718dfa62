# SPDX-License-Identifier: Apache-2.0
"""Derivative rules of callbacks.

Printing and `debug_callback` have no results, and so no tangents. The rules of `pure_callback` and
`io_callback` raise an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from ..tables import jvp_rules


def _side_effect_rule(primitive: Any) -> Any:
    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return primitive.bind(*primals, **params), []

    return rule


for _primitive in (lax.debug_print_p, lax.debug_callback_p):
    jvp_rules.define(_primitive, _side_effect_rule(_primitive))


def _refusing_rule(name: str) -> Any:
    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        raise ValueError(
            f"{name}s do not support JVP. The derivative of the Python function is not known; "
            "define it with `olympus.custom_jvp` or `olympus.custom_vjp`, or wrap "
            "its operands in `lax.stop_gradient`."
        )

    return rule


jvp_rules.define(lax.pure_callback_p, _refusing_rule("Pure callback"))
jvp_rules.define(lax.io_callback_p, _refusing_rule("IO callback"))
