# SPDX-License-Identifier: Apache-2.0
"""Reverse mode of loops with checkpoints: `while` and `scan` with the parameter ``checkpoints``.

The linearization runs the loop once and stores some of its states. One equation, `loop_tangents_p`,
stands for the tangents of all iterations. Its expansion runs the loop again with tangents, so all
interpreters can handle the equation. Its transpose rule recomputes the states from the checkpoints
in reverse order. Both of these loops have checkpoints too, so higher derivatives work in the same
way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.collectives.named_axes import pvary
from olympus_ir.lax.control_flow.checkpoints import Checkpoints
from olympus_ir.lax.control_flow.fixed_points import until_stable
from olympus_ir.lax.control_flow.operands import ScanLayout, ScanOperands, WhileLayout
from olympus_ir.lax.control_flow.predicates import with_scalar_condition
from olympus_ir.lax.control_flow.primitives import stacked_aval
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import ClosedOlympuspr, joined_effects
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import set_current_trace

from ..forward.jvp import jvp
from ..forward.linearize import LinearizeTrace, LinearizeTracer
from ..forward.linearized_programs import LinearizedProgram, linearize_olympuspr
from ..forward.tangent_trace import live_equations
from ..memoization import memoized
from ..rematerialization.bodies import eval_inlined
from ..reverse.replays import Recording, record, replay, stored, varying_like
from ..reverse.transpose import transpose_program
from ..tables import transpose_rules
from ..zeros import Zero, add_tangents, aval_of, instantiate, is_undefined_primal, zeros_like_aval
from .calls import moving, partitioned, with_zeros

__all__ = ["linearize_scan", "linearize_while", "loop_tangents_p"]

# The tangents of a loop's results: outs = loop_tangents[loop] count steps *slots *consts *carry *xs
# *tangents. The operands are the fields of a `Recording`, the operands of the loop, and the nonzero
# tangents of constants, carry and slices.
loop_tangents_p = Primitive.declare("loop_tangents", multiple_results=True, cache_inference=False)
loop_tangents_p.spreads_varying = False

_INT = np.dtype(np.int32)


class _Loop(NamedTuple):
    """A loop with checkpoints, in the form of a scan; a `while` has no slices.

    Attributes:
      body: the program of an iteration, which maps constants, carry and slices to carry and
        results.
      layout: the numbers of the constants and of the carried values.
      length: the number of iterations; None if it is known only when the loop has run.
      is_reverse: whether the first iteration takes the last slices.
      checkpoints: the plan of checkpoints.
      nonzero: for each constant, carried value and slice, whether it has a tangent.
      nonzero_ys: for each stacked result, whether it has a tangent.
    """

    body: ClosedOlympuspr
    layout: ScanLayout
    length: int | None
    is_reverse: bool
    checkpoints: Checkpoints
    nonzero: ScanOperands[bool]
    nonzero_ys: tuple[bool, ...]

    @staticmethod
    def of(
        body: ClosedOlympuspr,
        tangents: ScanOperands[Any],
        checkpoints: Checkpoints,
        length: int | None = None,
        is_reverse: bool = False,
    ) -> _Loop:
        layout = tangents.layout
        flags = layout.operands(tuple([t.__class__ is not Zero for t in tangents.flat]))
        nonzero, nonzero_ys = _nonzero(body, flags)
        return _Loop(body, layout, length, is_reverse, checkpoints, nonzero, nonzero_ys)

    @property
    def linearized(self) -> LinearizedProgram:
        instantiate = (*self.nonzero.carry, *(False,) * len(self.nonzero_ys))
        return linearize_olympuspr(self.body, self.nonzero.flat, instantiate)

    def slice_of(self, x: Any, step: Any) -> Any:
        return lax.dynamic_index_in_dim(
            x, self.place_of(step), keepdims=False, allow_negative_indices=False
        )

    def place_of(self, step: Any) -> Any:
        """Returns the position of the slices that an iteration takes."""
        if not self.is_reverse or self.length is None:
            return step
        return lax.sub(np.asarray(self.length - 1, _INT), step)

    def iteration(
        self, operands: ScanOperands[Any], step: Any, state: Sequence[Any]
    ) -> Sequence[Sequence[Any]]:
        """Runs an iteration and returns the carry and the results."""
        slices = [self.slice_of(x, step) for x in operands.xs]
        return self.layout.results(_run(self.body, [*operands.consts, *state, *slices]))

    def split(self, operands: Sequence[Any]) -> tuple[Recording, ScanOperands[Any], list[Any]]:
        """Splits the operands of `loop_tangents_p` into groups."""
        count, steps, *rest = operands
        num_carry = self.layout.num_carry
        num_operands = num_carry + len(self.nonzero.flat)
        return (
            Recording(count, steps, rest[:num_carry]),
            self.layout.operands(rest[num_carry:num_operands]),
            rest[num_operands:],
        )

    def result_avals(self) -> list[Any]:
        carry, ys = self.layout.results(self.body.out_avals)
        length = self.length or 0
        return [
            *(v.to_tangent_aval() for v in partitioned(carry, self.nonzero.carry)[0]),
            *(
                stacked_aval(v.to_tangent_aval(), length)
                for v in partitioned(ys, self.nonzero_ys)[0]
            ),
        ]


def _nonzero(
    body: ClosedOlympuspr, nonzero: ScanOperands[bool]
) -> tuple[ScanOperands[bool], tuple[bool, ...]]:
    """Returns flags of the operands and stacked results that have tangents in some iteration."""
    layout = nonzero.layout
    num_ys = len(body.out_avals) - layout.num_carry

    def derive(carry: Sequence[bool]) -> Any:
        instantiate = (*carry, *(False,) * num_ys)
        split = linearize_olympuspr(body, nonzero._replace(carry=carry).flat, instantiate)
        after, nonzero_ys = layout.results(split.nonzero_out)
        return nonzero_ys, after

    nonzero_ys, carry = until_stable(derive, nonzero.carry)
    return nonzero._replace(carry=carry), tuple(nonzero_ys)


def _run(program: ClosedOlympuspr, operands: Sequence[Any]) -> list[Any]:
    return eval_olympuspr(program.jaxpr, program.consts, *operands)


# ---- linearization ----


def linearize_while(
    trace: LinearizeTrace,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    checkpoints: Checkpoints,
    **params: Any,
) -> Any:
    """Linearizes a `while` with checkpoints."""
    if params["cond_jaxpr"].out_avals[0].shape:
        of_cond, of_body, of_carry = WhileLayout.of(params).operands(tangents)
        primals, params = with_scalar_condition(primals, params)
        tangents = [*of_cond, *of_cond, *of_body, *of_carry]
        checkpoints = checkpoints.recomputing()
    layout = WhileLayout.of(params)
    varying = params["cond_jaxpr"].out_avals[0].vma
    if varying:
        primals, tangents = _with_varying_constants(trace, primals, tangents, layout, varying)
        body = _body_of_varying(params["body_jaxpr"], layout.body_nconsts, varying)
        params = {**params, "body_jaxpr": body}
    values, moves = layout.operands(primals), layout.operands(tangents)
    body = params["body_jaxpr"]
    loop = _Loop.of(
        _without_effects(body), ScanOperands(moves.body_consts, moves.carry, []), checkpoints
    )
    program = _recorded_while(body, params["cond_jaxpr"], layout, checkpoints)
    with set_current_trace(trace.parent):
        outs = _run(program, primals)
    results, recording = outs[: len(values.carry)], outs[len(values.carry) :]
    operands = ScanOperands(values.body_consts, values.carry, [])
    return results, _record_tangents(
        trace, loop, recording, operands, ScanOperands(moves.body_consts, moves.carry, []), results
    )


def _with_varying_constants(
    trace: LinearizeTrace,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    layout: WhileLayout,
    axes: frozenset,
) -> tuple[list[Any], list[Any]]:
    """Casts the constants of a body to vary over the mesh axes over which the condition varies.

    Devices run different numbers of iterations, so the loop cannot sum cotangents over devices. The
    transpose of this cast sums the cotangents after the loop.
    """
    first, end = layout.cond_nconsts, layout.cond_nconsts + layout.body_nconsts
    primals, tangents = list(primals), list(tangents)
    for position in range(first, end):
        value, tangent = primals[position], tangents[position]
        if tangent.__class__ is not Zero:
            value = LinearizeTracer(trace, value, tangent)
        with set_current_trace(trace):
            value = pvary(value, tuple(axes))
        primals[position], tangents[position] = trace.unpair(value)
    return primals, tangents


@memoized
def _body_of_varying(body: ClosedOlympuspr, num_consts: int, axes: frozenset) -> ClosedOlympuspr:
    """Returns the body for constants that vary over the given mesh axes."""
    avals = [
        *(aval.update(vma=aval.vma | axes) for aval in body.in_avals[:num_consts]),
        *body.in_avals[num_consts:],
    ]
    return trace_to_closed(lambda *args: eval_inlined(body.jaxpr, body.consts, *args), avals)


def linearize_scan(
    trace: LinearizeTrace,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    checkpoints: Checkpoints,
    jaxpr: ClosedOlympuspr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    """Linearizes a `scan` with checkpoints."""
    layout = ScanLayout(num_consts, num_carry)
    values, moves = layout.operands(primals), layout.operands(tangents)
    loop = _Loop.of(_without_effects(jaxpr), moves, checkpoints, length, reverse)
    program = _recorded_scan(jaxpr, layout, length, reverse, checkpoints)
    with set_current_trace(trace.parent):
        outs = _run(program, primals)
    count = len(jaxpr.out_avals)
    results, recording = outs[:count], outs[count:]
    return results, _record_tangents(trace, loop, recording, values, moves, results)


def _record_tangents(
    trace: LinearizeTrace,
    loop: _Loop,
    recording: Sequence[Any],
    operands: ScanOperands[Any],
    tangents: ScanOperands[Any],
    results: Sequence[Any],
) -> list[Any]:
    nonzero_out = (*loop.nonzero.carry, *loop.nonzero_ys)
    if not any(nonzero_out):
        return [Zero.of(result) for result in results]
    carry = partitioned(tangents.carry, loop.nonzero.carry)[0]
    outs = trace.tangent_trace.record(
        loop_tangents_p,
        [
            *recording,
            *operands.flat,
            *moving(tangents.consts),
            *(_typed_zeros(t.aval) if t.__class__ is Zero else t for t in carry),
            *moving(tangents.xs),
        ],
        {"loop": loop},
    )
    return with_zeros(outs, nonzero_out, results)


@memoized
def _without_effects(body: ClosedOlympuspr) -> ClosedOlympuspr:
    """Returns a body without operations, such as prints, that serve only their effects.

    The effects happened when the loop first ran. They must not happen again when states are
    recomputed.
    """
    olympuspr = body.jaxpr
    equations = live_equations(olympuspr.eqns, olympuspr.outvars, keep_effects=False)
    effects = joined_effects(equations)
    return ClosedOlympuspr(olympuspr.replace(eqns=equations, effects=effects), body.consts)


@memoized
def _recorded_while(
    body: ClosedOlympuspr, condition: ClosedOlympuspr, layout: WhileLayout, checkpoints: Checkpoints
) -> ClosedOlympuspr:
    """Returns the program of a loop that also returns its recording."""
    cond_avals = condition.in_avals[: layout.cond_nconsts]

    def recorded(*operands: Any) -> list[Any]:
        cond_consts, body_consts, carry = layout.operands(operands)

        def goes_on(_: Any, state: Sequence[Any]) -> Any:
            return _run(condition, [*cond_consts, *state])[0]

        def advance(_: Any, state: Sequence[Any], others: list[Any]) -> tuple[list[Any], list[Any]]:
            return _run(body, [*body_consts, *state]), others

        if checkpoints.inverse is None:
            state, _, recording = record(advance, goes_on, list(carry), [], checkpoints)
            return [*state, recording.iterations, recording.steps, *recording.slots]
        varying = condition.out_avals[0]
        count, state = lax.while_loop(
            lambda loop: goes_on(*loop),
            lambda loop: (lax.add(loop[0], np.asarray(1, _INT)), advance(0, loop[1], [])[0]),
            (varying_like(np.asarray(0, _INT), varying), list(carry)),
        )
        return [*state, count, varying_like(np.zeros(0, _INT), varying), *state]

    return trace_to_closed(recorded, [*cond_avals, *body.in_avals])


@memoized
def _recorded_scan(
    body: ClosedOlympuspr,
    layout: ScanLayout,
    length: int,
    is_reverse: bool,
    checkpoints: Checkpoints,
) -> ClosedOlympuspr:
    """Returns the program of a loop of known length that also returns its recording."""
    avals = layout.operands(body.in_avals)
    y_avals = layout.results(body.out_avals).ys
    none: ScanOperands[bool] = layout.operands([False] * len(body.in_avals))
    loop = _Loop(body, layout, length, is_reverse, checkpoints, none, ())

    def recorded(*flat: Any) -> list[Any]:
        operands = layout.operands(flat)

        def goes_on(step: Any, _: Sequence[Any]) -> Any:
            return lax.lt(step, np.asarray(length, _INT))

        def advance(step: Any, state: Sequence[Any], stacks: list[Any]) -> tuple[Any, list[Any]]:
            state, ys = loop.iteration(operands, step, state)
            return list(state), _stored(stacks, ys, loop.place_of(step))

        stacks = [_typed_zeros(stacked_aval(aval, length)) for aval in y_avals]
        stride = max(-(-length // checkpoints.number), 1)
        state, ys, recording = record(
            advance, goes_on, list(operands.carry), stacks, checkpoints, stride
        )
        return [*state, *ys, recording.iterations, recording.steps, *recording.slots]

    xs_avals = [stacked_aval(aval, length) for aval in avals.xs]
    return trace_to_closed(recorded, [*avals.consts, *avals.carry, *xs_avals])


def _stored(stacks: Sequence[Any], values: Sequence[Any], position: Any) -> list[Any]:
    return [stored(stack, value, position) for stack, value in zip(stacks, values, strict=True)]


def _typed_zeros(aval: Any) -> Any:
    """Returns zeros of a type that vary over the type's mesh axes."""
    return varying_like(zeros_like_aval(aval), aval)


# ---- the tangents of a loop ----


@loop_tangents_p.def_abstract_eval
def _types(*avals: Any, loop: _Loop) -> list[Any]:
    return loop.result_avals()


@expansion_rules.define(loop_tangents_p)
def _run_with_tangents(*flat: Any, loop: _Loop) -> list[Any]:
    recording, operands, tangents = loop.split(flat)
    flags = loop.nonzero.flat
    fixed = partitioned(operands.flat, flags)[1]

    def results_of(*moved: Any) -> list[Any]:
        chosen, others = iter(moved), iter(fixed)
        values = loop.layout.operands([next(chosen if flag else others) for flag in flags])
        results = loop.layout.results(_run_again(loop, values, recording.iterations))
        return [
            *partitioned(results.carry, loop.nonzero.carry)[0],
            *partitioned(results.ys, loop.nonzero_ys)[0],
        ]

    moved = partitioned(operands.flat, flags)[0]
    return jvp(results_of, tuple(moved), tuple(tangents))[1]


def _run_again(loop: _Loop, operands: ScanOperands[Any], count: Any) -> Sequence[Any]:
    """Runs the loop again, for a known number of iterations."""
    if loop.length is not None:
        params = {"jaxpr": loop.body, "length": loop.length, "reverse": loop.is_reverse}
        return lax.scan_p.bind(
            *operands.flat, **params, **loop.layout.params, unroll=1, checkpoints=loop.checkpoints
        )
    number = loop.checkpoints.recomputing().number
    _, state = lax.while_loop(
        lambda carry: lax.lt(carry[0], count),
        lambda carry: (
            lax.add(carry[0], np.asarray(1, _INT)),
            _run(loop.body, [*operands.consts, *carry[1]]),
        ),
        (varying_like(np.asarray(0, _INT), aval_of(count)), list(operands.carry)),
        checkpoints=number,
    )
    return state


@transpose_rules.define(loop_tangents_p)
def _pull_back(cotangents: Sequence[Any], *flat: Any, loop: _Loop) -> list[Any]:
    recording, operands, tangents = loop.split(flat)
    program = _replayed(loop.body, loop, aval_of(recording.iterations).vma)
    results = _run(
        program,
        [
            recording.iterations,
            recording.steps,
            *recording.slots,
            *operands.flat,
            *(_typed_zeros(ct.aval) if ct.__class__ is Zero else ct for ct in cotangents),
        ],
    )
    pulled = [
        result if is_undefined_primal(tangent) else None
        for result, tangent in zip(results, tangents, strict=True)
    ]
    return [*[None] * (len(flat) - len(tangents)), *pulled]


class _Cotangents(NamedTuple):
    """The cotangents that the backward loop carries.

    Attributes:
      consts: the sums of the constants' cotangents.
      carry: the cotangents of the carry.
      xs: the cotangents of the slices, stacked.
    """

    consts: list[Any]
    carry: list[Any]
    xs: list[Any]


@memoized
def _replayed(body: ClosedOlympuspr, loop: _Loop, varying: frozenset) -> ClosedOlympuspr:
    """Returns the program that maps a recording, operands and cotangents to cotangents.

    Args:
      body: the program of an iteration.
      loop: the loop.
      varying: the mesh axes over which the number of iterations varies.
    """
    avals = loop.layout.operands(body.in_avals)
    length = loop.length or 0
    whole = avals._replace(xs=[stacked_aval(aval, length) for aval in avals.xs])
    is_inverted = loop.checkpoints.inverse is not None
    slots = loop.checkpoints.number + 1
    in_avals = [
        aval_of(np.zeros((), _INT)).update(vma=varying),
        aval_of(np.zeros(0 if is_inverted else slots - 1, _INT)).update(vma=varying),
        *(aval if is_inverted else stacked_aval(aval, slots) for aval in avals.carry),
        *whole.flat,
        *(aval if aval.layout is None else aval.to_ct_aval() for aval in loop.result_avals()),
    ]

    def replayed(*flat: Any) -> list[Any]:
        recording, operands, cotangents = loop.split(flat)
        num_carry = sum(loop.nonzero.carry)
        pull = _Pull(loop, operands, cotangents[num_carry:])
        start = _Cotangents(
            [_zero_cotangent(v) for v in partitioned(avals.consts, loop.nonzero.consts)[0]],
            list(cotangents[:num_carry]),
            [_zero_cotangent(v) for v in partitioned(whole.xs, loop.nonzero.xs)[0]],
        )
        if is_inverted:
            return _inverted(loop, pull, recording, operands, start)
        final = replay(
            lambda step, state: list(loop.iteration(operands, step, state)[0]),
            lambda step, state, sums: [*pull(step, state, sums)],
            recording,
            [*start],
            loop.checkpoints,
        )
        return [leaf for part in final for leaf in part]

    return trace_to_closed(replayed, in_avals)


def _zero_cotangent(aval: Any) -> Any:
    aval = aval.to_tangent_aval()
    return _typed_zeros(aval if aval.layout is None else aval.to_ct_aval())


class _Pull:
    """Function that pulls cotangents back through an iteration."""

    def __init__(self, loop: _Loop, operands: ScanOperands[Any], by_ys: Sequence[Any]) -> None:
        self.loop = loop
        self.operands = operands
        self.by_ys = by_ys  # the stacked cotangents of the stacked results

    def __call__(self, step: Any, state: Sequence[Any], sums: Sequence[Any]) -> _Cotangents:
        loop, split = self.loop, self.loop.linearized
        by_consts, by_carry, by_xs = sums
        slices = [loop.slice_of(x, step) for x in self.operands.xs]
        inputs = [*self.operands.consts, *state, *slices]
        pool = [*inputs, *_run(split.primal, inputs)]
        residuals = [pool[position] for position in split.residuals]
        linear = split.linear
        num_linear = len(linear.in_avals) - len(residuals)
        results = transpose_program(
            linear.jaxpr,
            linear.consts,
            [False] * len(residuals) + [True] * num_linear,
            residuals,
            [*by_carry, *(loop.slice_of(ct, step) for ct in self.by_ys)],
        )
        layout = ScanLayout(len(by_consts), len(by_carry))
        to_consts, to_carry, to_xs = layout.operands(results)
        return _Cotangents(
            [add_tangents(total, ct) for total, ct in zip(by_consts, to_consts, strict=True)],
            [_typed_zeros(ct.aval) if ct.__class__ is Zero else ct for ct in to_carry],
            _stored(by_xs, list(map(instantiate, to_xs)), loop.place_of(step)),
        )


def _inverted(
    loop: _Loop,
    pull: _Pull,
    recording: Recording,
    operands: ScanOperands[Any],
    start: _Cotangents,
) -> list[Any]:
    """Pulls cotangents back through a loop. An inverse step undoes each iteration of the loop."""
    inverse = loop.checkpoints.inverse
    assert inverse is not None

    def undo(carry: Any) -> Any:
        step, state, sums = carry
        step = lax.sub(step, np.asarray(1, _INT))
        state = _run(inverse, [*operands.consts, *state])
        return step, state, pull(step, state, sums)

    _, _, sums = lax.while_loop(
        lambda carry: lax.gt(carry[0], np.asarray(0, _INT)),
        undo,
        (recording.iterations, recording.slots, start),
        checkpoints=loop.checkpoints.recomputing().number,
    )
    return [leaf for part in sums for leaf in part]
