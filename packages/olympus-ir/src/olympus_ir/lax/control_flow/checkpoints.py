# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of loops: the states that reverse mode keeps instead of recomputing them."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

from ...diagnostics.errors import ConcretizationTypeError
from ...programs.olympuspr import ClosedOlympuspr
from ...programs.tracing import Tracer

__all__ = [
    "DEFAULT_CHECKPOINTS",
    "Checkpoints",
    "checked_number",
    "checkpoints_of_scan",
    "checkpoints_of_while",
]

# The default number of checkpoints of a loop that needs checkpoints.
DEFAULT_CHECKPOINTS = 32


class Checkpoints(NamedTuple):
    """A plan for the reverse mode of a loop: the parameter ``checkpoints`` of an equation.

    Without the parameter, the primitive's usual derivative rules apply.

    Attributes:
      number: the number of states that are kept while the loop runs; an even number.
      block: the number of consecutive states that are recomputed together.
      inverse: the program that undoes an iteration, with the inputs and results of the body. With
        an inverse, no state is kept.
      offloads: whether to keep the residuals of every iteration in host memory. Then no state is
        recomputed.
    """

    number: int
    block: int
    inverse: ClosedOlympuspr | None = None
    offloads: bool = False

    def recomputing(self) -> Checkpoints:
        """Returns the plan for a loop that is derived from this plan's loop.

        An inverse does not fit the derived loop, so the default number of checkpoints replaces it.
        """
        if self.inverse is None:
            return self
        return Checkpoints(DEFAULT_CHECKPOINTS, DEFAULT_CHECKPOINTS)


def checkpoints_of_while(checkpoints: Any, max_steps: int | None) -> Checkpoints | None:
    """Returns the plan of a loop with a condition; None if no option requests reverse mode.

    Raises:
      ValueError: if ``checkpoints`` is not a positive integer.
    """
    if checkpoints is None:
        return None if max_steps is None else Checkpoints(_even(max_steps), 1)
    # The argument is already a plan if this loop is derived from the equation of another loop.
    if isinstance(checkpoints, Checkpoints):
        return checkpoints.recomputing()
    number = checked_number("while_loop", "checkpoints", checkpoints)
    return Checkpoints(_even(number), number)


def checkpoints_of_scan(checkpoints: Any, length: Any) -> Checkpoints | None:
    """Returns the plan of a loop of known length; None if ``checkpoints`` is None.

    Raises:
      ValueError: if ``checkpoints`` is neither a known name nor a positive integer, or the length
        is symbolic.
    """
    if checkpoints is None or isinstance(checkpoints, Checkpoints):
        return checkpoints
    name = checkpoints if isinstance(checkpoints, str) else None
    if name == "offload":
        return Checkpoints(0, 0, offloads=True)
    if not isinstance(length, int):
        raise ValueError(
            f"scan got checkpoints={checkpoints!r} with the symbolic length {length}: the plan of "
            'checkpoints needs a known length. Use checkpoints="offload", or fix the length.'
        )
    if name == "sqrt":
        number = math.isqrt(max(length - 1, 0)) + 1
        return Checkpoints(_even(number), number)
    if name == "binomial":
        number = max(length - 1, 1).bit_length()
        return Checkpoints(_even(number), number)
    if name is not None:
        raise ValueError(
            f"scan got checkpoints={checkpoints!r}; it accepts 'sqrt', 'binomial', 'offload' or "
            "a number of checkpoints."
        )
    number = checked_number("scan", "checkpoints", checkpoints)
    return Checkpoints(_even(number), max(-(-length // _even(number)), 1))


def checked_number(function: str, argument: str, value: Any) -> int:
    """Returns an argument as a positive integer.

    Raises:
      ValueError: if the argument is not a positive integer.
      ConcretizationTypeError: if the argument is traced.
    """
    if isinstance(value, Tracer) and value.concrete_or_none() is None:
        raise ConcretizationTypeError(
            value, f"The `{argument}` argument to `{function}` expects a concrete `int` value."
        )
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"{function} got {argument}={value!r}; it must be a positive integer.")
    return number


def _even(number: int) -> int:
    """Rounds a number of checkpoints up to an even number.

    A loop with more states than checkpoints drops every second checkpoint when all are in use.
    """
    return number + number % 2
