# SPDX-License-Identifier: Apache-2.0
"""Discharge rule of `shard_map`: each device reads and writes its part of references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.tracing import current
from olympus_ir.references.discharge import discharge_closed, discharge_rules

from .arguments import mentioned_axes
from .primitive import inside, shard_map_p


@discharge_rules.define(shard_map_p)
def _shard_map(equation: Equation, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    params = equation.params
    flags = tuple([atom.aval.is_ref for atom in equation.invars])
    with inside(params):
        discharged = discharge_closed(params["jaxpr"], flags)
    olympuspr = discharged.closed.jaxpr
    results = olympuspr.outvars[: discharged.num_results]
    last = [discharged.last_value(position) for position in discharged.written]
    specs = [params["in_specs"][position] for position in discharged.written]
    if params["check_vma"]:
        for atom, spec in zip(last, specs, strict=True):
            extra = atom.aval.vma.difference(mentioned_axes(spec))
            if extra:
                raise ValueError(
                    f"shard_map writes a value to a reference that varies over the mesh axes "
                    f"{sorted(map(str, extra))}, but the reference has the spec {spec}, so that "
                    "all devices along them share it. Mention the axes in its spec, or reduce the "
                    "value over them (lax.psum)."
                )
    closed = discharged.closed.replace(jaxpr=olympuspr.replace(outvars=[*results, *last]))
    changed = {**params, "jaxpr": closed, "out_specs": (*params["out_specs"], *specs)}
    outs = current.trace.process_primitive(shard_map_p, operands, changed)
    values: list[Any] = [None] * len(operands)
    for position, value in zip(discharged.written, outs[discharged.num_results :], strict=True):
        values[position] = value
    return values, outs[: discharged.num_results]
