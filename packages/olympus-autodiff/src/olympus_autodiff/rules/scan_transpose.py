# SPDX-License-Identifier: Apache-2.0
"""The transposition of `scan`: a loop in the other direction, which carries cotangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    Equation,
    Literal,
    Var,
    close_olympuspr,
    joined_effects,
)

from ..forward.linearized_programs import join_nonzero
from ..forward.tangent_trace import live_equations
from ..memoization import memoized
from ..reverse.transpose import transpose_olympuspr
from ..tables import transpose_rules
from ..zeros import Zero, instantiate, is_undefined_primal
from .calls import moving
from .scan import instantiated


class _TransposedScan(NamedTuple):
    """The body of a backward loop.

    Attributes:
      body: from known constants; the sums of the constants' cotangents and the carry's cotangents;
        cotangents of results and known slices.
      consts: the values of the body's own constants, which come first.
      summed: for each linear constant, whether it has a cotangent.
      carried: for each component of the carry, whether its cotangent is not zero.
      sliced: for each linear slice, whether it has a cotangent.
    """

    body: ClosedOlympuspr
    consts: list[Any]
    summed: tuple[bool, ...]
    carried: tuple[bool, ...]
    sliced: tuple[bool, ...]


@memoized
def _transposed_scan(
    body: ClosedOlympuspr,
    num_carry: int,
    linear_consts: tuple[bool, ...],
    linear_xs: tuple[bool, ...],
    carried: tuple[bool, ...],
    nonzero_ys: tuple[bool, ...],
) -> _TransposedScan:
    """The carry is linear as a whole."""
    num_linear_consts = sum(linear_consts)
    linear_in = (*linear_consts, *(True,) * num_carry, *linear_xs)
    while True:
        wanted = (*(False,) * num_linear_consts, *carried, *(False,) * sum(linear_xs))
        transposed, nonzero_out = transpose_olympuspr(
            body, linear_in, (*carried, *nonzero_ys), wanted
        )
        arrived = nonzero_out[num_linear_consts : num_linear_consts + num_carry]
        if arrived == carried:
            break
        carried = join_nonzero(carried, arrived)
    summed = nonzero_out[:num_linear_consts]
    sliced = nonzero_out[num_linear_consts + num_carry :]
    # [known consts, known xs, carry cotangents, ys cotangents] becomes
    # [known consts | sums, carry cotangents | ys cotangents, known xs]
    olympuspr = transposed.jaxpr
    num_known_consts, num_known_xs = linear_consts.count(False), linear_xs.count(False)
    known_consts = olympuspr.invars[:num_known_consts]
    known_xs = olympuspr.invars[num_known_consts : num_known_consts + num_known_xs]
    cotangents = olympuspr.invars[num_known_consts + num_known_xs :]
    by_consts = olympuspr.outvars[: sum(summed)]
    sums = [Var(atom.aval) for atom in by_consts]
    equations = list(olympuspr.eqns)
    new_sums = []
    for total, atom in zip(sums, by_consts, strict=True):
        new_total = Var(total.aval)
        equations.append(Equation([total, atom], [new_total], lax.add_any_p, {}))
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
    linear = tuple([is_undefined_primal(operand) for operand in operands])
    split = num_consts + num_carry
    linear_carry = _linear_carry(jaxpr, num_consts, num_carry, linear)
    if not all(linear_carry):
        return _transpose_mixed_scan(
            cotangents,
            operands,
            linear_carry,
            jaxpr=jaxpr,
            num_consts=num_consts,
            num_carry=num_carry,
            reverse=reverse,
            **params,
        )
    nonzero = tuple([ct.__class__ is not Zero for ct in cotangents])
    plan = _transposed_scan(
        jaxpr,
        num_carry,
        linear[:num_consts],
        linear[split:],
        nonzero[:num_carry],
        nonzero[num_carry:],
    )
    consts, xs = operands[:num_consts], operands[split:]
    linear_consts = [operand for operand in consts if is_undefined_primal(operand)]
    sums = [
        instantiate(Zero(operand.aval))
        for operand, flag in zip(linear_consts, plan.summed, strict=True)
        if flag
    ]
    known_consts = [operand for operand in consts if not is_undefined_primal(operand)]
    results = iter(
        lax.scan_p.bind(
            *plan.consts,
            *known_consts,
            *sums,
            *instantiated(cotangents[:num_carry], plan.carried),
            *moving(cotangents[num_carry:]),
            *(operand for operand in xs if not is_undefined_primal(operand)),
            jaxpr=plan.body,
            num_consts=len(plan.consts) + len(known_consts),
            num_carry=len(sums) + sum(plan.carried),
            reverse=not reverse,
            **params,
        )
    )
    summed, carried, sliced = iter(plan.summed), iter(plan.carried), iter(plan.sliced)
    by_consts = [next(results) if flag and next(summed) else None for flag in linear[:num_consts]]
    by_carry = [next(results) if next(carried) else None for _ in range(num_carry)]
    by_xs = [next(results) if flag and next(sliced) else None for flag in linear[split:]]
    return [*by_consts, *by_carry, *by_xs]


def _linear_carry(
    jaxpr: ClosedOlympuspr, num_consts: int, num_carry: int, linear: Sequence[bool]
) -> tuple[bool, ...]:
    """Which components of the carry depend on linear operands, at the start or after iterations."""
    split = num_consts + num_carry
    olympuspr = jaxpr.jaxpr
    carry = tuple(linear[num_consts:split])
    while True:
        flags = (*linear[:num_consts], *carry, *linear[split:])
        dependent = {var for var, flag in zip(olympuspr.invars, flags, strict=True) if flag}
        for equation in olympuspr.eqns:
            if not dependent.isdisjoint(
                [atom for atom in equation.invars if atom.__class__ is not Literal]
            ):
                dependent.update(equation.outvars)
        found = join_nonzero(
            carry,
            [
                atom.__class__ is not Literal and atom in dependent
                for atom in olympuspr.outvars[:num_carry]
            ],
        )
        if found == carry:
            return carry
        carry = found


@memoized
def _forward_body(
    jaxpr: ClosedOlympuspr, num_consts: int, linear: tuple[bool, ...], carry: tuple[bool, ...]
) -> tuple[ClosedOlympuspr, ClosedOlympuspr]:
    """Splits off the part of a body's carry that is not linear.

    Returns:
      The body that carries this part and returns it as it was before each iteration; and the body
      that takes it as slices in place of carrying it.
    """
    olympuspr = jaxpr.jaxpr
    num_carry = len(carry)
    carry_vars = olympuspr.invars[num_consts : num_consts + num_carry]
    x_vars = olympuspr.invars[num_consts + num_carry :]
    known_places = [place for place, flag in enumerate(carry) if not flag]
    known_vars = [carry_vars[place] for place in known_places]
    known_results = [olympuspr.outvars[place] for place in known_places]
    forward_equations = live_equations(olympuspr.eqns, known_results, keep_effects=False)
    x_flags = linear[num_consts + num_carry :]
    forward = olympuspr.replace(
        invars=[
            *(
                v
                for v, flag in zip(olympuspr.invars, linear[:num_consts], strict=False)
                if not flag
            ),
            *known_vars,
            *(var for var, flag in zip(x_vars, x_flags, strict=True) if not flag),
        ],
        outvars=[*known_results, *known_vars],
        eqns=forward_equations,
        effects=joined_effects(forward_equations),
    )
    linear_part = olympuspr.replace(
        invars=[
            *olympuspr.invars[:num_consts],
            *(var for var, flag in zip(carry_vars, carry, strict=True) if flag),
            *known_vars,
            *x_vars,
        ],
        outvars=[
            *(
                atom
                for atom, flag in zip(olympuspr.outvars[:num_carry], carry, strict=True)
                if flag
            ),
            *olympuspr.outvars[num_carry:],
        ],
    )
    return ClosedOlympuspr(forward, jaxpr.consts), ClosedOlympuspr(linear_part, jaxpr.consts)


def _transpose_mixed_scan(
    cotangents: Sequence[Any],
    operands: Sequence[Any],
    linear_carry: tuple[bool, ...],
    *,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    reverse: bool,
    **params: Any,
) -> list[Any]:
    """Transposes a loop of whose carry a part is not linear: that part is run forward first."""
    linear = tuple([is_undefined_primal(operand) for operand in operands])
    split = num_consts + num_carry
    forward, linear_body = _forward_body(jaxpr, num_consts, linear, linear_carry)
    known_consts = [
        operand for operand in operands[:num_consts] if not is_undefined_primal(operand)
    ]
    carry = operands[num_consts:split]
    known = [value for value, flag in zip(carry, linear_carry, strict=True) if not flag]
    results = lax.scan_p.bind(
        *known_consts,
        *known,
        *(operand for operand in operands[split:] if not is_undefined_primal(operand)),
        jaxpr=forward,
        num_consts=len(known_consts),
        num_carry=len(known),
        reverse=reverse,
        **params,
    )
    moving_carry = [value for value, flag in zip(carry, linear_carry, strict=True) if flag]
    carry_cotangents = [
        ct for ct, flag in zip(cotangents[:num_carry], linear_carry, strict=True) if flag
    ]
    transposed = _scan_transpose(
        [*carry_cotangents, *cotangents[num_carry:]],
        *operands[:num_consts],
        *moving_carry,
        *results[len(known) :],
        *operands[split:],
        jaxpr=linear_body,
        num_consts=num_consts,
        num_carry=len(moving_carry),
        reverse=reverse,
        **params,
    )
    by_carry = iter(transposed[num_consts : num_consts + len(moving_carry)])
    return [
        *transposed[:num_consts],
        *(next(by_carry) if flag else None for flag in linear_carry),
        *transposed[num_consts + len(moving_carry) + len(known) :],
    ]
