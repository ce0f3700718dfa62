# SPDX-License-Identifier: Apache-2.0
"""Loops with traced conditions, whose variables become the carry of one `lax.while_loop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..lax.control_flow.checkpoints import DEFAULT_CHECKPOINTS
from ..lax.control_flow.loops import while_loop
from ..types.avals import AbstractValue
from .branches import Block, label_of, traced_block
from .variables import (
    Undefined,
    Value,
    converted,
    flattened,
    is_number,
    joined_type,
    placeholder,
    same_constant,
    shown,
    type_of,
)


class _Carry(NamedTuple):
    """The variables before an iteration, split into types and carried arrays.

    Attributes:
      values: the variables, with each carried leaf replaced by its type.
      initial: the initial values of the carried leaves.
    """

    values: list[Value]
    initial: list[Any]

    @property
    def avals(self) -> list[Any]:
        return [leaf for value in self.values for leaf in value.leaves if _is_carried(leaf)]

    def filled(self, arrays: Sequence[Any]) -> list[Any]:
        """Returns the variables, with arrays filled in for the carried leaves."""
        remaining = iter(arrays)
        return [
            Value(
                tree, [next(remaining) if _is_carried(leaf) else leaf for leaf in leaves]
            ).unflattened()
            for tree, leaves in self.values
        ]


def _is_carried(leaf: Any) -> bool:
    return isinstance(leaf, AbstractValue)


def traced_while(
    test: Callable[..., Any],
    body: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    names: Sequence[str],
    line: int,
    fillable: Sequence[str] = (),
) -> list[Any]:
    """Repeats a block while a traced condition holds.

    Args:
      test: a function of the variables that returns the condition.
      body: a function that takes the variables and returns their new values.
      values: the variables before the loop.
      names: the names of the variables.
      line: the line of the statement, for error messages.
      fillable: the names of variables that need no value before the loop. After a loop without
        iterations they are zero.

    Returns:
      The variables after the loop.

    Raises:
      TypeError: the structure, the shape or a constant of a variable changes in an iteration.
    """
    carry = _initial_carry(values)
    while True:
        block = _traced_iteration(body, carry, line)
        wider = _wider_carry(carry, block, names, line, fillable)
        if wider is None:
            break
        carry = wider
    condition = traced_block(lambda *arrays: [test(*carry.filled(arrays))], carry.avals)
    kept = [[_is_carried(leaf) for leaf in value.leaves] for value in carry.values]

    def advance(arrays: Sequence[Any]) -> list[Any]:
        after = block.run(arrays)
        leaves = [
            leaf
            for value, flags in zip(after, kept, strict=True)
            for leaf, is_kept in zip(value.leaves, flags, strict=True)
            if is_kept
        ]
        return [converted(leaf, aval) for leaf, aval in zip(leaves, carry.avals, strict=True)]

    def goes_on(arrays: Sequence[Any]) -> Any:
        (value,) = condition.run(arrays)
        return value.unflattened()

    initial = [converted(leaf, aval) for leaf, aval in zip(carry.initial, carry.avals, strict=True)]
    state = while_loop(goes_on, advance, initial, checkpoints=DEFAULT_CHECKPOINTS)
    final = carry.filled(state)
    return [_after_loop(value, name, line) for value, name in zip(final, names, strict=True)]


def _initial_carry(values: Sequence[Any]) -> _Carry:
    initial: list[Any] = []
    result = []
    for value in values:
        tree, leaves = flattened(value)
        carried = [leaf for leaf in leaves if is_number(leaf)]
        initial += carried
        avals = [type_of(leaf) if is_number(leaf) else leaf for leaf in leaves]
        result.append(Value(tree, avals))
    return _Carry(result, initial)


def _traced_iteration(body: Callable[..., Sequence[Any]], carry: _Carry, line: int) -> Block:
    try:
        return traced_block(lambda *arrays: body(*carry.filled(arrays)), carry.avals)
    except Exception as error:
        error.add_note(f"The loop on line {line} is traced: this error came from its body.")
        raise


def _wider_carry(
    carry: _Carry, block: Block, names: Sequence[str], line: int, fillable: Sequence[str]
) -> _Carry | None:
    """Returns the wider carry that an iteration needs; None if the types do not change.

    A variable that has no value before the loop is carried only if it is `fillable`.
    """
    initial = iter(carry.initial)
    values, starts, changed = [], [], False
    for before, after, name in zip(carry.values, block.types(), names, strict=True):
        own = [next(initial) for leaf in before.leaves if _is_carried(leaf)]
        adopts = before.is_not_returned or (before.is_undefined and name in fillable)
        if adopts and not (after.is_undefined or after.is_not_returned):
            types = [type_of(leaf) if is_number(leaf) else leaf for leaf in after.leaves]
            values.append(Value(after.tree, types))
            starts += [placeholder(aval) for aval in types if _is_carried(aval)]
            changed = True
        elif before.is_undefined or before.is_not_returned:
            values.append(before)
        else:
            joined = _joined(before, after, name, line)
            changed = changed or joined != before
            values.append(joined)
            starts += own
    return _Carry(values, starts) if changed else None


def _joined(before: Value, after: Value, name: str, line: int) -> Value:
    """Returns a variable whose type fits its values both before and after an iteration."""
    label = label_of(name)
    if after.is_undefined or before.tree != after.tree:
        raise TypeError(
            f"{label} changes its structure in the loop on line {line}, which is traced: it is "
            f"{before.tree} before an iteration and {after.tree} after it."
        )
    leaves = []
    for first, second in zip(before.leaves, after.leaves, strict=True):
        if not _is_carried(first):
            joined = first if same_constant(first, second) else None
        else:
            selectable = _is_carried(second) or is_number(second)
            joined = joined_type(first, second) if selectable else None
        if joined is None and not (first is None and second is None):
            raise TypeError(
                f"{label} changes its type in the loop on line {line}, which is traced: it is "
                f"{shown(first)} before an iteration and {shown(second)} after it. A variable of a "
                "traced loop keeps its shape, and values that are not numbers do not change."
            )
        leaves.append(joined)
    return Value(before.tree, leaves)


def _after_loop(value: Any, name: str, line: int) -> Any:
    if isinstance(value, Undefined):
        return Undefined(
            name,
            f"only the loop on line {line} assigns it, which may run zero times. Assign it before "
            "the loop.",
        )
    return value
