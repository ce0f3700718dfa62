# SPDX-License-Identifier: Apache-2.0
"""Derivatives of `scan`.

In forward mode, the loop carries the tangents along. For reverse mode, the loop is split. The
primal loop also returns the stacked residuals of its iterations, and a linear loop takes the
residuals as slices. Loop-invariant residuals are computed once before the loop instead of being
stacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.lax.control_flow.fixed_points import until_stable
from olympus_ir.lax.control_flow.operands import ScanLayout, ScanOperands
from olympus_ir.lax.control_flow.primitives import stacked_aval
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import (
    Atom,
    ClosedOlympuspr,
    Equation,
    Literal,
    Olympuspr,
    Var,
    close_olympuspr,
    joined_effects,
)
from olympus_ir.programs.tracing import set_current_trace

from ..forward.jvp import jvp_olympuspr
from ..forward.linearize import LinearizeTrace
from ..forward.linearized_programs import LinearizedProgram, linearize_olympuspr
from ..forward.tangent_trace import live_equations
from ..memoization import memoized
from ..rematerialization.bodies import Move, saving_rules, split_body
from ..rematerialization.policies import Offloadable
from ..tables import jvp_rules, linearize_rules
from ..zeros import Zero, instantiate
from .calls import moving, with_zeros
from .replayed_loops import linearize_scan
from .subprograms import paired, rearranged

# ---- forward mode ----


class _JvpPlan(NamedTuple):
    """A scan that carries tangents along.

    Attributes:
      body: takes constants, their tangents, the carry, its tangents, slices and their tangents.
      consts: the values of the body's own constants, which come first.
      nonzero_carry: for each component of the carry, whether it has a tangent.
      nonzero_ys: for each stacked result, whether it has a tangent.
    """

    body: ClosedOlympuspr
    consts: list[Any]
    nonzero_carry: Sequence[bool]
    nonzero_ys: Sequence[bool]


@memoized
def _jvp_scan(
    body: ClosedOlympuspr,
    nonzero_consts: tuple[bool, ...],
    nonzero_carry: tuple[bool, ...],
    nonzero_xs: tuple[bool, ...],
) -> _JvpPlan:
    layout = ScanLayout(len(nonzero_consts), len(nonzero_carry))
    num_ys = len(body.out_avals) - layout.num_carry

    def derive(carry: Sequence[bool]) -> Any:
        derived, nonzero_out = jvp_olympuspr(
            body, (*nonzero_consts, *carry, *nonzero_xs), (*carry, *(False,) * num_ys)
        )
        after, nonzero_ys = layout.results(nonzero_out)
        return (derived, nonzero_ys), after

    (derived, nonzero_ys), carry = until_stable(derive, nonzero_carry)
    inputs = paired(*((len(flags), sum(flags)) for flags in (nonzero_consts, carry, nonzero_xs)))
    results = paired(*((len(flags), sum(flags)) for flags in (carry, nonzero_ys)))
    return _JvpPlan(rearranged(derived, inputs, results), derived.consts, carry, nonzero_ys)


@jvp_rules.define(lax.scan_p)
def _scan_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    layout = ScanLayout(num_consts, num_carry)
    nonzero = layout.operands(tuple([t.__class__ is not Zero for t in tangents]))
    plan = _jvp_scan(jaxpr, *nonzero)
    primal, tangent = layout.operands(primals), layout.operands(tangents)
    operands = ScanOperands(
        consts=[*plan.consts, *primal.consts, *moving(tangent.consts)],
        carry=[*primal.carry, *instantiated(tangent.carry, plan.nonzero_carry)],
        xs=[*primal.xs, *moving(tangent.xs)],
    )
    results = iter(
        lax.scan_p.bind(*operands.flat, jaxpr=plan.body, **operands.layout.params, **params)
    )
    carry = [next(results) for _ in plan.nonzero_carry]
    carry_tangents = [next(results) for nonzero in plan.nonzero_carry if nonzero]
    ys = [next(results) for _ in plan.nonzero_ys]
    outs = [*carry, *ys]
    return outs, with_zeros(
        [*carry_tangents, *results], (*plan.nonzero_carry, *plan.nonzero_ys), outs
    )


def instantiated(tangents: Sequence[Any], nonzero: Sequence[bool]) -> list[Any]:
    """Returns the carry's initial tangents: zeros for tangents that only the loop introduces."""
    return [instantiate(t) for t, flag in zip(tangents, nonzero, strict=True) if flag]


# ---- linearization ----


class _ScanPlan(NamedTuple):
    """A scan split into its primal and its linear part.

    Variables of the prelude and of the primal body name the values that the loops take.

    Attributes:
      prelude: computes the loop-invariant values from the constants, once.
      constants: the values of the primal program's own constants, by variable.
      body: the primal body, which also returns the residuals of an iteration.
      body_consts: the variables of the primal body's constants.
      linear_body: maps residuals and tangents to tangents.
      linear_constants: the values of the linear program's own constants.
      shared_residuals: the variables of the residuals that are the same in all iterations.
      sliced_residuals: the variables of the residuals of which each iteration has its own.
      nonzero_carry: for each component of the carry, whether it has a tangent.
      nonzero_ys: for each stacked result, whether it has a tangent.
    """

    prelude: Olympuspr
    constants: dict[Var, Any]
    body: ClosedOlympuspr
    body_consts: Sequence[Var]
    linear_body: ClosedOlympuspr
    linear_constants: Sequence[Any]
    shared_residuals: Sequence[Var]
    sliced_residuals: Sequence[Atom]
    nonzero_carry: Sequence[bool]
    nonzero_ys: Sequence[bool]

    def invariant_values(self, consts: Sequence[Any]) -> dict[Atom, Any]:
        """Runs the prelude, and returns all values that stay the same in the loop, by variable.

        Args:
          consts: the constants of the original loop.
        """
        hoisted = eval_olympuspr(self.prelude, (), *consts)
        return {
            **dict(zip(self.prelude.invars, consts, strict=True)),
            **dict(zip(self.prelude.outvars, hoisted, strict=True)),
            **self.constants,
        }

    def stacked_values(self, xs: Sequence[Any], ys: Sequence[Any]) -> dict[Atom, Any]:
        """Returns the arrays of which an iteration takes or returns a slice, by variable.

        Args:
          xs: the arrays that the loops take in slices.
          ys: the stacked results of the primal loop, with the residuals.
        """
        layout = ScanLayout(len(self.body_consts), len(self.nonzero_carry))
        program = self.body.jaxpr
        results = zip(layout.results(program.outvars).ys, ys, strict=True)
        slices = zip(layout.operands(program.invars).xs, xs, strict=True)
        return {**dict(results), **dict(slices)}


@memoized
def _linearized_scan(
    body: ClosedOlympuspr,
    nonzero_consts: tuple[bool, ...],
    nonzero_carry: tuple[bool, ...],
    nonzero_xs: tuple[bool, ...],
    offloads: bool = False,
) -> _ScanPlan:
    layout = ScanLayout(len(nonzero_consts), len(nonzero_carry))
    num_ys = len(body.out_avals) - layout.num_carry

    def derive(carry: Sequence[bool]) -> Any:
        split = linearize_olympuspr(
            body, (*nonzero_consts, *carry, *nonzero_xs), (*carry, *(False,) * num_ys)
        )
        after, nonzero_ys = layout.results(split.nonzero_out)
        return (split, nonzero_ys), after

    (split, nonzero_ys), carry = until_stable(derive, nonzero_carry)
    splitter = _ScanSplitter(split, layout, num_ys, sum(nonzero_consts), offloads)
    return splitter.plan(carry, nonzero_ys)


_TO_HOST = Offloadable("device", "pinned_host")


class _ScanSplitter:
    """Splitter of the body of a scan, which determines the origin of each residual."""

    def __init__(
        self,
        split: LinearizedProgram,
        layout: ScanLayout,
        num_ys: int,
        num_const_tangents: int,
        offloads: bool = False,
    ) -> None:
        self.split = split
        self.offloads = offloads
        self.num_ys = num_ys
        self.num_const_tangents = num_const_tangents
        olympuspr = split.primal.jaxpr
        self.olympuspr = olympuspr
        self.const_vars, self.carry_vars, self.x_vars = layout.operands(olympuspr.invars)
        self.num_carry = layout.num_carry

    def plan(self, nonzero_carry: Sequence[bool], nonzero_ys: Sequence[bool]) -> _ScanPlan:
        split, olympuspr = self.split, self.olympuspr
        residuals = [
            (*olympuspr.invars, *olympuspr.outvars)[position] for position in split.residuals
        ]
        inner, hoisted_equations, hoisted = self._hoist(residuals)
        invariant = dict.fromkeys((*self.const_vars, *hoisted, *olympuspr.constvars))
        shared = [atom for atom in residuals if atom in invariant]
        sliced = [atom for atom in residuals if atom not in invariant]
        outvars = self._with_stacked(sliced)
        moves = self._moves(outvars) if self.offloads else {}
        inner = [*inner, *(move.to for move in moves.values())]
        outvars = self._with_moved(outvars, moves)
        used = _used_variables(inner, outvars)
        body_consts = [var for var in invariant if var in used]
        body = olympuspr.replace(
            constvars=[],
            invars=[*body_consts, *self.carry_vars, *self.x_vars],
            outvars=outvars,
            eqns=inner,
            effects=joined_effects(inner),
        )
        return _ScanPlan(
            prelude=Olympuspr([], self.const_vars, hoisted, hoisted_equations),
            constants=dict(zip(olympuspr.constvars, split.primal.consts, strict=True)),
            body=close_olympuspr(body),
            body_consts=body_consts,
            linear_body=self._linear_body(
                [atom in invariant for atom in residuals],
                sum(nonzero_carry),
                [atom in moves for atom in residuals],
            ),
            linear_constants=split.linear.consts,
            shared_residuals=shared,
            sliced_residuals=[moves[atom].moved if atom in moves else atom for atom in sliced],
            nonzero_carry=nonzero_carry,
            nonzero_ys=nonzero_ys,
        )

    def _with_stacked(self, residuals: Sequence[Any]) -> list[Any]:
        """Returns the results of the primal body, with the residuals that are to be stacked.

        Residuals that the loop takes as slices, or returns anyway, are left out.
        """
        outvars = list(self.olympuspr.outvars[: self.num_carry + self.num_ys])
        available = {*self.x_vars, *outvars[self.num_carry :]}
        return [*outvars, *(atom for atom in dict.fromkeys(residuals) if atom not in available)]

    def _moves(self, outvars: Sequence[Any]) -> dict[Any, Move]:
        """Returns the moves of stacked residuals to host memory."""
        residuals = outvars[self.num_carry + self.num_ys :]
        return {var: Move.of(var, _TO_HOST) for var in residuals if var.aval.ndim}

    def _with_moved(self, outvars: Sequence[Any], moves: dict[Any, Move]) -> list[Any]:
        first = self.num_carry + self.num_ys
        moved = [moves[var].moved if var in moves else var for var in outvars[first:]]
        return [*outvars[:first], *moved]

    def _linear_body(
        self, is_const: Sequence[bool], num_carry_tangents: int, is_moved: Sequence[bool]
    ) -> ClosedOlympuspr:
        """Returns the linear program with inputs in the order constants, carry, slices."""
        linear = self.split.linear.jaxpr
        count = len(is_const)
        residuals, tangents = linear.invars[:count], linear.invars[count:]
        moves = [
            Move.of(var, _TO_HOST) for var, moved in zip(residuals, is_moved, strict=True) if moved
        ]
        remaining = iter(moves)
        equations = [*(move.back for move in moves), *linear.eqns]
        residuals = [
            next(remaining).moved if moved else var
            for var, moved in zip(residuals, is_moved, strict=True)
        ]
        first_slice = self.num_const_tangents + num_carry_tangents
        inputs = [
            *(var for var, const in zip(residuals, is_const, strict=True) if const),
            *linear.constvars,
            *tangents[:first_slice],
            *(var for var, const in zip(residuals, is_const, strict=True) if not const),
            *tangents[first_slice:],
        ]
        return close_olympuspr(linear.replace(constvars=[], invars=inputs, eqns=equations))

    def _hoist(self, residuals: Sequence[Any]) -> tuple[list[Equation], list[Equation], list[Var]]:
        """Hoists loop-invariant equations out of the body.

        Returns:
          The equations that stay in the loop, the hoisted equations, and the variables of the
          hoisted equations that the loops need.
        """
        # Invariant equations without operands (zeros, iotas) are cheap and stay in the body. If
        # such a value is a residual, it is hoisted, to avoid stacking it.
        invariant: set[Var] = set(self.const_vars)
        dependent: set[Var] = set(self.const_vars)
        candidates, others = [], []
        for equation in self.olympuspr.eqns:
            operands = [atom for atom in equation.invars if atom.__class__ is not Literal]
            if equation.effects or not invariant.issuperset(operands):
                others.append(equation)
                continue
            candidates.append(equation)
            invariant.update(equation.outvars)
            if not dependent.isdisjoint(operands):
                dependent.update(equation.outvars)
        computed = invariant.difference(self.const_vars)
        needed: dict[Var, None] = {}
        for atom in residuals:
            if atom in computed:
                needed[atom] = None
        kept_results = self.olympuspr.outvars[: self.num_carry + self.num_ys]
        for atom in (*(a for eqn in others for a in eqn.invars), *kept_results):
            if atom.__class__ is not Literal and atom in computed and atom in dependent:
                needed[atom] = None
        hoisted = list(needed)
        before = live_equations(candidates, hoisted)
        gone = set(hoisted)
        inner = live_equations(
            [eqn for eqn in self.olympuspr.eqns if gone.isdisjoint(eqn.outvars)],
            [
                *kept_results,
                *(atom for atom in residuals if atom.__class__ is not Literal and atom not in gone),
            ],
        )
        return inner, before, hoisted


def _used_variables(equations: Sequence[Equation], outvars: Sequence[Any]) -> set[Any]:
    used = {atom for atom in outvars if atom.__class__ is not Literal}
    for equation in equations:
        used.update([atom for atom in equation.invars if atom.__class__ is not Literal])
    return used


@linearize_rules.define(lax.scan_p)
def _scan_linearize(
    trace: LinearizeTrace,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    if "checkpoints" in params and not params["checkpoints"].offloads:
        scan_params = {"jaxpr": jaxpr, "num_consts": num_consts, "num_carry": num_carry, **params}
        return linearize_scan(trace, primals, tangents, **scan_params)
    layout = ScanLayout(num_consts, num_carry)
    offloads = "checkpoints" in params
    plan = _linearized_scan(
        jaxpr, *layout.operands(tuple([t.__class__ is not Zero for t in tangents])), offloads
    )
    primal, tangent = layout.operands(primals), layout.operands(tangents)
    with set_current_trace(trace.parent):
        invariant = plan.invariant_values(primal.consts)
        operands = primal._replace(consts=[invariant[var] for var in plan.body_consts])
        outs = lax.scan_p.bind(*operands.flat, jaxpr=plan.body, **operands.layout.params, **params)
    results = outs[: num_carry + len(plan.nonzero_ys)]
    nonzero_out = (*plan.nonzero_carry, *plan.nonzero_ys)
    if not any(nonzero_out):
        return results, [Zero.of(result) for result in results]
    stacked = plan.stacked_values(primal.xs, layout.results(outs).ys)
    operands = ScanOperands(
        consts=[
            *(invariant[var] for var in plan.shared_residuals),
            *plan.linear_constants,
            *moving(tangent.consts),
        ],
        carry=instantiated(tangent.carry, plan.nonzero_carry),
        xs=[*(stacked[var] for var in plan.sliced_residuals), *moving(tangent.xs)],
    )
    tangents_out = trace.tangent_trace.record(
        lax.scan_p,
        operands.flat,
        {**params, "jaxpr": plan.linear_body, **operands.layout.params},
    )
    return results, with_zeros(tangents_out, nonzero_out, results)


# ---- policies of checkpoint ----


@saving_rules.define(lax.scan_p)
def _split_scan(equation: Equation, policy: Any) -> tuple[Equation, Equation] | None:
    split = split_body(equation.params["jaxpr"], policy)
    if not split.kept:
        return None
    length = equation.params["length"]
    stacked = [Var(stacked_aval(var.aval, length)) for var in split.kept]
    return (
        equation.replace(
            outvars=[*equation.outvars, *stacked],
            params={**equation.params, "jaxpr": split.saving()},
        ),
        equation.replace(
            invars=[*equation.invars, *stacked],
            params={**equation.params, "jaxpr": split.taking()},
        ),
    )
