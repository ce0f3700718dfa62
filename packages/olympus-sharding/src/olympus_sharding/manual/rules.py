# SPDX-License-Identifier: Apache-2.0
"""Batching, differentiation, transposition and dead code rules of `shard_map`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from olympus_autodiff.forward.jvp import jvp_olympuspr
from olympus_autodiff.forward.linearize import LinearizeTrace
from olympus_autodiff.forward.linearized_programs import linearize_olympuspr
from olympus_autodiff.rematerialization.bodies import saving_rules, split_body
from olympus_autodiff.reverse.transpose import transpose_olympuspr
from olympus_autodiff.tables import jvp_rules, linearize_rules, transpose_rules
from olympus_autodiff.zeros import Zero, is_undefined_primal
from olympus_batching.batched_programs import batch_olympuspr_dims
from olympus_batching.dimensions import examples
from olympus_batching.tables import BatchAxis, define_axis_rule
from olympus_ir import lax
from olympus_ir.programs.dead_code import dce_closed, dead_code_rules
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Var
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import current
from olympus_ir.settings.config_flags import disable_vmap_shmap_error
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import PartitionSpec

from .arguments import mentioned_axes
from .layouts import mesh_inside
from .parts import spec_of_residual
from .primitive import global_aval, inside, manual_axes, shard_map_p


def _bind(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    return current.trace.process_primitive(shard_map_p, operands, params)


def _nonzero(values: Sequence[Any]) -> tuple[bool, ...]:
    return tuple([value.__class__ is not Zero for value in values])


def _select(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [value for value, flag in zip(values, flags, strict=True) if flag]


def _with_zeros(
    tangents: Sequence[Any], nonzero: Sequence[bool], results: Sequence[Any]
) -> list[Any]:
    values = iter(tangents)
    return [
        next(values) if flag else Zero.of(result)
        for flag, result in zip(nonzero, results, strict=True)
    ]


# ---- batching ----


@define_axis_rule(shard_map_p)
def _batch(axis: BatchAxis, args: Any, batch_dims: Any, **params: Any) -> Any:
    if axis.layout is not None:
        # Inside the function, more axes of the mesh are manual. The explicit axes over which the
        # batch dimension is sharded stay explicit.
        mesh = mesh_inside(params["mesh"], tuple(manual_axes(params)))
        axis = axis._replace(layout=(mesh, axis.layout[1]))
    local_axis = axis
    if axis.spmd_name is not None and axis.layout is None:
        names = axis.spmd_name if isinstance(axis.spmd_name, tuple) else (axis.spmd_name,)
        used = {name for spec in params["in_specs"] for name in mentioned_axes(spec)}
        if used.intersection(names) and not disable_vmap_shmap_error.value:
            raise ValueError(
                f"vmap spmd_axis_name cannot appear in shard_map in_specs. Got {axis.spmd_name!r} "
                f"and in_specs={params['in_specs']}"
            )
        sizes = params["mesh"].shape
        parts = math.prod(sizes[name] for name in names if name in sizes)
        local_axis = axis._replace(size=axis.size // parts)
    with inside(params):
        batched, out_dims = batch_olympuspr_dims(params["jaxpr"], local_axis, batch_dims)

    def with_dimension(specs: Sequence[PartitionSpec], dims: Sequence[int | None]) -> tuple:
        return tuple(
            spec if dim is None else _insert(spec, dim, axis.spmd_name)
            for spec, dim in zip(specs, dims, strict=True)
        )

    new_params = {
        **params,
        "jaxpr": batched,
        "in_specs": with_dimension(params["in_specs"], batch_dims),
        "out_specs": with_dimension(params["out_specs"], out_dims),
    }
    return _bind(args, new_params), list(out_dims)


def _insert(spec: PartitionSpec, dimension: int, entry: Any) -> PartitionSpec:
    entries = (*spec.partitions, *(None,) * (dimension - len(spec)))
    return spec.update(partitions=(*entries[:dimension], entry, *entries[dimension:]))


# ---- forward derivatives ----


@jvp_rules.define(shard_map_p)
def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    nonzero_in = _nonzero(tangents)
    with inside(params):
        derived, nonzero_out = jvp_olympuspr(params["jaxpr"], nonzero_in)
    count = len(params["out_specs"])
    results = _bind(
        [*primals, *_select(tangents, nonzero_in)],
        {
            **params,
            "jaxpr": derived,
            "in_specs": (*params["in_specs"], *_select(params["in_specs"], nonzero_in)),
            "out_specs": (*params["out_specs"], *_select(params["out_specs"], nonzero_out)),
        },
    )
    primals_out = results[:count]
    return primals_out, _with_zeros(results[count:], nonzero_out, primals_out)


# ---- linearization ----


def _residual_spec(aval: ShapedArray, params: dict[str, Any]) -> PartitionSpec:
    """Returns the spec of a residual: the devices' shards are concatenated along dimension 0."""
    names = manual_axes(params)
    # These axes split the batch dimension, not dimension 0, so they are left out.
    own = [axis for axis in names if axis not in examples.spmd_axes]
    return spec_of_residual(aval, params["check_vma"], own)


def _spread_scalars(
    program: ClosedOlympuspr, first: int, params: dict[str, Any]
) -> ClosedOlympuspr:
    """Returns a program that reshapes scalar results from index ``first`` on to vectors."""

    def run(*args: Any) -> list[Any]:
        results = eval_olympuspr(program.jaxpr, program.consts, *args)
        return results[:first] + [
            lax.reshape(result, (1,)) if not result.shape else result for result in results[first:]
        ]

    with inside(params):
        return trace_to_closed(run, program.in_avals, program.debug_info)


def _gather_scalars(
    program: ClosedOlympuspr,
    local_avals: Sequence[ShapedArray],
    params: dict[str, Any],
    first: int = 0,
) -> ClosedOlympuspr:
    """Returns the program that takes each scalar residual as a vector of size one.

    Args:
      program: the program.
      local_avals: the types of the residuals.
      params: the parameters of the equation.
      first: the index of the first residual among the operands.
    """
    inner_avals = program.in_avals
    avals = [*inner_avals[:first], *local_avals, *inner_avals[first + len(local_avals) :]]

    def run(*args: Any) -> list[Any]:
        operands = [
            lax.reshape(arg, aval.shape) if arg.shape != aval.shape else arg
            for arg, aval in zip(args, inner_avals, strict=True)
        ]
        return eval_olympuspr(program.jaxpr, program.consts, *operands)

    with inside(params):
        return trace_to_closed(run, avals, program.debug_info)


@linearize_rules.define(shard_map_p)
def _linearize(
    trace: LinearizeTrace, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> Any:
    program, in_specs, out_specs = params["jaxpr"], params["in_specs"], params["out_specs"]
    nonzero_in = _nonzero(tangents)
    with inside(params):
        linearized = linearize_olympuspr(program, nonzero_in)
    count = len(out_specs)
    primal = linearized.primal
    extra_avals = primal.out_avals[count:]
    extra_specs = [_residual_spec(aval, params) for aval in extra_avals]
    if extra_avals:
        primal = _spread_scalars(primal, count, params)
    results = shard_map_p.bind_with_trace(
        trace.parent,
        primals,
        {**params, "jaxpr": primal, "out_specs": (*out_specs, *extra_specs)},
    )
    candidates, specs = [*primals, *results], [*in_specs, *out_specs, *extra_specs]
    results = results[:count]
    if not any(linearized.nonzero_out):
        return results, [Zero.of(result) for result in results]
    positions = linearized.residuals
    local_avals = [*primal.in_avals, *primal.out_avals]
    linear = _gather_scalars(linearized.linear, [local_avals[p] for p in positions], params)
    tangents_out = trace.tangent_trace.record(
        shard_map_p,
        [*(candidates[position] for position in positions), *_select(tangents, nonzero_in)],
        {
            **params,
            "jaxpr": linear,
            "in_specs": (
                *(specs[position] for position in positions),
                *_select(in_specs, nonzero_in),
            ),
            "out_specs": tuple(_select(out_specs, linearized.nonzero_out)),
        },
    )
    return results, _with_zeros(tangents_out, linearized.nonzero_out, results)


# ---- policies of checkpoint ----


@saving_rules.define(shard_map_p)
def _split(equation: Equation, policy: Any) -> tuple[Equation, Equation] | None:
    params, in_specs, out_specs = (
        equation.params,
        equation.params["in_specs"],
        equation.params["out_specs"],
    )
    with inside(params):
        split = split_body(params["jaxpr"], policy)
    if not split.kept:
        return None
    saving = _spread_scalars(split.saving(), len(out_specs), params)
    local_avals = saving.out_avals[len(out_specs) :]
    specs = tuple(_residual_spec(aval, params) for aval in local_avals)
    mesh, manual = params["mesh"], tuple(manual_axes(params))
    saved = [
        Var(global_aval(mesh, manual, spec, aval))
        for spec, aval in zip(specs, local_avals, strict=True)
    ]
    taking = _gather_scalars(split.taking(), local_avals, params, first=len(in_specs))
    return (
        equation.replace(
            outvars=[*equation.outvars, *saved],
            params={**params, "jaxpr": saving, "out_specs": (*out_specs, *specs)},
        ),
        equation.replace(
            invars=[*equation.invars, *saved],
            params={**params, "jaxpr": taking, "in_specs": (*in_specs, *specs)},
        ),
    )


# ---- transposition ----


@transpose_rules.define(shard_map_p)
def _transpose(cotangents: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    linear_in = tuple([is_undefined_primal(operand) for operand in operands])
    nonzero = _nonzero(cotangents)
    with inside(params):
        transposed, nonzero_out = transpose_olympuspr(params["jaxpr"], linear_in, nonzero)
    known_specs = [spec for spec, linear in zip(in_specs, linear_in, strict=True) if not linear]
    linear_specs = [
        spec.to_ct_spec() for spec, linear in zip(in_specs, linear_in, strict=True) if linear
    ]
    cotangent_specs = [spec.to_ct_spec() for spec in _select(out_specs, nonzero)]
    result_specs = _select(linear_specs, nonzero_out)
    if not params["check_vma"]:
        transposed = _with_replication(
            transposed, len(known_specs), cotangent_specs, result_specs, params
        )
    known = [operand for operand in operands if not is_undefined_primal(operand)]
    results = iter(
        _bind(
            [*known, *_select(cotangents, nonzero)],
            {
                **params,
                "jaxpr": transposed,
                "in_specs": (*known_specs, *cotangent_specs),
                "out_specs": tuple(result_specs),
            },
        )
    )
    flags = iter(nonzero_out)
    return [next(results) if linear and next(flags) else None for linear in linear_in]


def _with_replication(
    transposed: ClosedOlympuspr,
    num_known: int,
    cotangent_specs: Sequence[PartitionSpec],
    result_specs: Sequence[PartitionSpec],
    params: dict[str, Any],
) -> ClosedOlympuspr:
    """Returns a transposed program that accounts for mesh axes that specs omit.

    Only calls with ``check_vma=False`` need this function. If a result's spec omits an axis, the
    parts along the axis are equal, and the cotangent is divided among the parts. If an operand's
    spec omits an axis, all devices along the axis receive the operand, and the cotangents are
    summed.
    """
    sizes = manual_axes(params)

    def left_out(spec: PartitionSpec) -> list[Any]:
        mentioned = mentioned_axes(spec)
        # The batch dimension may be sharded over these mesh axes, so the parts differ along them.
        mentioned += examples.spmd_axes
        return [axis for axis in sizes if axis not in mentioned]

    def run(*args: Any) -> list[Any]:
        shared = []
        for cotangent, spec in zip(args[num_known:], cotangent_specs, strict=True):
            share = math.prod(sizes[axis] for axis in left_out(spec))
            if share != 1:
                cotangent = lax.div(cotangent, lax.full_like(cotangent, share))
            shared.append(cotangent)
        results = eval_olympuspr(transposed.jaxpr, transposed.consts, *args[:num_known], *shared)
        return [
            lax.psum(result, tuple(axes)) if (axes := left_out(spec)) else result
            for result, spec in zip(results, result_specs, strict=True)
        ]

    with inside(params):
        return trace_to_closed(run, transposed.in_avals, transposed.debug_info)


# ---- dead code ----


@dead_code_rules.define(shard_map_p)
def _remove_dead_code(equation: Equation, used: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    smaller, used_inputs = dce_closed(params["jaxpr"], used)
    if smaller is params["jaxpr"] and all(used) and all(used_inputs):
        return equation, used_inputs
    reduced = equation.replace(
        invars=_select(equation.invars, used_inputs),
        outvars=_select(equation.outvars, used),
        params={
            **params,
            "jaxpr": smaller,
            "in_specs": tuple(_select(params["in_specs"], used_inputs)),
            "out_specs": tuple(_select(params["out_specs"], used)),
        },
    )
    return reduced, used_inputs
