# SPDX-License-Identifier: Apache-2.0
"""Loops whose iterations run in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir import lax
from olympus_ir.types.annotations import PyTree

from ..grids.sizes import cdiv
from ..memory.annotations import IntLike

__all__ = ["parallel_loop"]


def parallel_loop(
    lower: IntLike, upper: IntLike, step: IntLike = 1, *, unroll: int = 1, carry: PyTree = None
) -> Callable[[Callable[..., Any]], Any]:
    """Runs the decorated function for the numbers of a range, in any order.

    Args:
      lower: the first number.
      upper: the end of the range, which is excluded.
      step: the distance between the numbers.
      unroll: the number of iterations that one step of the compiled loop does.
      carry: initial carry of the loop. If given, the function takes the number and the carry, and
        returns the next carry.

    Returns:
      A decorator that runs the loop immediately and returns the last carry.
    """

    def run(body: Callable[..., Any]) -> Any:
        def one(number: Any, value: Any) -> Any:
            index = lower + number * step
            if carry is None:
                body(index)
                return None
            return body(index, value)

        return lax.fori_loop(0, cdiv(upper - lower, step), one, carry, unroll=unroll)

    return run
