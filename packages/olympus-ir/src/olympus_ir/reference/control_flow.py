# SPDX-License-Identifier: Apache-2.0
"""Reference rules of control flow, as Python's loops and conditionals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lax.control_flow.linear_solves import LinearSolveParts, linear_solve_p, split_operands
from ..lax.control_flow.operands import ScanLayout, WhileLayout
from ..lax.control_flow.platforms import index_of_platform, platform_index_p
from ..lax.control_flow.primitives import cond_p, scan_p, stacked_aval, while_p
from ..lax.indexing.slicing import index_in_dim
from ..lax.shaping.broadcasting import expand_dims
from ..lax.shaping.creation import empty
from ..lax.shaping.rearrangement import concatenate
from ..loading import deferred
from ..programs.evaluation import eval_olympuspr
from ..programs.olympuspr import ClosedOlympuspr
from ..types.avals import get_aval
from .runs import run, typed
from .tables import reference_rules, takes_arrays

if TYPE_CHECKING:
    from ..lax.control_flow import predicates
    from ..references import primitives as references
else:
    predicates = deferred("..lax.control_flow.predicates", milliseconds=0.3)
    references = deferred("..references.primitives", milliseconds=6.0)


@reference_rules.define(cond_p)
@takes_arrays
def cond(
    index: Any, *operands: Any, branches: Sequence[ClosedOlympuspr], **params: Any
) -> list[Any]:
    position, last = int(index), len(branches) - 1
    # XLA runs the last branch for indices that are out of range.
    return run(branches[position if 0 <= position <= last else last], operands)


@reference_rules.define(while_p)
@takes_arrays
def while_loop(*operands: Any, **params: Any) -> list[Any]:
    if params["cond_jaxpr"].out_avals[0].shape:
        return _while_loop(*predicates.with_scalar_condition(operands, params))
    return _while_loop(operands, params)


def _while_loop(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts, carry = WhileLayout.of(params).operands(operands)
    while True:
        (go_on,) = eval_olympuspr(cond_jaxpr.jaxpr, cond_jaxpr.consts, *cond_consts, *carry)
        if not go_on:
            return [typed(v, aval) for v, aval in zip(carry, body_jaxpr.out_avals, strict=True)]
        carry = run(body_jaxpr, [*body_consts, *carry])


@reference_rules.define(scan_p)
@takes_arrays
def scan(
    *operands: Any,
    jaxpr: ClosedOlympuspr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> list[Any]:
    layout = ScanLayout(num_consts, num_carry)
    consts, carry, xs = layout.operands(operands)
    avals = layout.results(jaxpr.out_avals)
    scanned = [_ScannedReference(x) if get_aval(x).is_ref else x for x in xs]
    stacks: list[list[Any]] = [[] for _ in avals.ys]
    for position in reversed(range(length)) if reverse else range(length):
        slices = [_slice(x, position) for x in scanned]
        carry, ys = layout.results(run(jaxpr, [*consts, *carry, *slices]))
        for stack, y in zip(stacks, ys, strict=True):
            stack.append(y)
    for x in scanned:
        if isinstance(x, _ScannedReference):
            x.write_back(reverse)
    return [
        *(typed(value, aval) for value, aval in zip(carry, avals.carry, strict=True)),
        *(
            _stacked(stack, reverse, stacked_aval(aval, length))
            for stack, aval in zip(stacks, avals.ys, strict=True)
        ),
    ]


class _ScannedReference:
    """A reference that `scan` takes in slices.

    Each iteration receives a new reference to its slice. After the loop, the values of the new
    references are stacked and written back.
    """

    def __init__(self, reference: Any) -> None:
        self.reference = reference
        self.array = reference._current()
        self.slices: list[Any] = []

    def new_slice(self, position: int) -> Any:
        """Returns a new reference to a slice."""
        part = references.new_ref(index_in_dim(self.array, position, keepdims=False))
        self.slices.append(part)
        return part

    def write_back(self, reverse: bool) -> None:
        """Writes the values of all slices, which are in the order of the iterations."""
        if self.slices:
            values = [part._current() for part in self.slices]
            aval = get_aval(self.reference).inner_aval
            self.reference._replace(_stacked(values, reverse, aval))


def _slice(x: Any, position: int) -> Any:
    """Returns the slice of a scanned operand that one iteration receives."""
    if isinstance(x, _ScannedReference):
        return x.new_slice(position)
    return index_in_dim(x, position, keepdims=False)


def _stacked(slices: list[Any], reverse: bool, aval: Any) -> Any:
    """Stacks slices, which are in the order of the iterations, to an array of a type."""
    if not slices:
        return typed(empty(aval.shape, aval.dtype), aval)
    parts = [expand_dims(part, (0,)) for part in (reversed(slices) if reverse else slices)]
    return typed(concatenate(parts, 0), aval)


@reference_rules.define(platform_index_p)
def platform_index(*, platforms: Any) -> np.ndarray:
    return np.asarray(index_of_platform(platforms, "cpu"), np.int32)


@reference_rules.define(linear_solve_p)
@takes_arrays
def linear_solve(
    *operands: Any, const_lengths: LinearSolveParts, jaxprs: LinearSolveParts
) -> list[Any]:
    consts, right_hand_sides = split_operands(operands, const_lengths)
    return run(jaxprs.solve, [*consts.solve, *right_hand_sides])
