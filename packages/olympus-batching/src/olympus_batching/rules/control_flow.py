# SPDX-License-Identifier: Apache-2.0
"""Batching of control flow.

If all examples take the same path, the rule batches the programs and keeps the construct. If the
examples take different paths, every path runs on all examples, and each example keeps the result of
its own path.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.control_flow.checkpoints import Checkpoints
from olympus_ir.lax.control_flow.fixed_points import until_stable
from olympus_ir.lax.control_flow.linear_solves import LinearSolveParts, split_operands
from olympus_ir.lax.control_flow.operands import (
    ScanLayout,
    ScanOperands,
    WhileLayout,
    WhileOperands,
)
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.types import dtypes
from olympus_ir.types.effects import OrderedIOEffect, io_effect

from ..batched_programs import batch_olympuspr, uses_axis
from ..callback_calls import in_a_loop
from ..compacted_loops import BatchedLoop, compaction_sizes, run_compacted
from ..split_choices import run_split
from ..tables import BatchAxis, batching_rules, define_axis_rule, materialize, shape_of, to_front
from ..trace import call_batched
from .references import apply_to_arrays


def _run(closed: ClosedOlympuspr, *args: Any) -> list[Any]:
    return eval_olympuspr(closed.jaxpr, closed.consts, *args)


def _fronted(args: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
    return [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]


def _are_batched(dims: Sequence[Any]) -> list[bool]:
    return [dim is not None for dim in dims]


def _with_dims(batched: Sequence[bool]) -> list[Any]:
    return [0 if flag else None for flag in batched]


# ---- cond ----


@define_axis_rule(lax.cond_p)
def _cond(
    axis: BatchAxis,
    args: Any,
    batch_dims: Any,
    *,
    branches: tuple[ClosedOlympuspr, ...],
    **params: Any,
) -> Any:
    if _has_refs(args, batch_dims, 0):
        all_params = {"branches": branches, **params}
        return apply_to_arrays(axis, lax.cond_p, args, batch_dims, all_params)
    index, *operands = args
    index_dim, *dims = batch_dims
    operands = _fronted(operands, dims)
    batched_in = _are_batched(dims)
    if index_dim is not None:
        _check_unordered("cond", branches)
        if _has_refs(operands):
            all_params = {"branches": branches, **params}
            return apply_to_arrays(axis, lax.cond_p, args, batch_dims, all_params)
        if _must_run_in_turn("cond", axis, branches):
            all_params = {"branches": branches, **params}
            return in_a_loop(lax.cond_p, args, batch_dims, all_params, axis.size)
        if params.get("batch") == "split" and _can_split(axis, branches):
            runs = [functools.partial(_run, branch) for branch in branches]
            out_avals = branches[0].out_avals
            outs = run_split(axis, index, operands, batched_in, runs, out_avals)
            return outs, [0] * len(outs)
        return _choose_each(axis, index, operands, batched_in, branches)
    if not any(batched_in) and not any(uses_axis(branch, axis) for branch in branches):
        return lax.cond_p.bind(*args, branches=branches, **params), [None] * len(
            branches[0].out_avals
        )
    # A result that is batched in one branch is batched in all branches.
    flags = [batch_olympuspr(branch, axis, batched_in)[1] for branch in branches]
    batched_out = [any(flags_of_result) for flags_of_result in zip(*flags, strict=True)]
    batched = tuple(
        [batch_olympuspr(branch, axis, batched_in, batched_out)[0] for branch in branches]
    )
    outs = lax.cond_p.bind(index, *operands, branches=batched, **params)
    return outs, _with_dims(batched_out)


def _can_split(axis: BatchAxis, branches: Sequence[ClosedOlympuspr]) -> bool:
    """Returns whether each branch of a conditional can run on a part of the examples.

    This is not possible for branches with effects, for branches with communication between the
    examples, for results of extended dtypes, and for examples that are sharded over mesh axes.
    """
    return (
        axis.layout is None
        and axis.spmd_name is None
        and not any(branch.effects or uses_axis(branch, axis) for branch in branches)
        and not any(dtypes.is_extended(aval.dtype) for aval in branches[0].out_avals)
    )


def _choose_each(
    axis: BatchAxis,
    index: Any,
    operands: Sequence[Any],
    batched_in: Sequence[bool],
    branches: Sequence[ClosedOlympuspr],
) -> Any:
    """Runs all branches on all examples, and selects the results of each example's branch.

    Derivatives of a branch's operands are stopped for the examples that do not take the branch. An
    infinite derivative of such an operand would make the sum over branches NaN.
    """
    outs = []
    for position, branch in enumerate(branches):
        is_taken = lax.eq(index, np.int32(position))
        guarded = [
            _guarded(is_taken, operand) if batched else operand
            for operand, batched in zip(operands, batched_in, strict=True)
        ]
        results, dims = call_batched(
            lambda *args, branch=branch: _run(branch, *args),
            axis,
            guarded,
            _with_dims(batched_in),
        )
        outs.append(
            [materialize(result, axis.size, dim) for result, dim in zip(results, dims, strict=True)]
        )
    chosen = [
        lax.select_n(_spread(index, results[0]), *results) for results in zip(*outs, strict=True)
    ]
    return chosen, [0] * len(chosen)


def _guarded(is_taken: Any, operand: Any) -> Any:
    if not dtypes.issubdtype(operand.dtype, np.inexact):
        return operand
    without = lax.stop_gradient(operand)
    return lax.select(_spread(is_taken, operand), operand, without)


def _spread(of_examples: Any, like: Any) -> Any:
    """Returns one value for each example, broadcast to the shape of a batched value."""
    shape = shape_of(like)
    if len(shape) == 1:
        return of_examples
    return lax.broadcast_in_dim(of_examples, shape, (0,))


def _has_refs(
    operands: Sequence[Any], dims: Sequence[Any] | None = None, index: int | None = None
) -> bool:
    """Returns whether an operand is a reference.

    With ``dims`` and ``index``, counts only batched references whose batch dimension is not
    ``index``.
    """
    return any(
        getattr(type(operand), "is_ref", False)
        and (dims is None or dims[position] not in (None, index))
        for position, operand in enumerate(operands)
    )


def _check_unordered(name: str, programs: Sequence[ClosedOlympuspr]) -> None:
    for program in programs:
        # Ordered prints would run for all examples, even for those that take another path.
        ordered = [effect for effect in program.effects if isinstance(effect, OrderedIOEffect)]
        if ordered:
            raise NotImplementedError(
                f"IO effect not supported in vmap-of-{name}: the examples take different paths, so "
                f"there is no order in which the effects {ordered} could happen. Use unordered "
                "callbacks, or lax.map in place of vmap."
            )


def _must_run_in_turn(name: str, axis: BatchAxis, programs: Sequence[ClosedOlympuspr]) -> bool:
    """Returns whether the examples must run one after the other, each on its own path.

    Otherwise, all paths run on all examples, which would call the functions of `io_callback` for
    examples that do not take the path.
    """
    if not any(io_effect in program.effects for program in programs):
        return False
    if any(uses_axis(program, axis) for program in programs):
        raise NotImplementedError(
            f"IO effect not supported in vmap-of-{name} with a collective over the batched axis "
            f"{axis.name!r}: the examples take different paths one after the other, and cannot "
            "wait for each other. Move the collective or the callback out of the function."
        )
    return True


batching_rules.exempt(lax.platform_index_p, reason="it has no operands")


# ---- while ----


@define_axis_rule(lax.while_p)
def _while(
    axis: BatchAxis,
    args: Any,
    batch_dims: Any,
    *,
    cond_nconsts: int,
    cond_jaxpr: ClosedOlympuspr,
    body_nconsts: int,
    body_jaxpr: ClosedOlympuspr,
    **options: Any,
) -> Any:
    layout = WhileLayout(cond_nconsts, body_nconsts)
    params = {"cond_jaxpr": cond_jaxpr, "body_jaxpr": body_jaxpr, **layout.params, **options}
    if _has_refs(args, batch_dims, 0):
        return apply_to_arrays(axis, lax.while_p, args, batch_dims, params)
    operands = layout.operands(_fronted(args, batch_dims))
    initially_batched = layout.operands(_are_batched(batch_dims))

    def batch_body(carry: Sequence[bool]) -> tuple[ClosedOlympuspr, Sequence[bool]]:
        of_body = initially_batched._replace(carry=carry).of_body
        return batch_olympuspr(body_jaxpr, axis, of_body, carry)

    batched_body, carry_batched = until_stable(batch_body, initially_batched.carry)
    batched = initially_batched._replace(carry=carry_batched)
    batched_cond, (condition_batched,) = batch_olympuspr(cond_jaxpr, axis, batched.of_cond)
    # A predicate that another axis has batched gets a batch dimension for this axis too.
    examples_differ = condition_batched or (any(batched.carry) and cond_jaxpr.out_avals[0].shape)
    if examples_differ:
        _check_unordered("while", (cond_jaxpr, body_jaxpr))
        if _has_refs(operands.flat):
            return apply_to_arrays(axis, lax.while_p, args, batch_dims, params)
        if _must_run_in_turn("while", axis, (cond_jaxpr, body_jaxpr)):
            return in_a_loop(lax.while_p, args, batch_dims, params, axis.size)
        # Examples finish after different numbers of iterations. The condition returns a boolean for
        # each example, and the primitive keeps the values of finished examples.
        batched = batched._replace(carry=[True] * len(batched.carry))
    carry = _instantiated(axis, operands.carry, initially_batched.carry, batched.carry)
    operands = operands._replace(carry=carry)
    if examples_differ:
        if "batch" in options and _can_compact(axis, cond_jaxpr, body_jaxpr, options):
            loop = BatchedLoop(
                functools.partial(_run, cond_jaxpr),
                functools.partial(_run, body_jaxpr),
                batched,
                options.get("checkpoints"),
            )
            sizes = compaction_sizes(options["batch"], axis.size)
            return run_compacted(loop, axis, sizes, operands), _with_dims(batched.carry)
        batched_cond, _ = batch_olympuspr(cond_jaxpr, axis, batched.of_cond, True)
        batched_body, _ = batch_olympuspr(body_jaxpr, axis, batched.of_body, batched.carry)
    if options.get("checkpoints") is not None:
        options["checkpoints"] = _batched_checkpoints(options["checkpoints"], axis, batched)
    outs = lax.while_p.bind(
        *operands.flat,
        cond_jaxpr=batched_cond,
        body_jaxpr=batched_body,
        **layout.params,
        **options,
    )
    return outs, _with_dims(batched.carry)


def _batched_checkpoints(
    checkpoints: Checkpoints, axis: BatchAxis, batched: WhileOperands[bool]
) -> Checkpoints:
    """Batches the inverse step. If the step returns another batched carry, it cannot be used."""
    if checkpoints.inverse is None:
        return checkpoints
    inverse, carry_before = batch_olympuspr(
        checkpoints.inverse, axis, batched.of_body, batched.carry
    )
    if tuple(carry_before) == tuple(batched.carry):
        return checkpoints._replace(inverse=inverse)
    return checkpoints.recomputing()


def _can_compact(
    axis: BatchAxis,
    cond_jaxpr: ClosedOlympuspr,
    body_jaxpr: ClosedOlympuspr,
    options: dict[str, Any],
) -> bool:
    """Returns whether finished examples may leave the batch of a loop.

    They must stay if another axis batches the condition already, or if `_can_split` returns False.
    They must also stay if the loop has an inverse, because reverse mode then needs the number of
    iterations of the whole batch.
    """
    checkpoints = options.get("checkpoints")
    return (
        not cond_jaxpr.out_avals[0].shape
        and (checkpoints is None or checkpoints.inverse is None)
        and _can_split(axis, (body_jaxpr, cond_jaxpr))
    )


def _instantiated(
    axis: BatchAxis, values: Sequence[Any], batched: Sequence[bool], instantiate: Sequence[bool]
) -> list[Any]:
    """Adds a batch dimension to the values that lack one and have the flag ``instantiate``."""
    return [
        materialize(value, axis.size, None) if flag and not is_batched else value
        for value, is_batched, flag in zip(values, batched, instantiate, strict=True)
    ]


# ---- scan ----


@define_axis_rule(lax.scan_p)
def _scan(
    axis: BatchAxis,
    args: Any,
    batch_dims: Any,
    *,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    layout = ScanLayout(num_consts, num_carry)
    operands, dims = layout.operands(args), layout.operands(batch_dims)
    if (
        _has_refs(operands.consts, dims.consts, 0)
        or _has_refs(operands.carry, dims.carry, 0)
        or _has_refs(operands.xs, dims.xs, 1)
    ):
        all_params = {"jaxpr": jaxpr, **layout.params, **params}
        return apply_to_arrays(axis, lax.scan_p, args, batch_dims, all_params)
    initially_batched = layout.operands(_are_batched(batch_dims))
    num_ys = len(jaxpr.out_avals) - num_carry

    def batch_body(carry: Sequence[bool]) -> Any:
        inputs = initially_batched._replace(carry=carry).flat
        body, out = batch_olympuspr(jaxpr, axis, inputs, [*carry, *[False] * num_ys])
        results = layout.results(out)
        return (body, results.ys), results.carry

    (batched_body, ys_batched), carry_batched = until_stable(batch_body, initially_batched.carry)
    carry = _fronted(operands.carry, dims.carry)
    batched_operands = ScanOperands(
        consts=_fronted(operands.consts, dims.consts),
        carry=_instantiated(axis, carry, initially_batched.carry, carry_batched),
        # The first dimension is for the iterations, and the second is the batch dimension.
        xs=[
            x if dim is None else materialize(x, axis.size, dim, 1)
            for x, dim in zip(operands.xs, dims.xs, strict=True)
        ],
    )
    outs = lax.scan_p.bind(*batched_operands.flat, jaxpr=batched_body, **layout.params, **params)
    return outs, [*_with_dims(carry_batched), *(1 if flag else None for flag in ys_batched)]


# ---- linear solves ----


@define_axis_rule(lax.linear_solve_p)
def _linear_solve(
    axis: BatchAxis,
    args: Any,
    batch_dims: Any,
    *,
    const_lengths: LinearSolveParts,
    jaxprs: LinearSolveParts,
) -> Any:
    operands = _fronted(args, batch_dims)
    batched = _are_batched(batch_dims)
    consts_batched, initially_batched = split_operands(batched, const_lengths)
    count = len(initially_batched)
    programs = [
        (program, consts)
        for program, consts in zip(jaxprs, consts_batched, strict=True)
        if program is not None
    ]

    # The programs map unknowns and right-hand sides to one another. Each of these values is batched
    # if one of the programs returns it batched.
    def results_batched(unknowns: Sequence[bool]) -> tuple[None, list[bool]]:
        outs = [
            batch_olympuspr(program, axis, [*consts, *unknowns])[1] for program, consts in programs
        ]
        return None, [any(flags) for flags in zip(*(out[:count] for out in outs), strict=True)]

    _, unknowns_batched = until_stable(results_batched, initially_batched)

    def batched_program(program: ClosedOlympuspr, consts: Sequence[bool]) -> Any:
        instantiate = [*unknowns_batched, *[False] * (len(program.out_avals) - count)]
        return batch_olympuspr(program, axis, [*consts, *unknowns_batched], instantiate)

    _, batched_out = batched_program(jaxprs.solve, consts_batched.solve)
    start = len(operands) - count
    right_hand_sides = _instantiated(axis, operands[start:], initially_batched, unknowns_batched)
    outs = lax.linear_solve_p.bind(
        *operands[:start],
        *right_hand_sides,
        const_lengths=const_lengths,
        jaxprs=LinearSolveParts(
            *(
                program if program is None else batched_program(program, consts)[0]
                for program, consts in zip(jaxprs, consts_batched, strict=True)
            )
        ),
    )
    return outs, _with_dims(batched_out)
