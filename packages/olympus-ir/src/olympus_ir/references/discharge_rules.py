# SPDX-License-Identifier: Apache-2.0
"""Discharge rules: of the primitives that use references, and of those that run programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..lax.control_flow.linear_solves import linear_solve_p
from ..lax.control_flow.operands import ScanLayout, ScanOperands, WhileLayout, WhileOperands
from ..lax.control_flow.predicates import with_scalar_condition
from ..programs.evaluation import eval_olympuspr
from ..programs.olympuspr import ClosedOlympuspr, Equation, Olympuspr, Var, close_olympuspr
from ..programs.staging import varying_alike
from ..programs.tracing import current
from ..types.avals import get_aval
from ..types.memory_spaces import MemorySpace
from . import primitives as references
from .discharge import Discharged, discharge_closed, discharge_rules
from .transforms import accumulated, read_view, written

Operands = Sequence[Any]
Changes = tuple[list[Any], Sequence[Any]]


def _is_array(equation: Equation, operands: Operands, place: int) -> bool:
    """Whether an operand was a reference and comes as an array."""
    return equation.invars[place].aval.is_ref and not _aval(operands[place]).is_ref


def _aval(operand: Any) -> Any:
    return get_aval(operand)


def _unchanged(equation: Equation) -> list[Any]:
    return [None] * len(equation.invars)


# ---- reading and writing ----


@discharge_rules.define(references.get_p)
def _get(equation: Equation, operands: Operands) -> Changes:
    array, *leaves = operands
    transforms = references.transforms_of(leaves, equation.params["tree"])
    return _unchanged(equation), [read_view(array, transforms)]


@discharge_rules.define(references.swap_p)
def _swap(equation: Equation, operands: Operands) -> Changes:
    array, value, *leaves = operands
    transforms = references.transforms_of(leaves, equation.params["tree"])
    previous = read_view(array, transforms)
    _, value = varying_alike([previous, value])
    changed = written(array, transforms, _typed(value, _aval(previous)))
    return [_typed(changed, _aval(array)), *[None] * (len(operands) - 1)], [previous]


@discharge_rules.define(references.addupdate_p)
def _addupdate(equation: Equation, operands: Operands) -> Changes:
    array, value, *leaves = operands
    transforms = references.transforms_of(leaves, equation.params["tree"])
    changed = accumulated(array, transforms, value)
    return [_typed(changed, _aval(array)), *[None] * (len(operands) - 1)], []


def _typed(value: Any, aval: Any) -> Any:
    """A value with the weak type of what it takes the place of."""
    given = _aval(value)
    if given.weak_type == aval.weak_type:
        return value
    return lax.convert_dtype(value, aval.dtype, aval.weak_type)


@discharge_rules.define(references.new_ref_p)
def _new_ref(equation: Equation, operands: Operands) -> Changes:
    return [None], operands


@discharge_rules.define(references.empty_ref_p)
def _empty_ref(equation: Equation, operands: Operands) -> Changes:
    ty = equation.params["ty"]
    return [], [lax.empty(ty.shape, ty.dtype)]


@discharge_rules.define(references.freeze_p)
def _freeze(equation: Equation, operands: Operands) -> Changes:
    return [None], operands


@discharge_rules.define(references.free_ref_p)
def _free_ref(equation: Equation, operands: Operands) -> Changes:
    return [None], []


# ---- calls ----


def _discharged(
    equation: Equation, operands: Operands, program: ClosedOlympuspr, first: int = 0
) -> Discharged:
    """A program in a parameter, whose inputs are the operands from ``first`` on."""
    flags = [_is_array(equation, operands, first + place) for place in range(len(program.in_avals))]
    return discharge_closed(program, tuple(flags))


def _selected(discharged: Discharged) -> ClosedOlympuspr:
    """The program without the last values of references that it does not write."""
    if len(discharged.written) == len(discharged.refs):
        return discharged.closed
    results = discharged.closed.jaxpr.outvars[: discharged.num_results]
    outvars = [*results, *[discharged.last_value(place) for place in discharged.written]]
    return _with(discharged.closed, outvars=outvars)


def _with(closed: ClosedOlympuspr, **changes: Any) -> ClosedOlympuspr:
    olympuspr = closed.jaxpr.replace(**changes)
    return (
        ClosedOlympuspr(olympuspr, closed.consts) if closed.consts else close_olympuspr(olympuspr)
    )


def _changes(equation: Equation, discharged: Discharged, outs: Sequence[Any]) -> Changes:
    """Of a call: the new values of operands, and the results."""
    values = _unchanged(equation)
    for place, value in zip(discharged.written, outs[discharged.num_results :], strict=True):
        values[place] = value
    return values, outs[: discharged.num_results]


def _apply(primitive: Any, operands: Operands, params: dict[str, Any]) -> Any:
    return current.trace.process_primitive(primitive, operands, params)


@discharge_rules.define(lax.jit_p)
def _jit(equation: Equation, operands: Operands) -> Changes:
    params = equation.params
    discharged = _discharged(equation, operands, params["jaxpr"])
    program = _selected(discharged)
    changed = {**params, "jaxpr": program}
    for inputs, outputs in (("in_shardings", "out_shardings"), ("in_layouts", "out_layouts")):
        changed[outputs] = (
            *params[outputs],
            *(params[inputs][place] for place in discharged.written),
        )
    outs = _apply(lax.jit_p, operands, changed)
    return _changes(equation, discharged, outs)


def _call(key: str) -> Any:
    def rule(equation: Equation, operands: Operands) -> Changes:
        discharged = _discharged(equation, operands, equation.params[key])
        params = {"call_jaxpr": _selected(discharged)}
        outs = _apply(lax.closed_call_p, operands, params)
        return _changes(equation, discharged, outs)

    return rule


discharge_rules.define(lax.closed_call_p, _call("call_jaxpr"))
# What is left of them when it comes to running a program is the call of the function itself.
discharge_rules.define(lax.custom_jvp_call_p, _call("call_jaxpr"))
discharge_rules.define(lax.custom_vjp_call_p, _call("call_jaxpr"))


def _annotated_call(primitive: Any, spaces: str | None = None) -> None:
    """The rule of a call that says more than what is called: it stays the call that it is."""

    @discharge_rules.define(primitive)
    def rule(equation: Equation, operands: Operands) -> Changes:
        params = equation.params
        discharged = _discharged(equation, operands, params["jaxpr"])
        changed = {**params, "jaxpr": _selected(discharged)}
        if spaces is not None:
            changed[spaces] = (*params[spaces], *(MemorySpace.Device for _ in discharged.written))
        outs = _apply(primitive, operands, changed)
        return _changes(equation, discharged, outs)


_annotated_call(lax.xla_metadata_call_p)
_annotated_call(lax.compute_on_p, "out_memory_spaces")
_annotated_call(lax.fused_call_p, "out_spaces")


@discharge_rules.define(lax.checkpoint_p)
def _checkpoint(equation: Equation, operands: Operands) -> Changes:
    closed = close_olympuspr(equation.params["jaxpr"])
    discharged = _discharged(equation, operands, closed)
    program = _selected(discharged)
    inputs = [*program.consts, *operands]
    olympuspr = program.jaxpr.replace(
        constvars=[], invars=[*program.jaxpr.constvars, *program.jaxpr.invars]
    )
    params = {**equation.params, "jaxpr": olympuspr}
    return _changes(equation, discharged, _apply(lax.checkpoint_p, inputs, params))


discharge_rules.exempt(
    linear_solve_p, reason="its programs are linear functions of arrays, without references"
)


# ---- control flow ----


def _merged(olympuspr: Olympuspr, groups: dict[int, int]) -> Olympuspr:
    """The program with inputs that are the same reference made one.

    Args:
      olympuspr: the program.
      groups: from the position of an input to that of the earlier one that it is.
    """
    renamed = {olympuspr.invars[late]: olympuspr.invars[early] for late, early in groups.items()}

    def name(atom: Any) -> Any:
        return renamed.get(atom, atom) if isinstance(atom, Var) else atom

    equations = [eqn.replace(invars=[name(atom) for atom in eqn.invars]) for eqn in olympuspr.eqns]
    return olympuspr.replace(eqns=equations)


def _same_refs(equation: Equation, first: int, count: int) -> dict[int, int]:
    """From the position of a repeated reference to that of its first occurrence."""
    seen: dict[Any, int] = {}
    groups: dict[int, int] = {}
    for place, atom in enumerate(equation.invars[first : first + count]):
        if atom.aval.is_ref:
            early = seen.setdefault(atom, place)
            if early != place:
                groups[place] = early
    return groups


@discharge_rules.define(lax.cond_p)
def _cond(equation: Equation, operands: Operands) -> Changes:
    params = equation.params
    branches = params["branches"]
    groups = _same_refs(equation, 1, len(equation.invars) - 1)
    if groups:
        branches = [
            branch.map_jaxpr(lambda program: _merged(program, groups)) for branch in branches
        ]
    discharged = [_discharged(equation, operands, branch, 1) for branch in branches]
    changed = sorted({place for branch in discharged for place in branch.written})
    count = discharged[0].num_results
    programs = []
    for branch in discharged:
        results = branch.closed.jaxpr.outvars[:count]
        outvars = [*results, *[branch.last_value(place) for place in changed]]
        programs.append(_with(branch.closed, outvars=outvars))
    outs = _apply(lax.cond_p, operands, {**params, "branches": tuple(programs)})
    values = _unchanged(equation)
    for place, value in zip(changed, outs[count:], strict=True):
        values[1 + place] = value
    return values, outs[:count]


@discharge_rules.define(lax.scan_p)
def _scan(equation: Equation, operands: Operands) -> Changes:
    params = equation.params
    body, layout = params["jaxpr"], ScanLayout.of(params)
    groups = _same_refs(equation, 0, layout.num_consts)
    if groups:
        body = body.map_jaxpr(lambda program: _merged(program, groups))
    discharged = _discharged(equation, operands, body)
    closed = discharged.closed
    olympuspr = closed.jaxpr
    # Constants that are written join the carry; slices that are written become results.
    places = layout.operands(range(len(operands)))
    carried = [place for place in discharged.written if place in places.consts]
    sliced = [place for place in discharged.written if place in places.xs]
    consts = [place for place in places.consts if place not in carried]
    rearranged = ScanOperands(consts, [*carried, *places.carry], places.xs)
    order = rearranged.flat
    results = olympuspr.outvars[: discharged.num_results]
    program = _with(
        closed,
        invars=[olympuspr.invars[place] for place in order],
        outvars=[
            *[discharged.last_value(place) for place in carried],
            *results,
            *[discharged.last_value(place) for place in sliced],
        ],
    )
    changed = {**params, "jaxpr": program, **rearranged.layout.params}
    outs = _apply(lax.scan_p, [operands[place] for place in order], changed)
    values = _unchanged(equation)
    end = len(carried) + discharged.num_results
    for place, value in zip(carried, outs[: len(carried)], strict=True):
        values[place] = value
    for place, value in zip(sliced, outs[end:], strict=True):
        values[place] = value
    return values, outs[len(carried) : end]


@discharge_rules.define(lax.while_p)
def _while(equation: Equation, operands: Operands) -> Changes:
    if equation.params["cond_jaxpr"].out_avals[0].shape:
        operands, params = with_scalar_condition(operands, equation.params)
        # The new loop takes the constants of the condition a second time.
        count = equation.params["cond_nconsts"]
        repeated = [*equation.invars[:count], *equation.invars]
        values, results = _while(equation.replace(invars=repeated, params=params), operands)
        return values[count:], results
    params = equation.params
    condition, body, layout = params["cond_jaxpr"], params["body_jaxpr"], WhileLayout.of(params)
    given = layout.operands(operands)
    all_places = layout.operands(range(len(operands)))
    cond_places, body_places = all_places.of_cond, all_places.of_body
    num_carry = len(given.carry)
    test = _of_loop(equation, operands, condition, cond_places)
    step = _of_loop(equation, operands, body, body_places)
    # One place a reference, though both programs may have it among their constants.
    refs: list[Any] = []
    for places, discharged in ((cond_places, test), (body_places, step)):
        for place in discharged.refs:
            atom = equation.invars[places[place]]
            if atom not in refs:
                refs.append(atom)
    holds = [operands[equation.invars.index(atom)] for atom in refs]

    def run(discharged: Discharged, places: list[int], values: Any, held: Any) -> Any:
        """Calls one of the programs: operands by place, and what the references hold."""
        inputs = []
        for number, place in enumerate(places):
            is_ref = number in discharged.refs
            inputs.append(held[refs.index(equation.invars[place])] if is_ref else values[place])
        outs = _evaluated(discharged.closed, inputs)
        held = list(held)
        last = outs[discharged.num_results :]
        for number, value in zip(discharged.refs, last, strict=True):
            held[refs.index(equation.invars[places[number]])] = value
        return outs[: discharged.num_results], held

    def values_with(carry: Sequence[Any]) -> list[Any]:
        return WhileOperands(given.cond_consts, given.body_consts, carry).flat

    def new_body(state: Any) -> Any:
        carry, held = state[:num_carry], state[num_carry:]
        carry, held = run(step, body_places, values_with(carry), held)
        return [*carry, *held]

    def new_condition(state: Any) -> Any:
        (go_on,), held = run(test, cond_places, values_with(state[:num_carry]), state[num_carry:])
        return go_on, held

    start = [*given.carry, *holds]
    if not test.written:
        state = lax.while_loop(lambda state: new_condition(state)[0], new_body, start)
        held = state[num_carry:]
    else:
        # The condition writes: it is made part of the step before.
        def with_condition(state: Any) -> Any:
            go_on, held = new_condition(state)
            return [go_on, *state[:num_carry], *held]

        final = lax.while_loop(
            lambda flag_and_state: flag_and_state[0],
            lambda flag_and_state: with_condition(new_body(flag_and_state[1:])),
            with_condition(start),
        )
        state, held = final[1:], final[1 + num_carry :]
    last = dict(zip(refs, held, strict=True))
    values = [last.get(atom) if isinstance(atom, Var) else None for atom in equation.invars]
    return values, state[:num_carry]


def _of_loop(
    equation: Equation, operands: Operands, program: ClosedOlympuspr, places: list[int]
) -> Discharged:
    flags = [_is_array(equation, operands, place) for place in places]
    return discharge_closed(program, tuple(flags))


def _evaluated(closed: ClosedOlympuspr, inputs: Sequence[Any]) -> list[Any]:
    return eval_olympuspr(closed.jaxpr, closed.consts, *inputs)
