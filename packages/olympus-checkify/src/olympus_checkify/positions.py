# SPDX-License-Identifier: Apache-2.0
"""Positions of errors: the iteration of each loop around the check that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.source_info import summarize
from olympus_ir.programs.olympuspr import Equation

from .errors import CheckError, Error, ErrorCategory, ErrorEffect, Site, new_code
from .tables import Enabled

__all__ = ["IterationError", "Position"]


class IterationError(CheckError):
    """Kind of entry that holds the iteration in which the first check of a loop's body failed.

    Each loop has a subclass.
    """

    @staticmethod
    def message(site: Site, payload: Sequence[Any]) -> str:
        step, (reversed_length,) = int(payload[0]), site.details
        element = (
            ""
            if reversed_length is None
            else f" (element {reversed_length - 1 - step}: the loop runs in reverse)"
        )
        return f"iteration {step}{element} of the loop at {summarize(site.source)}"


class Position:
    """The iteration of one loop, as an entry of the error.

    Attributes:
      site: the entry's site, whose kind belongs to the loop.
      code: the number that identifies the entry.
    """

    def __init__(self, equation: Equation) -> None:
        self.code = new_code()
        kind: ErrorCategory = type(f"IterationError{self.code:06d}", (IterationError,), {})
        reversed_length = equation.params["length"] if equation.params.get("reverse") else None
        self.site = Site(kind, (reversed_length,), equation.source_info)

    @staticmethod
    def of(equation: Equation, enabled: Enabled) -> Position | None:
        """Returns the position of a loop; None if positions are not enabled."""
        if IterationError not in enabled:
            return None
        key = "jaxpr" if "jaxpr" in equation.params else "body_jaxpr"
        memo = equation.params[key].memo
        found = memo.get(("position", id(equation)))
        if found is None:
            found = memo["position", id(equation)] = Position(equation)
        return found

    @property
    def effect(self) -> ErrorEffect:
        return ErrorEffect(self.site.kind, (((), "int32", False),))

    def noted(self, before: Any, error: Error, step: Any, effects: Sequence[ErrorEffect]) -> Error:
        """Returns the error, with the index of the iteration if a check failed in this iteration.

        Args:
          before: whether a check had failed before the iteration.
          error: the error after the iteration.
          step: the index of the iteration.
          effects: the entries of the body's checks.
        """
        failed = lax.bitwise_and(lax.bitwise_not(before), any_failed(error, effects))
        error = error.merged(self.effect, failed, self.code, [step], {self.code: self.site})
        return error


def any_failed(error: Error, effects: Sequence[ErrorEffect]) -> Any:
    """Returns whether an error of one of the given effects has occurred."""
    result: Any = np.asarray(False)
    for effect in effects:
        pred = error._pred[effect]
        pred = lax.reduce_or(pred, tuple(range(np.ndim(pred)))) if np.ndim(pred) else pred
        result = lax.bitwise_or(result, pred)
    return result
