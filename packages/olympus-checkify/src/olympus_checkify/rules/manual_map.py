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
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding.manual.primitive import inside, manual_axes, shard_map_p

from ..errors import Error, as_varying
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
        count = len(program.in_avals) - len(closed.in_avals)
        side_by_side = _with_device_dimension(program, count)
    error = error.with_effects(effects).reduced().with_metadata(metadata)
    leaves = error.leaves(effects)
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


def _with_device_dimension(program: ClosedOlympuspr, count: int) -> ClosedOlympuspr:
    """Returns a program whose first results have a leading dimension of the number of devices."""

    def run(*args: Any) -> list[Any]:
        entries = map(as_varying, args[:count])
        results = eval_olympuspr(program.jaxpr, program.consts, *entries, *args[count:])
        error_values = [as_varying(lax.expand_dims(result, (0,))) for result in results[:count]]
        return [*error_values, *results[count:]]

    before = [ShapedArray(aval.shape, aval.dtype) for aval in program.in_avals[:count]]
    return trace_to_closed(run, [*before, *program.in_avals[count:]], program.debug_info)


error_rules.define(shard_map_p, _shard_map)
