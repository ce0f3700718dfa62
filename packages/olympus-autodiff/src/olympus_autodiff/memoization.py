# SPDX-License-Identifier: Apache-2.0
"""Memoization of derived programs, such as the jvp of a program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.tracing import current
from olympus_ir.programs.wide_constants import wide_constants_allowed
from olympus_ir.settings import config
from olympus_ir.settings.config_states import enable_x64
from olympus_ir.types import dtypes

Result = TypeVar("Result")


def memoized(function: Callable[..., Result]) -> Callable[..., Result]:
    """Memoizes a function of a program and hashable arguments. The program stores the results."""

    @functools.wraps(function)
    def remembering(closed: ClosedOlympuspr, *args: Any) -> Result:
        key = (function, _without(closed, args), current.axes, config.trace_context())
        memo = closed.memo
        found = memo.get(key)
        if found is None:
            if enable_x64.value or wide_constants_allowed() or not _has_64_bits(closed):
                found = function(closed, *args)
            else:  # the program was traced with 64-bit types enabled
                with enable_x64(True):
                    found = function(closed, *args)
            memo[key] = found
        return found

    return remembering


def _without(closed: ClosedOlympuspr, args: tuple) -> tuple:
    """Returns the arguments with None in place of the program.

    The returned arguments are part of a key in the program's memo. A key that referred to the
    program would make a reference cycle.
    """
    return tuple(
        [
            tuple([None if item is closed else item for item in arg])
            if arg.__class__ is tuple and closed in arg
            else arg
            for arg in args
        ]
    )


def _has_64_bits(closed: ClosedOlympuspr) -> bool:
    """Returns whether any value in a program has a 64-bit dtype."""
    variables = [var for equation in closed.jaxpr.eqns for var in equation.outvars]
    return any(
        getattr(var.aval, "dtype", None) in dtypes.half_width
        for var in (*closed.jaxpr.invars, *variables)
    )
