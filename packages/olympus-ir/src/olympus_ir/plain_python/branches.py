# SPDX-License-Identifier: Apache-2.0
"""Conditionals on traced values.

Both blocks are traced, and each variable gets one type for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..lax.control_flow.conditionals import cond
from ..programs.evaluation import eval_olympuspr
from ..programs.olympuspr import ClosedOlympuspr
from ..programs.staging import trace_to_closed
from ..types.avals import AbstractValue
from .variables import (
    Undefined,
    Value,
    converted,
    copied,
    flattened,
    is_array,
    is_number,
    joined_type,
    placeholder,
    same_constant,
    shown,
)


class _Slot:
    """Position of an array among the results of a block's program."""

    __slots__ = ("aval", "index")

    def __init__(self, index: int, aval: Any) -> None:
        self.index = index
        self.aval = aval


class Block(NamedTuple):
    """A traced block.

    Attributes:
      program: the program that computes the arrays of the block.
      values: the variables after the block. A `_Slot` replaces each array among the leaves.
    """

    program: ClosedOlympuspr
    values: list[Value]

    def run(self, operands: Sequence[Any] = ()) -> list[Value]:
        """Runs the program in the current trace, and returns the variables' new values."""
        results = eval_olympuspr(self.program.jaxpr, self.program.consts, *operands)
        return [
            Value(
                tree, [results[leaf.index] if isinstance(leaf, _Slot) else leaf for leaf in leaves]
            )
            for tree, leaves in self.values
        ]

    def types(self) -> list[Value]:
        """Returns the variables with each array replaced by its type."""
        return [
            Value(tree, [leaf.aval if isinstance(leaf, _Slot) else leaf for leaf in leaves])
            for tree, leaves in self.values
        ]


def traced_block(fun: Callable[..., Sequence[Any]], avals: Sequence[Any] = ()) -> Block:
    """Traces a block once.

    Args:
      fun: a function that runs the block and returns the values of its variables.
      avals: the types of the operands.
    """
    values: list[Value] = []

    def arrays(*operands: Any) -> list[Any]:
        results: list[Any] = []
        for value in fun(*operands):
            tree, leaves = flattened(value)
            values.append(Value(tree, [slot(leaf, results) for leaf in leaves]))
        return results

    def slot(leaf: Any, results: list[Any]) -> Any:
        if not is_array(leaf):
            return leaf
        results.append(leaf)
        return _Slot(len(results) - 1, None)

    program = trace_to_closed(arrays, avals)
    for value in values:
        for leaf in value.leaves:
            if isinstance(leaf, _Slot):
                leaf.aval = program.out_avals[leaf.index]
    return Block(program, values)


def traced_if(
    condition: Any,
    then: Callable[..., Sequence[Any]],
    orelse: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    names: Sequence[str],
    line: int,
) -> list[Any]:
    """Applies one of two blocks, selected by a traced condition.

    Args:
      condition: a traced boolean scalar.
      then: the block for a true condition, a function that takes the variables and returns their
        new values.
      orelse: the block for a false condition.
      values: the variables before the conditional.
      names: the names of the variables that the blocks return.
      line: the line of the statement, for error messages.

    Returns:
      The variables after the conditional.

    Raises:
      TypeError: a variable has two structures, shapes or constants after the blocks.
    """
    blocks = [
        _traced_side(fun, values, line, side) for fun, side in ((then, "true"), (orelse, "false"))
    ]
    sides = zip(blocks[0].types(), blocks[1].types(), names, strict=True)
    plans = [_join(left, other, name, line) for left, other, name in sides]

    def side(number: int) -> Callable[[], list[Any]]:
        return lambda: [
            leaf
            for plan, value in zip(plans, blocks[number].run(), strict=True)
            for leaf in plan.selected(value)
        ]

    selected = iter(cond(condition, side(0), side(1)))
    return [plan.result(selected) for plan in plans]


def _traced_side(
    fun: Callable[..., Sequence[Any]], values: Sequence[Any], line: int, side: str
) -> Block:
    try:
        return traced_block(lambda: fun(*copied(values)))
    except Exception as error:
        error.add_note(
            f"The condition on line {line} is traced, so both of its sides are traced; this error "
            f"came from the side for a {side} condition. Errors that depend on values need "
            "olympus.experimental.checkify."
        )
        raise


class _Plan(NamedTuple):
    """Plan of one variable after a conditional.

    Attributes:
      tree: the structure.
      leaves: for each leaf, the constant, or the type if the condition selects the leaf.
      is_type: for each leaf, whether ``leaves`` holds a type.
    """

    tree: Any
    leaves: list[Any]
    is_type: list[bool]

    def selected(self, value: Value) -> list[Any]:
        """Returns the leaves of one side of the condition, converted to the common types."""
        leaves = value.leaves if not value.is_not_returned else self.leaves
        return [
            converted(placeholder(leaf) if value.is_not_returned else leaf, aval)
            for leaf, aval, is_type in zip(leaves, self.leaves, self.is_type, strict=True)
            if is_type
        ]

    def result(self, selected: Any) -> Any:
        leaves = [
            next(selected) if is_type else leaf
            for leaf, is_type in zip(self.leaves, self.is_type, strict=True)
        ]
        return Value(self.tree, leaves).unflattened()


def _join(then: Value, orelse: Value, name: str, line: int) -> _Plan:
    """Returns the plan for a variable, given its types after both sides."""
    if then.is_undefined or orelse.is_undefined:
        reason = (
            f"only one side of the condition on line {line} assigns it. Assign it before the "
            "condition."
        )
        if then.is_undefined and orelse.is_undefined:
            reason = ""
        nothing = flattened(Undefined(name, reason))
        return _Plan(nothing.tree, nothing.leaves, [False])
    if then.is_not_returned or orelse.is_not_returned:
        returned = orelse if then.is_not_returned else then
        return _Plan(returned.tree, returned.leaves, [_is_type(leaf) for leaf in returned.leaves])
    label = label_of(name)
    if then.tree != orelse.tree:
        raise TypeError(
            f"{label} has two structures after the condition on line {line}, which is traced: "
            f"{then.tree} where it is true and {orelse.tree} where it is false."
        )
    leaves, is_type = [], []
    for left, other in zip(then.leaves, orelse.leaves, strict=True):
        if not _is_type(left) and not _is_type(other) and same_constant(left, other):
            leaves.append(left)
            is_type.append(False)
            continue
        aval = None
        if _is_selectable(left) and _is_selectable(other):
            aval = joined_type(left, other)
        if aval is None:
            raise TypeError(
                f"{label} has two types after the condition on line {line}, which is traced: "
                f"{shown(left)} where it is true and {shown(other)} where it is false. Both sides "
                "must produce arrays or numbers of the same shape."
            )
        leaves.append(aval)
        is_type.append(True)
    return _Plan(then.tree, leaves, is_type)


def _is_type(leaf: Any) -> bool:
    return isinstance(leaf, AbstractValue)


def _is_selectable(leaf: Any) -> bool:
    return _is_type(leaf) or is_number(leaf)


def label_of(name: str) -> str:
    """Returns the words that stand for a variable in error messages."""
    return "The result of the function" if name.startswith("_olympus") else f"The variable `{name}`"
