# SPDX-License-Identifier: Apache-2.0
"""Conditions and loops in kernels, as decorators of functions with side effects on references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike, PyTree

from ..grids.sizes import cdiv
from ..memory.annotations import IntLike

__all__ = ["loop", "unraveled", "when"]


def when(condition: ArrayLike, /) -> Callable[[Callable[[], Any]], None]:
    """Runs the decorated function if a condition holds.

    Args:
      condition: a boolean scalar, known or traced.

    Returns:
      A decorator that calls the function immediately. The function takes no arguments and returns
      nothing.

    Example:
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import pallas_call, program_id
      >>> def kernel(o_ref):
      ...     @when(program_id(0) == 2)
      ...     def _():
      ...         o_ref[...] = 7
      >>> pallas_call(kernel, ShapeDtypeStruct((), "int32"), grid=(4,), interpret=True)()
      Array(7, dtype=int32)
    """

    def run_when(function: Callable[[], Any]) -> None:
        if isinstance(condition, bool | np.bool_):
            if condition:
                function()
            return
        lax.cond(condition, function, lambda: None)

    return run_when


def loop(
    lower: IntLike,
    upper: IntLike,
    *,
    init_carry: PyTree = None,
    step: IntLike = 1,
    unroll: int | bool | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Runs the decorated function for each number of a range.

    Args:
      lower: the first number.
      upper: the end of the range, which is excluded.
      init_carry: initial carry of the loop. If given, the function takes the number and the carry,
        and returns the next carry. Otherwise the function takes only the number.
      step: the distance between the numbers.
      unroll: the number of iterations that one step of the compiled loop does.

    Returns:
      A decorator that runs the loop immediately and returns the last carry.

    Raises:
      TypeError: the function returns a value although there is no carry.

    Example:
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import pallas_call
      >>> def kernel(o_ref):
      ...     @loop(0, 4)
      ...     def _(i):
      ...         o_ref[i] = i * i
      >>> pallas_call(kernel, ShapeDtypeStruct((4,), "int32"), interpret=True)()
      Array([0, 1, 4, 9], dtype=int32)
    """

    def run_loop(body: Callable[..., Any]) -> Any:
        def one(number: Any, carry: Any) -> Any:
            index = lower + number * step
            if init_carry is not None:
                return body(index, carry)
            result = body(index)
            if result is not None:
                raise TypeError(
                    "a function that pl.loop runs without init_carry returns nothing, got "
                    f"{result!r}: the carry output differs in structure from the carry input"
                )
            return None

        return lax.fori_loop(0, cdiv(upper - lower, step), one, init_carry, unroll=unroll)

    return run_loop


def unraveled(number: Any, sizes: Sequence[int]) -> tuple[Any, ...]:
    """Returns the indices of an element of an array, given its flat (row-major) index.

    Args:
      number: the flat index, an int32 scalar.
      sizes: the array's shape.

    Returns:
      One int32 scalar for each dimension.
    """
    position: list[Any] = []
    for size in reversed(sizes[1:]):
        position.append(lax.rem(number, np.int32(size)))
        number = lax.div(number, np.int32(size))
    return (number, *reversed(position)) if sizes else ()
