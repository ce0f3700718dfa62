# SPDX-License-Identifier: Apache-2.0
"""Rules by which ``debug_key_reuse`` finds random keys that are used twice.

The check is in `olympus_ir.debugger.key_reuse`. It keeps the marks of each key array: an array of
integers with one mark for each key. The mark of an unused key is 0, and the mark of a consumed key
is the number of the operation that consumed it. A rule consumes keys of an operation's operands and
returns the marks of the operation's first result. An operation without a rule consumes nothing, and
its results are new keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .rules import RuleTable

if TYPE_CHECKING:
    import numpy as np

    from .olympuspr import Equation

__all__ = ["KeyOperation", "KeyRule", "Marks", "consume_operands", "key_rules", "pass_operand"]

#: The marks of a key array; None for a value that is not a key array, or whose keys are new.
Marks: TypeAlias = "np.ndarray | None"


class KeyOperation(Protocol):
    """An operation on keys, as rules see it.

    Attributes:
      equation: the equation of the operation.
      operands: the marks of the operands.
      indices: a mapping from integer variables to their values, where these are known.
    """

    equation: Equation
    operands: Sequence[Marks]
    indices: Mapping[Any, int]

    def consume(self, position: int) -> None:
        """Marks all keys of an operand as consumed.

        Raises:
          KeyReuseError: a key has been consumed before.
        """


#: A function that consumes keys of operands and returns the marks of the operation's first result.
KeyRule: TypeAlias = Callable[[KeyOperation], Marks]

key_rules: RuleTable[KeyRule] = RuleTable("key reuse", package="olympus_ir", folder=None)


def consume_operands(operation: KeyOperation) -> Marks:
    """Consumes all keys among the operands. The keys of the result are new."""
    for position, marks in enumerate(operation.operands):
        if marks is not None:
            operation.consume(position)
    return None


def pass_operand(operation: KeyOperation) -> Marks:
    """Returns the marks of the first operand, in the shape of the result."""
    marks = operation.operands[0]
    return None if marks is None else marks.reshape(operation.equation.outvars[0].aval.shape)
