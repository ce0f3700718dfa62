# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns of branches and loops.

Short loops are followed step by step, so that counters and indices are known. In a long loop, the
pattern of the carry is the union of its patterns in all steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.lax.control_flow.linear_solves import linear_solve_p, split_operands
from olympus_ir.lax.control_flow.operands import ScanLayout, WhileLayout
from olympus_ir.lax.control_flow.primitives import cond_p, scan_p, while_p
from olympus_ir.programs.olympuspr import ClosedOlympuspr

from ..patterns import Flow, identity, merged, relation, select_rows
from ..propagation import flow_rules, numbered, propagate, sparsity_rules

# The maximal number of equations, counted over all steps, of loops that are followed step by step.
_FOLLOWED_EQUATIONS = 20_000


def _define(primitive: Any) -> Any:
    def defined(rule: Any) -> Any:
        flow_rules.add(rule)
        sparsity_rules.define(primitive, rule)
        return rule

    return defined


def _united(first: Flow, second: Flow) -> Flow:
    """Returns the `Flow` of a value that is one of two values."""
    known = first.known
    if known is not None and (second.known is None or not _equal(known, second.known)):
        known = None
    return Flow(first.aval, known, merged([first.pattern, second.pattern]))


def _equal(first: np.ndarray, second: np.ndarray) -> bool:
    return first is second or np.array_equal(first, second)


@_define(cond_p)
def _cond(
    results: Sequence[Any],
    index: Flow,
    *operands: Flow,
    branches: Sequence[ClosedOlympuspr],
    **_: Any,
) -> list[Flow]:
    if index.known is not None:
        chosen = min(max(int(index.known), 0), len(branches) - 1)
        return propagate(branches[chosen], operands)
    first, *others = (propagate(branch, operands) for branch in branches)
    for other in others:
        first = list(map(_united, first, other))
    return first


@_define(linear_solve_p)
def _linear_solve(
    results: Sequence[Any], *operands: Flow, const_lengths: Any, jaxprs: Any
) -> list[Flow]:
    constants, right_hand_sides = split_operands(operands, const_lengths)
    return propagate(jaxprs.solve, [*constants.solve, *right_hand_sides])


def _settled(step: Any, carry: Sequence[Flow]) -> list[Flow]:
    """Returns the union of the carry over any number of steps."""
    carry = list(carry)
    while True:
        after = list(map(_united, carry, step(carry)))
        if list(map(_measure, after)) == list(map(_measure, carry)):
            return after
        carry = after


def _measure(flow: Flow) -> tuple[bool, int]:
    return flow.known is None, 0 if flow.pattern is None else flow.pattern.nnz


@_define(while_p)
def _while(
    results: Sequence[Any],
    *operands: Flow,
    cond_jaxpr: ClosedOlympuspr,
    body_jaxpr: ClosedOlympuspr,
    cond_nconsts: int,
    body_nconsts: int,
    **_: Any,
) -> list[Flow]:
    cond_consts, body_consts, init = WhileLayout(cond_nconsts, body_nconsts).operands(operands)

    def step(carry: Sequence[Flow]) -> list[Flow]:
        return propagate(body_jaxpr, [*body_consts, *carry])

    carry = list(init)
    for _step in range(_FOLLOWED_EQUATIONS // max(len(body_jaxpr.jaxpr.eqns), 1)):
        (going,) = propagate(cond_jaxpr, [*cond_consts, *carry])
        if going.known is None:
            break
        if not np.all(going.known):
            return carry
        carry = step(carry)
    return _settled(step, carry)


@_define(scan_p)
def _scan(
    results: Sequence[Any],
    *operands: Flow,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    **_: Any,
) -> list[Flow]:
    layout = ScanLayout(num_consts, num_carry)
    consts, init, xs = layout.operands(operands)
    if length * max(len(jaxpr.jaxpr.eqns), 1) > _FOLLOWED_EQUATIONS:
        return _long_scan(results, layout, operands, jaxpr, length)
    carry: Sequence[Flow] = init
    rows = []
    for index in reversed(range(length)) if reverse else range(length):
        slices = [_slice(x, index) for x in xs]
        carry, ys = layout.results(propagate(jaxpr, [*consts, *carry, *slices]))
        rows.append(ys)
    if reverse:
        rows.reverse()
    avals = results[num_carry:]
    stacked = [_stacked(aval, [ys[k] for ys in rows]) for k, aval in enumerate(avals)]
    return [*carry, *stacked]


def _slice(x: Flow, index: int) -> Flow:
    aval = x.aval.update(shape=x.shape[1:])
    known = None if x.known is None else x.known[index]
    return Flow(aval, known, select_rows(x.pattern, x.ids[index]))


def _stacked(aval: Any, rows: Sequence[Flow]) -> Flow:
    if any(row.pattern is not None for row in rows):
        ids, pattern = numbered(rows)
        return Flow(aval, pattern=select_rows(pattern, np.stack(ids)))
    known = [row.known for row in rows]
    if not rows or any(value is None for value in known):
        return Flow(aval)
    return Flow(aval, np.stack(known))  # type: ignore[arg-type]


def _long_scan(
    results: Sequence[Any],
    layout: ScanLayout,
    operands: Sequence[Flow],
    jaxpr: ClosedOlympuspr,
    length: int,
) -> list[Flow]:
    """Returns the flows of the results of a scan, without following it step by step.

    The pattern of the carry is the union of its patterns in all steps. A stacked result depends on
    the carry, and on elements of the slices that its own step takes. To find these elements, the
    body is propagated a second time, with a column for each element of a slice.
    """
    consts, init, xs = layout.operands(operands)
    whole = [_any_slice(x) for x in xs]

    def step(carry: Sequence[Flow]) -> Sequence[Flow]:
        return layout.results(propagate(jaxpr, [*consts, *carry, *whole])).carry

    carry = _settled(step, init)
    around = [Flow(flow.aval, flow.known) for flow in whole]
    through_carry = layout.results(propagate(jaxpr, [*consts, *carry, *around])).ys
    own = _own_slices(layout, consts, carry, xs, jaxpr)
    stacked = []
    for aval, shared, local in zip(results[layout.num_carry :], through_carry, own, strict=True):
        size = shared.size
        repeated = select_rows(shared.pattern, np.tile(np.arange(size), length))
        parts = [repeated]
        for x, pattern in zip(xs, local, strict=True):
            if pattern is not None:
                outputs, inputs = pattern.nonzero()
                steps = np.arange(length)[:, None]
                width = x.size // length
                pairs = relation(
                    steps * size + outputs, steps * width + inputs, (length * size, x.size)
                )
                parts.append(pairs @ x.pattern)
        stacked.append(Flow(aval, pattern=merged(parts)))
    return [*carry, *stacked]


def _any_slice(x: Flow) -> Flow:
    """Returns the union of all slices of an operand."""
    aval = x.aval.update(shape=x.shape[1:])
    if x.pattern is None:
        return Flow(aval)
    size = Flow(aval).size
    groups = np.broadcast_to(np.arange(size), (x.shape[0], size)).ravel()
    return Flow(aval, pattern=relation(groups, np.arange(x.size), (size, x.size)) @ x.pattern)


def _own_slices(
    layout: ScanLayout,
    consts: Sequence[Flow],
    carry: Sequence[Flow],
    xs: Sequence[Flow],
    jaxpr: ClosedOlympuspr,
) -> list[list[Any]]:
    """Returns for each stacked result its patterns with respect to the slices of each operand."""
    constant = [Flow(flow.aval, flow.known) for flow in (*consts, *carry)]
    columns = []
    for chosen, x in enumerate(xs):
        slices = [Flow(flow.aval.update(shape=flow.shape[1:])) for flow in xs]
        if x.pattern is not None:
            size = slices[chosen].size
            slices[chosen] = slices[chosen]._replace(pattern=identity(size, size, 0))
            ys = layout.results(propagate(jaxpr, [*constant, *slices])).ys
            columns.append([y.pattern for y in ys])
        else:
            columns.append([None] * (len(jaxpr.jaxpr.outvars) - layout.num_carry))
    count = len(jaxpr.jaxpr.outvars) - layout.num_carry
    return [[column[k] for column in columns] for k in range(count)]
