# SPDX-License-Identifier: Apache-2.0
"""Transposition of `scan`: a loop in reverse order that carries cotangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.lax.control_flow.fixed_points import until_stable
from olympus_ir.lax.control_flow.operands import ScanLayout, ScanOperands
from olympus_ir.programs.olympuspr import (
    Atom,
    ClosedOlympuspr,
    Equation,
    Literal,
    Var,
    close_olympuspr,
    joined_effects,
)
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.types import dtypes

from ..forward.tangent_trace import live_equations
from ..memoization import memoized
from ..reverse.transpose import transpose_olympuspr
from ..tables import transpose_rules
from ..zeros import Zero, add_tangents, instantiate, is_undefined_primal
from .calls import moving, partitioned
from .scan import instantiated


class _TransposedScan(NamedTuple):
    """The body of a backward loop.

    Attributes:
      body: takes the known constants, the sums of the constants' cotangents, the carry's
        cotangents, the results' cotangents, and the known slices.
      consts: the values of the body's own constants, which come first.
      summed: for each linear constant, whether it has a cotangent.
      carried: for each component of the carry, whether its cotangent is not zero.
      sliced: for each linear slice, whether it has a cotangent.
    """

    body: ClosedOlympuspr
    consts: list[Any]
    summed: Sequence[bool]
    carried: Sequence[bool]
    sliced: Sequence[bool]


@memoized
def _transposed_scan(
    body: ClosedOlympuspr,
    linear_consts: tuple[bool, ...],
    linear_xs: tuple[bool, ...],
    carried: tuple[bool, ...],
    nonzero_ys: tuple[bool, ...],
) -> _TransposedScan:
    """Transposes the body of a scan whose whole carry is linear."""
    num_linear_consts, num_linear_xs = sum(linear_consts), sum(linear_xs)
    linear_in = (*linear_consts, *(True,) * len(carried), *linear_xs)
    linear_layout = ScanLayout(num_linear_consts, len(carried))

    def derive(carried: Sequence[bool]) -> Any:
        instantiate = (*(False,) * num_linear_consts, *carried, *(False,) * num_linear_xs)
        transposed, nonzero_out = transpose_olympuspr(
            body, linear_in, (*carried, *nonzero_ys), instantiate
        )
        summed, arrived, sliced = linear_layout.operands(nonzero_out)
        return (transposed, summed, sliced), arrived

    (transposed, summed, sliced), carried = until_stable(derive, carried)
    # [known consts, known xs, carry cotangents, ys cotangents] becomes
    # [known consts | sums, carry cotangents | ys cotangents, known xs]
    olympuspr = transposed.jaxpr
    num_known_consts, num_known = linear_consts.count(False), linear_in.count(False)
    known_consts = olympuspr.invars[:num_known_consts]
    known_xs = olympuspr.invars[num_known_consts:num_known]
    cotangents = olympuspr.invars[num_known:]
    by_consts = olympuspr.outvars[: sum(summed)]
    sums = [Var(atom.aval) for atom in by_consts]
    equations = list(olympuspr.eqns)
    new_sums = []
    for total, atom in zip(sums, by_consts, strict=True):
        new_total = Var(total.aval)
        equations.append(_sum_equation(total, atom, new_total))
        new_sums.append(new_total)
    program = olympuspr.replace(
        constvars=[],
        invars=[
            *olympuspr.constvars,
            *known_consts,
            *sums,
            *cotangents[: sum(carried)],
            *cotangents[sum(carried) :],
            *known_xs,
        ],
        outvars=[*new_sums, *olympuspr.outvars[sum(summed) :]],
        eqns=equations,
    )
    return _TransposedScan(close_olympuspr(program), transposed.consts, summed, carried, sliced)


def _sum_equation(x: Atom, y: Atom, total: Var) -> Equation:
    """Returns the equation that adds two cotangents."""
    if not dtypes.is_extended(total.aval.dtype):
        return Equation.pure([x, y], [total], lax.add_any_p, {})
    program, consts = trace_to_olympuspr(lambda x, y: [add_tangents(x, y)], [x.aval, y.aval])
    closed = ClosedOlympuspr(program, consts)
    return Equation.pure([x, y], [total], lax.closed_call_p, {"call_jaxpr": closed})


@transpose_rules.define(lax.scan_p)
def _scan_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    reverse: bool,
    **params: Any,
) -> list[Any]:
    layout = ScanLayout(num_consts, num_carry)
    inputs = layout.operands(operands)
    linear = layout.operands(tuple([is_undefined_primal(operand) for operand in operands]))
    linear_carry = _linear_carry(jaxpr, linear)
    if not all(linear_carry):
        return _transpose_mixed_scan(
            cotangents, inputs, linear._replace(carry=linear_carry), jaxpr, reverse, params
        )
    by_carry, by_ys = layout.results(cotangents)
    plan = _transposed_scan(jaxpr, linear.consts, linear.xs, _nonzero(by_carry), _nonzero(by_ys))
    linear_consts = [operand for operand in inputs.consts if is_undefined_primal(operand)]
    sums = [
        instantiate(Zero(operand.aval))
        for operand, flag in zip(linear_consts, plan.summed, strict=True)
        if flag
    ]
    backward = ScanOperands(
        consts=[*plan.consts, *_known(inputs.consts)],
        carry=[*sums, *instantiated(by_carry, plan.carried)],
        xs=[*moving(by_ys), *_known(inputs.xs)],
    )
    results = iter(
        lax.scan_p.bind(
            *backward.flat,
            jaxpr=plan.body,
            reverse=not reverse,
            **backward.layout.params,
            **params,
        )
    )
    summed, carried, sliced = iter(plan.summed), iter(plan.carried), iter(plan.sliced)
    to_consts = [next(results) if flag and next(summed) else None for flag in linear.consts]
    to_carry = [next(results) if next(carried) else None for _ in inputs.carry]
    to_xs = [next(results) if flag and next(sliced) else None for flag in linear.xs]
    return [*to_consts, *to_carry, *to_xs]


def _known(operands: Sequence[Any]) -> list[Any]:
    """Returns the operands that are not linear."""
    return [operand for operand in operands if not is_undefined_primal(operand)]


def _nonzero(cotangents: Sequence[Any]) -> tuple[bool, ...]:
    return tuple([ct.__class__ is not Zero for ct in cotangents])


def _linear_carry(jaxpr: ClosedOlympuspr, linear: ScanOperands[bool]) -> tuple[bool, ...]:
    """Returns, for each component of the carry, whether it depends on linear operands.

    A component may depend on linear operands from the start or only after some iterations.
    """
    olympuspr = jaxpr.jaxpr
    results = linear.layout.results(olympuspr.outvars).carry

    def dependent_after(carry: Sequence[bool]) -> tuple[None, list[bool]]:
        flags = linear._replace(carry=carry).flat
        dependent = {var for var, flag in zip(olympuspr.invars, flags, strict=True) if flag}
        for equation in olympuspr.eqns:
            if not dependent.isdisjoint(
                [atom for atom in equation.invars if atom.__class__ is not Literal]
            ):
                dependent.update(equation.outvars)
        return None, [atom.__class__ is not Literal and atom in dependent for atom in results]

    return until_stable(dependent_after, linear.carry)[1]


@memoized
def _split_body(
    jaxpr: ClosedOlympuspr, linear: ScanOperands[bool]
) -> tuple[ClosedOlympuspr, ClosedOlympuspr]:
    """Splits the nonlinear part of the carry off the body of a scan.

    Args:
      jaxpr: the body.
      linear: for each input, whether it is linear.

    Returns:
      Two bodies. The first carries the nonlinear part, and returns its values before each
      iteration. The second takes these values as slices.
    """
    olympuspr = jaxpr.jaxpr
    inputs, results = (
        linear.layout.operands(olympuspr.invars),
        linear.layout.results(olympuspr.outvars),
    )
    linear_vars, known_vars = partitioned(inputs.carry, linear.carry)
    linear_results, known_results = partitioned(results.carry, linear.carry)
    forward_equations = live_equations(olympuspr.eqns, known_results, keep_effects=False)
    forward = olympuspr.replace(
        invars=[
            *partitioned(inputs.consts, linear.consts)[1],
            *known_vars,
            *partitioned(inputs.xs, linear.xs)[1],
        ],
        outvars=[*known_results, *known_vars],
        eqns=forward_equations,
        effects=joined_effects(forward_equations),
    )
    linear_part = olympuspr.replace(
        invars=[*inputs.consts, *linear_vars, *known_vars, *inputs.xs],
        outvars=[*linear_results, *results.ys],
    )
    return ClosedOlympuspr(forward, jaxpr.consts), ClosedOlympuspr(linear_part, jaxpr.consts)


def _transpose_mixed_scan(
    cotangents: Sequence[Any],
    operands: ScanOperands[Any],
    linear: ScanOperands[bool],
    jaxpr: ClosedOlympuspr,
    reverse: bool,
    params: dict[str, Any],
) -> list[Any]:
    """Transposes a scan with a partly linear carry. Runs the nonlinear part forward first.

    Args:
      cotangents: the cotangents of the results.
      operands: the operands of the loop.
      linear: for each operand, whether it is linear. A component of the carry is also linear if it
        becomes linear after some iterations.
      jaxpr: the body.
      reverse: whether the loop starts with the last slice.
      params: the other parameters of the equation.
    """
    forward_body, linear_body = _split_body(jaxpr, linear)
    linear_carry, known_carry = partitioned(operands.carry, linear.carry)
    forward = ScanOperands(_known(operands.consts), known_carry, _known(operands.xs))
    results = lax.scan_p.bind(
        *forward.flat, jaxpr=forward_body, reverse=reverse, **forward.layout.params, **params
    )
    known_before_each = forward.layout.results(results).ys
    backward = ScanOperands(operands.consts, linear_carry, [*known_before_each, *operands.xs])
    by_carry, by_ys = linear.layout.results(cotangents)
    transposed = _scan_transpose(
        [*partitioned(by_carry, linear.carry)[0], *by_ys],
        *backward.flat,
        jaxpr=linear_body,
        reverse=reverse,
        **backward.layout.params,
        **params,
    )
    to_consts, to_linear_carry, to_xs = backward.layout.operands(transposed)
    to_carry = iter(to_linear_carry)
    return [
        *to_consts,
        *(next(to_carry) if flag else None for flag in linear.carry),
        *to_xs[len(known_before_each) :],
    ]
