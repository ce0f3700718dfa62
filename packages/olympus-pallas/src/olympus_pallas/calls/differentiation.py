# SPDX-License-Identifier: Apache-2.0
"""Derivative rules of `pallas_call`, which make a kernel of primals and tangents.

The discharged kernel is a pure program, and so is its derivative. The new kernel reads the
references that the derivative needs. It writes the references that the derivative changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_autodiff.forward.jvp import jvp_olympuspr
from olympus_autodiff.tables import jvp_rules, linearize_rules
from olympus_autodiff.zeros import Zero, has_tangents, instantiate
from olympus_ir.programs.dead_code import dce_closed
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import Olympuspr, close_olympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.references import primitives as references
from olympus_ir.references.discharge import discharge_closed
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.references import AbstractRef

from ..grids.block_mappings import BlockMapping
from ..grids.grid_mappings import GridMapping
from .pallas_call import pallas_call_p


@jvp_rules.define(pallas_call_p)
def _pallas_call(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: Olympuspr,
    grid_mapping: GridMapping,
    input_output_aliases: Sequence[tuple[int, int]],
    out_avals: Sequence[ShapedArray],
    **params: Any,
) -> Any:
    if input_output_aliases:
        raise NotImplementedError(
            "JVP with aliasing not supported: a kernel with input_output_aliases cannot be "
            "differentiated; omit them, or give the function a derivative with custom_jvp."
        )
    if grid_mapping.num_dynamic_grid_bounds:
        raise NotImplementedError(
            "JVP with dynamic grid bounds not supported: give the kernel a grid of known size, or "
            "the function a derivative with custom_jvp."
        )
    scalars = grid_mapping.num_index_operands
    moving = [tangent.__class__ is not Zero for tangent in tangents]
    out_moving = [has_tangents(aval.dtype) for aval in out_avals]
    kernel = _derivative(jaxpr, grid_mapping, moving, out_moving)
    inputs = grid_mapping.block_mappings[: grid_mapping.num_inputs]
    outputs = grid_mapping.block_mappings_output
    tangent_inputs = [
        _tangent_block(block) for block, flag in zip(inputs, moving[scalars:], strict=True) if flag
    ]
    tangent_outputs = [
        _tangent_block(block) for block, flag in zip(outputs, out_moving, strict=True) if flag
    ]
    scratch = grid_mapping.scratch_avals
    mapping = grid_mapping.replace(
        block_mappings=(*inputs, *tangent_inputs, *outputs, *tangent_outputs),
        scratch_avals=(*scratch, *(aval.to_tangent_aval() for aval in scratch if _moves(aval))),
        num_inputs=len(inputs) + len(tangent_inputs),
        num_outputs=len(outputs) + len(tangent_outputs),
    )
    tangent_avals = [
        aval.to_tangent_aval() for aval, flag in zip(out_avals, out_moving, strict=True) if flag
    ]
    results = pallas_call_p.bind(
        *primals,
        *(instantiate(t) for t, flag in zip(tangents, moving, strict=True) if flag),
        jaxpr=kernel,
        grid_mapping=mapping,
        input_output_aliases=(),
        out_avals=(*out_avals, *tangent_avals),
        **params,
    )
    outs, rest = results[: len(out_avals)], iter(results[len(out_avals) :])
    return outs, [
        next(rest) if flag else Zero(aval.to_tangent_aval())
        for aval, flag in zip(out_avals, out_moving, strict=True)
    ]


def _moves(aval: AbstractRef) -> bool:
    return has_tangents(aval.dtype)


def _tangent_block(block: BlockMapping) -> BlockMapping:
    return block.replace(
        array_aval=block.array_aval.to_tangent_aval(),
        transformed_block_aval=block.transformed_block_aval.to_tangent_aval(),
    )


def _derivative(
    jaxpr: Olympuspr,
    grid_mapping: GridMapping,
    in_moving: Sequence[bool],
    out_moving: Sequence[bool],
) -> Olympuspr:
    """Returns the kernel of primals and tangents.

    Its references are, in order: scalars and inputs, tangents of inputs, outputs and their
    tangents, scratch buffers and their tangents.
    """
    avals = jaxpr.in_avals
    num_in = grid_mapping.num_index_operands + grid_mapping.num_inputs
    num_out = grid_mapping.num_outputs
    moving = [*in_moving, *out_moving, *map(_moves, avals[num_in + num_out :])]
    discharged = discharge_closed(close_olympuspr(jaxpr))
    pushed, _ = jvp_olympuspr(discharged.closed, moving, moving)
    tangent_of = [aval.to_tangent_aval() for aval, flag in zip(avals, moving, strict=True) if flag]
    # The results are the values of the references that the kernel writes, and their tangents.
    changed = set(discharged.written)
    tangent_positions = [position for position, flag in enumerate(moving) if flag]
    wanted = [position in changed for position in discharged.refs]
    wanted += [position in changed for position in tangent_positions]
    program, used = dce_closed(pushed, wanted)
    count_in, count_out = sum(in_moving), sum(out_moving)

    def order(values: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        ends = (num_in, num_in + num_out)
        cuts = (count_in, count_in + count_out)
        return [
            *values[: ends[0]],
            *tangents[: cuts[0]],
            *values[ends[0] : ends[1]],
            *tangents[cuts[0] : cuts[1]],
            *values[ends[1] :],
            *tangents[cuts[1] :],
        ]

    positions = order(range(len(avals)), range(len(avals), len(avals) + len(tangent_of)))

    def run(*refs_in_order: Any) -> list[Any]:
        refs = [
            ref for _, ref in sorted(zip(positions, refs_in_order, strict=True), key=lambda p: p[0])
        ]
        values = [references.get(ref) for ref, flag in zip(refs, used, strict=True) if flag]
        results = eval_olympuspr(program.jaxpr, program.consts, *values)
        targets = [refs[position] for position in discharged.refs]
        targets += refs[len(avals) :]
        targets = [ref for ref, flag in zip(targets, wanted, strict=True) if flag]
        for ref, result in zip(targets, results, strict=True):
            references.swap(ref, None, result)
        return []

    kernel, consts = trace_to_olympuspr(run, order(avals, tangent_of), jaxpr.debug_info)
    if consts:
        raise ValueError(
            f"the derivative of the kernel {jaxpr.debug_info.func_src_info} needs array constants, "
            "which kernels cannot contain; give the function a derivative with custom_jvp."
        )
    return kernel


@linearize_rules.define(pallas_call_p)
def _refuse_reverse(trace: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    raise ValueError(
        "Linearization failed to produce known values for all output primals: pallas_call has no "
        "reverse derivative, since a kernel that writes cannot be run backwards. Give the function "
        "one with custom_vjp, or use forward derivatives (jvp, jacfwd)."
    )
