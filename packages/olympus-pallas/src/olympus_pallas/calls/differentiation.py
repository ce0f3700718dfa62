# SPDX-License-Identifier: Apache-2.0
"""Derivative rules of `pallas_call`, which make a kernel of primals and tangents.

The discharged kernel is a pure program, and so is its derivative. The new kernel reads the
references that the derivative needs. It writes the references that the derivative changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_autodiff.forward.jvp import jvp_olympuspr
from olympus_autodiff.rules.calls import with_zeros
from olympus_autodiff.rules.subprograms import paired
from olympus_autodiff.tables import jvp_rules, linearize_rules
from olympus_autodiff.zeros import Zero, has_tangents, instantiate
from olympus_ir.programs.dead_code import chosen, dce_closed
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import Olympuspr, close_olympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.references import primitives as references
from olympus_ir.references.discharge import discharge_closed
from olympus_ir.types.avals import ShapedArray

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
    nonzero = [tangent.__class__ is not Zero for tangent in tangents]
    nonzero_out = [has_tangents(aval.dtype) for aval in out_avals]
    tangent_avals = [aval.to_tangent_aval() for aval in chosen(out_avals, nonzero_out)]
    results = pallas_call_p.bind(
        *primals,
        *map(instantiate, chosen(tangents, nonzero)),
        jaxpr=_derivative(jaxpr, grid_mapping, nonzero, nonzero_out),
        grid_mapping=_with_tangents(grid_mapping, nonzero, nonzero_out),
        input_output_aliases=(),
        out_avals=(*out_avals, *tangent_avals),
        **params,
    )
    outs, out_tangents = results[: len(out_avals)], results[len(out_avals) :]
    return outs, with_zeros(out_tangents, nonzero_out, outs)


def _with_tangents(
    grid_mapping: GridMapping, nonzero: Sequence[bool], nonzero_out: Sequence[bool]
) -> GridMapping:
    """Returns the mapping of a kernel that also takes and returns tangents.

    Args:
      grid_mapping: the mapping of the kernel of primals.
      nonzero: for each operand, whether it has a tangent.
      nonzero_out: for each result, whether it has a tangent.
    """
    inputs = grid_mapping.block_mappings[: grid_mapping.num_inputs]
    outputs = grid_mapping.block_mappings_output
    nonzero_inputs = nonzero[grid_mapping.num_index_operands :]
    tangent_inputs = list(map(_tangent_block, chosen(inputs, nonzero_inputs)))
    tangent_outputs = list(map(_tangent_block, chosen(outputs, nonzero_out)))
    scratch = grid_mapping.scratch_avals
    return grid_mapping.replace(
        block_mappings=(*inputs, *tangent_inputs, *outputs, *tangent_outputs),
        scratch_avals=(
            *scratch,
            *(aval.to_tangent_aval() for aval in scratch if has_tangents(aval.dtype)),
        ),
        num_inputs=len(inputs) + len(tangent_inputs),
        num_outputs=len(outputs) + len(tangent_outputs),
    )


def _tangent_block(block: BlockMapping) -> BlockMapping:
    return block.replace(
        array_aval=block.array_aval.to_tangent_aval(),
        transformed_block_aval=block.transformed_block_aval.to_tangent_aval(),
    )


def _derivative(
    jaxpr: Olympuspr,
    grid_mapping: GridMapping,
    nonzero_in: Sequence[bool],
    nonzero_out: Sequence[bool],
) -> Olympuspr:
    """Returns the kernel of primals and tangents.

    Its references are, in order: scalars and inputs, tangents of inputs, outputs and their
    tangents, scratch buffers and their tangents.
    """
    avals = jaxpr.in_avals
    num_in = grid_mapping.num_index_operands + grid_mapping.num_inputs
    scratch = avals[num_in + grid_mapping.num_outputs :]
    nonzero_scratch = [has_tangents(aval.dtype) for aval in scratch]
    nonzero = [*nonzero_in, *nonzero_out, *nonzero_scratch]
    discharged = discharge_closed(close_olympuspr(jaxpr))
    pushed, _ = jvp_olympuspr(discharged.closed, nonzero, nonzero)
    # The derivative takes and returns the values of the references, followed by their tangents. It
    # is reduced to the values and tangents of the references that the kernel writes.
    written = set(discharged.written)
    tangent_positions = [position for position, flag in enumerate(nonzero) if flag]
    is_written = [position in written for position in (*discharged.refs, *tangent_positions)]
    program, used = dce_closed(pushed, is_written)
    tangent_avals = [avals[position].to_tangent_aval() for position in tangent_positions]
    groups = (nonzero_in, nonzero_out, nonzero_scratch)
    kernel_order = paired(*((len(flags), sum(flags)) for flags in groups))

    def run(*kernel_refs: Any) -> list[Any]:
        by_position = dict(zip(kernel_order, kernel_refs, strict=True))
        refs = [by_position[position] for position in range(len(kernel_refs))]
        values = [references.get(ref) for ref in chosen(refs, used)]
        results = eval_olympuspr(program.jaxpr, program.consts, *values)
        targets = [*(refs[position] for position in discharged.refs), *refs[len(avals) :]]
        for ref, result in zip(chosen(targets, is_written), results, strict=True):
            references.swap(ref, None, result)
        return []

    all_avals = [*avals, *tangent_avals]
    kernel_avals = [all_avals[position] for position in kernel_order]
    kernel, consts = trace_to_olympuspr(run, kernel_avals, jaxpr.debug_info)
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
