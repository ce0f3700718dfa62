# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of control flow: the loops and branches carry the terms along with the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.lax.control_flow.fixed_points import until_stable
from olympus_ir.lax.control_flow.operands import (
    ScanLayout,
    ScanOperands,
    WhileLayout,
    WhileOperands,
)
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Var
from olympus_ir.types.avals import ShapedArray

from ...forward.linearized_programs import join_nonzero
from ...memoization import memoized
from ...rules.control_flow import with_common_constants
from ...rules.subprograms import paired, rearranged
from ...zeros import aval_of
from ..series import order_of
from ..series_programs import flags_of, flat_terms, grouped, jet_olympuspr
from ..tables import jet_rules
from . import linear_solves as linear_solves  # This module defines more rules of the family.


def _types(terms: Sequence[Any]) -> tuple[ShapedArray, ...]:
    return tuple(map(aval_of, terms))


# ---- cond ----


class _Branches(NamedTuple):
    """Branches of the Taylor rule of `cond`, which return the terms of results, too.

    The first operands of the branches are ``consts``.
    """

    branches: tuple[ClosedOlympuspr, ...]
    consts: list[Any]
    moving_out: tuple[bool, ...]


@memoized
def _derived_branches(
    first: ClosedOlympuspr,
    branches: tuple[ClosedOlympuspr, ...],
    order: int,
    moving_in: tuple[bool, ...],
    term_avals: tuple[ShapedArray, ...],
) -> _Branches:
    moving_out = (False,) * len(first.out_avals)
    for branch in branches:
        found = jet_olympuspr(branch, order, moving_in, term_avals)[1]
        moving_out = join_nonzero(moving_out, found)
    derived = [
        jet_olympuspr(branch, order, moving_in, term_avals, moving_out)[0] for branch in branches
    ]
    return _Branches(*with_common_constants(derived), moving_out)


@jet_rules.define(lax.cond_p)
def _cond_jet(
    primals: Sequence[Any],
    series: Sequence[Any],
    *,
    branches: tuple[ClosedOlympuspr, ...],
    **params: Any,
) -> Any:
    index, *operands = primals
    order, moving_in = order_of(series), flags_of(series[1:])
    terms = flat_terms(operands, series[1:], moving_in, order)
    plan = _derived_branches(branches[0], branches, order, moving_in, _types(terms))
    results = lax.cond_p.bind(
        index, *plan.consts, *operands, *terms, branches=plan.branches, **params
    )
    count = len(plan.moving_out)
    return results[:count], grouped(results[count:], plan.moving_out, order)


# ---- scan ----


class _Scan(NamedTuple):
    """A scan that carries terms along.

    Attributes:
      body: takes constants, terms of constants, carry, terms of the carry, slices, and terms of
        slices.
      consts: the values of the body's own constants, which come first.
      moving_carry: for each component of the carry, whether it has terms.
      moving_ys: for each stacked result, whether it has terms.
    """

    body: ClosedOlympuspr
    consts: list[Any]
    moving_carry: Sequence[bool]
    moving_ys: Sequence[bool]


def _terms_of(avals: Sequence[Any], moving: Sequence[bool], order: int) -> list[Any]:
    """Returns the types of the terms, which are the tangent types of the values."""
    return [
        aval.to_tangent_aval()
        for aval, flag in zip(avals, moving, strict=True)
        if flag
        for _ in range(order)
    ]


@memoized
def _derived_scan(
    body: ClosedOlympuspr,
    order: int,
    moving_consts: tuple[bool, ...],
    moving_carry: tuple[bool, ...],
    moving_xs: tuple[bool, ...],
) -> _Scan:
    layout = ScanLayout(len(moving_consts), len(moving_carry))
    num_ys = len(body.out_avals) - layout.num_carry

    def derive(carry: Sequence[bool]) -> Any:
        moving_in = (*moving_consts, *carry, *moving_xs)
        derived, moving_out = jet_olympuspr(
            body,
            order,
            moving_in,
            _terms_of(body.in_avals, moving_in, order),
            (*carry, *(False,) * num_ys),
        )
        after, moving_ys = layout.results(moving_out)
        return (derived, moving_ys), after

    (derived, moving_ys), carry = until_stable(derive, moving_carry)
    moving = (moving_consts, carry, moving_xs)
    inputs = paired(*((len(flags), order * sum(flags)) for flags in moving))
    results = paired(*((len(flags), order * sum(flags)) for flags in (carry, moving_ys)))
    return _Scan(rearranged(derived, inputs, results), derived.consts, carry, moving_ys)


@jet_rules.define(lax.scan_p)
def _scan_jet(
    primals: Sequence[Any],
    series: Sequence[Any],
    *,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    order, layout = order_of(series), ScanLayout(num_consts, num_carry)
    primal, terms = layout.operands(primals), layout.operands(series)
    moving = layout.operands(flags_of(series))
    plan = _derived_scan(jaxpr, order, *moving)
    operands = ScanOperands(
        consts=[
            *plan.consts,
            *primal.consts,
            *flat_terms(primal.consts, terms.consts, moving.consts, order),
        ],
        carry=[*primal.carry, *flat_terms(primal.carry, terms.carry, plan.moving_carry, order)],
        xs=[*primal.xs, *flat_terms(primal.xs, terms.xs, moving.xs, order)],
    )
    results = lax.scan_p.bind(*operands.flat, jaxpr=plan.body, **operands.layout.params, **params)
    carry, ys = operands.layout.results(results)
    num_ys = len(plan.moving_ys)
    return [*carry[:num_carry], *ys[:num_ys]], [
        *grouped(carry[num_carry:], plan.moving_carry, order),
        *grouped(ys[num_ys:], plan.moving_ys, order),
    ]


# ---- while ----


class _Loop(NamedTuple):
    """A loop that carries terms along.

    Attributes:
      params: the parameters of the loop.
      consts: the values of the body's constants.
      moving_carry: for each component of the carry, whether it has terms.
    """

    params: dict[str, Any]
    consts: list[Any]
    moving_carry: tuple[bool, ...]


@memoized
def _derived_loop(
    body: ClosedOlympuspr,
    condition: ClosedOlympuspr,
    cond_nconsts: int,
    order: int,
    moving_consts: tuple[bool, ...],
    moving_carry: tuple[bool, ...],
) -> _Loop:
    def derive(carry: Sequence[bool]) -> Any:
        moving_in = (*moving_consts, *carry)
        terms = _terms_of(body.in_avals, moving_in, order)
        return jet_olympuspr(body, order, moving_in, terms, carry)

    derived, moving_carry = until_stable(derive, moving_carry)
    const_terms = order * sum(moving_consts)
    inputs = paired(
        (len(moving_consts), const_terms), (len(moving_carry), order * sum(moving_carry))
    )
    carry_terms = map(Var, _terms_of(condition.in_avals[cond_nconsts:], moving_carry, order))
    condition_olympuspr = condition.jaxpr.replace(invars=[*condition.jaxpr.invars, *carry_terms])
    params = {
        "cond_nconsts": cond_nconsts,
        "cond_jaxpr": ClosedOlympuspr(condition_olympuspr, condition.consts),
        "body_nconsts": len(derived.consts) + len(moving_consts) + const_terms,
        "body_jaxpr": rearranged(derived, inputs=inputs),
    }
    return _Loop(params, derived.consts, moving_carry)


@jet_rules.define(lax.while_p)
def _while_jet(
    primals: Sequence[Any],
    series: Sequence[Any],
    *,
    cond_nconsts: int,
    cond_jaxpr: ClosedOlympuspr,
    body_nconsts: int,
    body_jaxpr: ClosedOlympuspr,
    **params: Any,
) -> Any:
    order, layout = order_of(series), WhileLayout(cond_nconsts, body_nconsts)
    primal, terms = layout.operands(primals), layout.operands(series)
    moving = layout.operands(flags_of(series))
    plan = _derived_loop(
        body_jaxpr, cond_jaxpr, cond_nconsts, order, moving.body_consts, moving.carry
    )
    consts, carry = primal.body_consts, primal.carry
    operands = WhileOperands(
        cond_consts=primal.cond_consts,
        body_consts=[
            *plan.consts,
            *consts,
            *flat_terms(consts, terms.body_consts, moving.body_consts, order),
        ],
        carry=[*carry, *flat_terms(carry, terms.carry, plan.moving_carry, order)],
    )
    if "checkpoints" in params:
        params["checkpoints"] = params["checkpoints"].recomputing()
    results = lax.while_p.bind(*operands.flat, **plan.params, **params)
    count = len(carry)
    return results[:count], grouped(results[count:], plan.moving_carry, order)
