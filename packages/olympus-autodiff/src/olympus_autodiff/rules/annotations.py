# SPDX-License-Identifier: Apache-2.0
"""Derivatives of annotations.

Layout constraints and annotated calls also apply to tangents and cotangents. Metadata of a value
and `shard_alike` apply to primals only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.types.memory_spaces import MemorySpace

from ..tables import jvp_rules, transpose_rules
from ..zeros import Zero
from .calls import Sources, define_call, moving


@jvp_rules.define(lax.xla_metadata_value_p)
def _xla_metadata_value(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    """Jvp rule of metadata: marks the primal operation only, not the tangent operation."""
    return lax.xla_metadata_value_p.bind(*primals, **params), tangents[0]


@jvp_rules.define(lax.shard_alike_p)
def _shard_alike(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    return lax.shard_alike_p.bind(*primals), list(tangents)


@jvp_rules.define(lax.layout_constraint_p)
def _layout_constraint(primals: Sequence[Any], tangents: Sequence[Any], *, layout: Any) -> Any:
    (primal,), (tangent,) = primals, tangents
    result = lax.layout_constraint_p.bind(primal, layout=layout)
    if tangent.__class__ is Zero:
        return result, tangent
    return result, lax.layout_constraint_p.bind(tangent, layout=layout)


@transpose_rules.define(lax.layout_constraint_p)
def _layout_constraint_transpose(cotangent: Any, operand: Any, *, layout: Any) -> list[Any]:
    if not moving([cotangent]):
        return [cotangent]
    return [lax.layout_constraint_p.bind(cotangent, layout=layout)]


# ---- calls ----


def _program_params(
    params: dict[str, Any],
    jaxpr: ClosedOlympuspr,
    operands: Sources,
    results: Sources,
    donated: Sequence[bool],
) -> dict[str, Any]:
    return {**params, "jaxpr": jaxpr}


def _with_spaces(key: str) -> Callable[..., dict[str, Any]]:
    """Returns a function that makes the parameters of a call, with memory spaces under ``key``."""

    def make_params(
        params: dict[str, Any],
        jaxpr: ClosedOlympuspr,
        operands: Sources,
        results: Sources,
        donated: Sequence[bool],
    ) -> dict[str, Any]:
        spaces = [
            MemorySpace.Device if source is None or source >= 0 else params[key][~source]
            for source in results
        ]
        return {**params, "jaxpr": jaxpr, key: tuple(spaces)}

    return make_params


define_call(lax.xla_metadata_call_p, "jaxpr", _program_params)
define_call(lax.compute_on_p, "jaxpr", _with_spaces("out_memory_spaces"))
define_call(lax.fused_call_p, "jaxpr", _with_spaces("out_spaces"))
