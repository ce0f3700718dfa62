# SPDX-License-Identifier: Apache-2.0
"""Derivative rules of `cond` and `while`.

The modules `scan`, `scan_transpose` and `linear_solves` define the rules of other control flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.lax.control_flow.checkpoints import Checkpoints
from olympus_ir.lax.control_flow.fixed_points import until_stable
from olympus_ir.lax.control_flow.operands import WhileLayout, WhileOperands
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Olympuspr, Var, close_olympuspr

from ..forward.jvp import jvp_olympuspr
from ..forward.linearize import LinearizeTrace
from ..forward.linearized_programs import LinearizedProgram, join_nonzero, linearize_olympuspr
from ..memoization import memoized
from ..rematerialization.bodies import SplitBody, saving_rules, split_body
from ..reverse.transpose import transpose_olympuspr
from ..tables import jvp_rules, linearize_rules, transpose_rules
from ..zeros import Zero, is_undefined_primal
from . import linear_solves, scan, scan_transpose
from .calls import moving, with_zeros
from .replayed_loops import linearize_while
from .scan import instantiated
from .subprograms import paired, rearranged, staged_zeros

__all__ = ["linear_solves", "scan", "scan_transpose"]

# ---- cond ----


class _CondPlan(NamedTuple):
    """The branches of a `cond` that computes the jvp or the transpose of another `cond`.

    Attributes:
      branches: the programs of the branches. Their first inputs are the constants.
      consts: the values of the constants.
      nonzero_out: in a jvp, whether each result has a tangent; in a transpose, whether each operand
        has a cotangent.
    """

    branches: tuple[ClosedOlympuspr, ...]
    consts: list[Any]
    nonzero_out: tuple[bool, ...]


def with_common_constants(
    branches: Sequence[ClosedOlympuspr],
) -> tuple[tuple[ClosedOlympuspr, ...], list[Any]]:
    """Returns the branches with the union of their constants as common first inputs."""
    consts = [value for branch in branches for value in branch.consts]
    if not consts:
        return tuple(branches), []
    programs = []
    for position, branch in enumerate(branches):
        inputs = []
        for other, program in enumerate(branches):
            own = other == position
            inputs += [var if own else Var(var.aval) for var in program.constvars]
        olympuspr = branch.jaxpr.replace(constvars=[], invars=[*inputs, *branch.jaxpr.invars])
        programs.append(close_olympuspr(olympuspr))
    return tuple(programs), consts


@memoized
def _jvp_branches(
    first: ClosedOlympuspr, branches: tuple[ClosedOlympuspr, ...], nonzero_in: tuple[bool, ...]
) -> _CondPlan:
    nonzero_out = (False,) * len(first.out_avals)
    for branch in branches:
        nonzero_out = join_nonzero(nonzero_out, jvp_olympuspr(branch, nonzero_in)[1])
    derived = [jvp_olympuspr(branch, nonzero_in, nonzero_out)[0] for branch in branches]
    return _CondPlan(*with_common_constants(derived), nonzero_out)


@jvp_rules.define(lax.cond_p)
def _cond_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    branches: tuple[ClosedOlympuspr, ...],
    **params: Any,
) -> Any:
    index, *operands = primals
    nonzero_in = tuple([t.__class__ is not Zero for t in tangents[1:]])
    plan = _jvp_branches(branches[0], branches, nonzero_in)
    results = lax.cond_p.bind(
        index,
        *plan.consts,
        *operands,
        *moving(tangents[1:]),
        branches=plan.branches,
        **params,
    )
    count = len(plan.nonzero_out)
    return results[:count], with_zeros(results[count:], plan.nonzero_out, results[:count])


class _LinearizedBranches(NamedTuple):
    """A linearized `cond`.

    Attributes:
      primal: maps the operands to the results and the residuals. The residuals are in slots that
        the branches share.
      linear: maps shared operands, slots and tangents to tangents.
      shared: the positions of the operands that the linear branches need.
    """

    primal: _CondPlan
    linear: _CondPlan
    shared: tuple[int, ...]


@memoized
def _linearized_branches(
    first: ClosedOlympuspr, branches: tuple[ClosedOlympuspr, ...], nonzero_in: tuple[bool, ...]
) -> _LinearizedBranches:
    nonzero_out = (False,) * len(first.out_avals)
    for branch in branches:
        nonzero_out = join_nonzero(nonzero_out, linearize_olympuspr(branch, nonzero_in).nonzero_out)
    linearized = [linearize_olympuspr(branch, nonzero_in, nonzero_out) for branch in branches]
    num_inputs, num_results = len(first.in_avals), len(first.out_avals)
    shared = sorted(
        {position for split in linearized for position in split.residuals if position < num_inputs}
    )
    slots, assigned = _assign_slots(linearized, num_inputs)
    primal = [
        _primal_branch(split, slot_of_residual, slots, num_results)
        for split, slot_of_residual in zip(linearized, assigned, strict=True)
    ]
    linear = [
        _linear_branch(split, slot_of_residual, slots, shared)
        for split, slot_of_residual in zip(linearized, assigned, strict=True)
    ]
    return _LinearizedBranches(
        _CondPlan(*with_common_constants(primal), nonzero_out),
        _CondPlan(*with_common_constants(linear), nonzero_out),
        tuple(shared),
    )


def _assign_slots(
    linearized: Sequence[LinearizedProgram], num_inputs: int
) -> tuple[list[Any], list[dict[int, int]]]:
    """Assigns a slot to each residual that is not an operand; branches share slots of equal types.

    Returns:
      The types of the slots; and for each branch, a map from a residual's position to its slot.
    """
    slots: list[Any] = []
    assigned = []
    for split in linearized:
        slot_of_residual: dict[int, int] = {}
        for position, aval in zip(split.residuals, split.residual_avals, strict=True):
            if position < num_inputs or position in slot_of_residual:
                continue
            used = set(slot_of_residual.values())
            free = [i for i, slot in enumerate(slots) if slot is aval and i not in used]
            if not free:
                free = [len(slots)]
                slots.append(aval)
            slot_of_residual[position] = free[0]
        assigned.append(slot_of_residual)
    return slots, assigned


def _primal_branch(
    split: LinearizedProgram,
    slot_of_residual: dict[int, int],
    slots: Sequence[Any],
    num_results: int,
) -> ClosedOlympuspr:
    """Returns the branch that returns results and slots. Slots of other branches hold zeros."""
    olympuspr = split.primal.jaxpr
    equations = list(olympuspr.eqns)
    in_slots: list[Any] = [None] * len(slots)
    for position, slot in slot_of_residual.items():
        in_slots[slot] = olympuspr.outvars[position - len(olympuspr.invars)]
    filled = [
        staged_zeros(equations, aval) if atom is None else atom
        for atom, aval in zip(in_slots, slots, strict=True)
    ]
    outvars = [*olympuspr.outvars[:num_results], *filled]
    return ClosedOlympuspr(olympuspr.replace(eqns=equations, outvars=outvars), split.primal.consts)


def _linear_branch(
    split: LinearizedProgram,
    slot_of_residual: dict[int, int],
    slots: Sequence[Any],
    shared: Sequence[int],
) -> ClosedOlympuspr:
    """Returns a branch of the conditional for tangents.

    Its operands are the shared operands, the residuals of all branches and the tangents. The
    branch reads the residuals in its own slots.
    """
    in_avals = split.primal.in_avals
    inputs = [Var(aval) for aval in (*(in_avals[index] for index in shared), *slots)]
    olympuspr = split.linear.jaxpr
    for position, var in zip(split.residuals, olympuspr.invars, strict=False):
        slot = slot_of_residual.get(position)
        inputs[shared.index(position) if slot is None else len(shared) + slot] = var
    tangents = olympuspr.invars[len(split.residuals) :]
    return ClosedOlympuspr(olympuspr.replace(invars=[*inputs, *tangents]), split.linear.consts)


@linearize_rules.define(lax.cond_p)
def _cond_linearize(
    trace: LinearizeTrace,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    branches: tuple[ClosedOlympuspr, ...],
    **params: Any,
) -> Any:
    index, *operands = primals
    nonzero_in = tuple([t.__class__ is not Zero for t in tangents[1:]])
    plan = _linearized_branches(branches[0], branches, nonzero_in)
    results = lax.cond_p.bind_with_trace(
        trace.parent,
        [index, *plan.primal.consts, *operands],
        {"branches": plan.primal.branches, **params},
    )
    count = len(branches[0].out_avals)
    results, slots = results[:count], results[count:]
    if not any(plan.linear.nonzero_out):
        return results, [Zero.of(result) for result in results]
    tangents_out = trace.tangent_trace.record(
        lax.cond_p,
        [
            index,
            *plan.linear.consts,
            *(operands[position] for position in plan.shared),
            *slots,
            *moving(tangents[1:]),
        ],
        {"branches": plan.linear.branches, **params},
    )
    return results, with_zeros(tangents_out, plan.linear.nonzero_out, results)


@memoized
def _transposed_branches(
    first: ClosedOlympuspr,
    branches: tuple[ClosedOlympuspr, ...],
    linear_in: tuple[bool, ...],
    nonzero: tuple[bool, ...],
) -> _CondPlan:
    nonzero_out = (False,) * sum(linear_in)
    for branch in branches:
        nonzero_out = join_nonzero(nonzero_out, transpose_olympuspr(branch, linear_in, nonzero)[1])
    derived = [
        transpose_olympuspr(branch, linear_in, nonzero, nonzero_out)[0] for branch in branches
    ]
    return _CondPlan(*with_common_constants(derived), nonzero_out)


@transpose_rules.define(lax.cond_p)
def _cond_transpose(
    cotangents: Sequence[Any],
    index: Any,
    *operands: Any,
    branches: tuple[ClosedOlympuspr, ...],
    **params: Any,
) -> list[Any]:
    linear_in = tuple([is_undefined_primal(operand) for operand in operands])
    nonzero = tuple([ct.__class__ is not Zero for ct in cotangents])
    plan = _transposed_branches(branches[0], branches, linear_in, nonzero)
    known = [operand for operand in operands if not is_undefined_primal(operand)]
    results = iter(
        lax.cond_p.bind(
            index, *plan.consts, *known, *moving(cotangents), branches=plan.branches, **params
        )
    )
    flags = iter(plan.nonzero_out)
    return [None, *(next(results) if linear and next(flags) else None for linear in linear_in)]


jvp_rules.exempt(lax.platform_index_p, reason="it has no operands")


# ---- while ----


class _WhilePlan(NamedTuple):
    """A loop that carries tangents along.

    Attributes:
      params: the parameters of the equation. The body takes the constants, the constants' nonzero
        tangents, the carry, and the carry's nonzero tangents.
      consts: the values of the body's constants.
      nonzero_consts: for each constant of the body, whether it has a tangent.
      nonzero_carry: for each component of the carry, whether it has a tangent.
    """

    params: dict[str, Any]
    consts: list[Any]
    nonzero_consts: tuple[bool, ...]
    nonzero_carry: tuple[bool, ...]


@memoized
def _jvp_loop(
    body: ClosedOlympuspr,
    condition: ClosedOlympuspr,
    cond_nconsts: int,
    nonzero_consts: tuple[bool, ...],
    nonzero_carry: tuple[bool, ...],
) -> _WhilePlan:
    derived, nonzero_carry = until_stable(
        lambda carry: jvp_olympuspr(body, (*nonzero_consts, *carry), carry), nonzero_carry
    )
    num_consts, num_const_tangents = len(nonzero_consts), sum(nonzero_consts)
    inputs = paired((num_consts, num_const_tangents), (len(nonzero_carry), sum(nonzero_carry)))
    carry_tangents = [
        Var(aval.to_tangent_aval())
        for aval, nonzero in zip(condition.in_avals[cond_nconsts:], nonzero_carry, strict=True)
        if nonzero
    ]
    condition_olympuspr: Olympuspr = condition.jaxpr.replace(
        invars=[*condition.jaxpr.invars, *carry_tangents]
    )
    params = {
        "cond_nconsts": cond_nconsts,
        "cond_jaxpr": ClosedOlympuspr(condition_olympuspr, condition.consts),
        "body_nconsts": len(derived.consts) + num_consts + num_const_tangents,
        "body_jaxpr": rearranged(derived, inputs),
    }
    return _WhilePlan(params, derived.consts, nonzero_consts, nonzero_carry)


def _jvp_loop_operands(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    cond_nconsts: int,
    cond_jaxpr: ClosedOlympuspr,
    body_nconsts: int,
    body_jaxpr: ClosedOlympuspr,
) -> tuple[_WhilePlan, list[Any]]:
    """Returns the parameters and operands of the loop that pushes the tangents along."""
    layout = WhileLayout(cond_nconsts, body_nconsts)
    primal, tangent = layout.operands(primals), layout.operands(tangents)
    nonzero = layout.operands(tuple([t.__class__ is not Zero for t in tangents]))
    plan = _jvp_loop(body_jaxpr, cond_jaxpr, cond_nconsts, nonzero.body_consts, nonzero.carry)
    operands = WhileOperands(
        cond_consts=primal.cond_consts,
        body_consts=[*plan.consts, *primal.body_consts, *moving(tangent.body_consts)],
        carry=[*primal.carry, *instantiated(tangent.carry, plan.nonzero_carry)],
    )
    return plan, operands.flat


@jvp_rules.define(lax.while_p)
def _while_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    checkpoints: Checkpoints | None = None,
    batch: str | tuple[int, ...] | None = None,
    **params: Any,
) -> Any:
    plan, operands = _jvp_loop_operands(primals, tangents, **params)
    kept: dict[str, Any] = {} if checkpoints is None else {"checkpoints": checkpoints.recomputing()}
    if batch is not None:
        kept["batch"] = batch
    results = lax.while_p.bind(*operands, **plan.params, **kept)
    count = len(plan.nonzero_carry)
    return results[:count], with_zeros(results[count:], plan.nonzero_carry, results[:count])


@linearize_rules.define(lax.while_p)
def _while_linearize(
    trace: LinearizeTrace, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> Any:
    """Linearizes a while loop. Residuals cannot be stacked, since the trip count is unknown.

    The linear program runs the loop again, together with the tangents.
    """
    if "checkpoints" in params:
        return linearize_while(trace, primals, tangents, **params)
    results = lax.while_p.bind_with_trace(trace.parent, primals, params)
    options = {name: params.pop(name) for name in ("batch",) if name in params}
    plan, operands = _jvp_loop_operands(primals, tangents, **params)
    if not any(plan.nonzero_carry):
        return results, [Zero.of(result) for result in results]
    outs = trace.tangent_trace.record(lax.while_p, operands, {**plan.params, **options})
    return results, with_zeros(outs[len(results) :], plan.nonzero_carry, results)


@transpose_rules.define(lax.while_p)
def _while_transpose(cotangents: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
        "dynamic start/stop values: the intermediate values of all iterations would have to be "
        "kept, and their number is not known. Call it with checkpoints, for example "
        "lax.while_loop(cond_fun, body_fun, init_val, checkpoints=32): reverse mode then "
        "recomputes the values from 32 of them. Or use lax.scan, or lax.fori_loop with start and "
        "stop that are Python integers; or forward mode (jvp, jacfwd)."
    )


# ---- policies of checkpoint ----


@saving_rules.define(lax.cond_p)
def _split_cond(equation: Equation, policy: Any) -> tuple[Equation, Equation] | None:
    splits = [split_body(branch, policy) for branch in equation.params["branches"]]
    saved_avals = [var.aval for split in splits for var in split.kept]
    if not saved_avals:
        return None
    saving, taking, start = [], [], 0
    for split in splits:
        saving.append(_saving_branch(split, saved_avals, start))
        taking.append(_taking_branch(split, saved_avals, start))
        start += len(split.kept)
    saved = [Var(aval) for aval in saved_avals]
    return (
        equation.replace(
            outvars=[*equation.outvars, *saved],
            params={**equation.params, "branches": tuple(saving)},
        ),
        equation.replace(
            invars=[*equation.invars, *saved],
            params={**equation.params, "branches": tuple(taking)},
        ),
    )


def _saving_branch(split: SplitBody, saved_avals: Sequence[Any], start: int) -> ClosedOlympuspr:
    """Returns a branch that returns the saved values of all branches.

    Saved values of the other branches are zeros.
    """
    program = split.saving()
    count, num_saved = len(split.body.outvars), len(split.kept)
    olympuspr = program.jaxpr
    equations = list(olympuspr.eqns)
    before = [staged_zeros(equations, aval) for aval in saved_avals[:start]]
    after = [staged_zeros(equations, aval) for aval in saved_avals[start + num_saved :]]
    results = olympuspr.outvars
    outvars = [*results[:count], *before, *results[count:], *after]
    return ClosedOlympuspr(olympuspr.replace(eqns=equations, outvars=outvars), program.consts)


def _taking_branch(split: SplitBody, saved_avals: Sequence[Any], start: int) -> ClosedOlympuspr:
    """Returns a branch that takes the saved values of all branches."""
    program = split.taking()
    count, num_saved = len(split.body.invars), len(split.kept)
    inputs = program.jaxpr.invars
    before = [Var(aval) for aval in saved_avals[:start]]
    after = [Var(aval) for aval in saved_avals[start + num_saved :]]
    invars = [*inputs[:count], *before, *inputs[count:], *after]
    return ClosedOlympuspr(program.jaxpr.replace(invars=invars), program.consts)
