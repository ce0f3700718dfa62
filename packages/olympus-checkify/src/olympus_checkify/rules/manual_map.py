# SPDX-License-Identifier: Apache-2.0
"""Checks in functions under `shard_map`: each device returns the errors it has found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import current
from olympus_ir.types.avals import get_aval
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding.manual.primitive import inside, manual_axes, shard_map_p

from ..errors import Error
from ..interpreter import effects_of, with_errors
from ..tables import Enabled, Outcome, error_rules


def _shard_map(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    params = equation.params
    closed = params["jaxpr"]
    with inside(params):
        effects = effects_of(closed, enabled)
        program, metadata = with_errors(closed, enabled, effects)
        error = error.with_effects(effects).reduced().with_metadata(metadata)
        leaves = error.leaves(effects)
        count = len(leaves)
        side_by_side = _with_device_dimension(program, count, params)
    along_all = PartitionSpec(tuple(manual_axes(params)))
    out = current.trace.process_primitive(
        shard_map_p,
        [*leaves, *operands],
        {
            **params,
            "jaxpr": side_by_side,
            "in_specs": (*[PartitionSpec()] * count, *params["in_specs"]),
            "out_specs": (*[along_all] * count, *params["out_specs"]),
        },
    )
    return error.with_leaves(effects, out[:count]), out[count:]


def _with_device_dimension(
    program: ClosedOlympuspr, count: int, params: dict[str, Any]
) -> ClosedOlympuspr:
    """Returns a program whose first results have a leading dimension of the number of devices."""
    axes = tuple(manual_axes(params)) if params["check_vma"] else ()

    def run(*args: Any) -> list[Any]:
        results = eval_olympuspr(program.jaxpr, program.consts, *args)
        error_values = [
            _as_varying(lax.expand_dims(result, (0,)), axes) for result in results[:count]
        ]
        return [*error_values, *results[count:]]

    return trace_to_closed(run, program.in_avals, program.debug_info)


def _as_varying(value: Any, axes: tuple[Any, ...]) -> Any:
    """Returns a value typed as varying over all given mesh axes."""
    aval: Any = get_aval(value)
    others = tuple(axis for axis in axes if axis not in aval.vma)
    return lax.pcast(value, others, to="varying") if others else value


error_rules.define(shard_map_p, _shard_map)
