# SPDX-License-Identifier: Apache-2.0
"""Memoization of programs derived from a program, which are traced and compiled once."""

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
    """Decorator that memoizes a function of a program and hashable arguments, in the program."""

    @functools.wraps(function)
    def remembering(closed: ClosedOlympuspr, *args: Any) -> Result:
        key = (function, args, current.axes, config.trace_context())
        memo = closed.memo
        found = memo.get(key)
        if found is None:
            if enable_x64.value or wide_constants_allowed() or not _has_64_bits(closed):
                found = function(closed, *args)
            else:  # the program was traced where 64-bit types were enabled
                with enable_x64(True):
                    found = function(closed, *args)
            memo[key] = found
        return found

    return remembering


def _has_64_bits(closed: ClosedOlympuspr) -> bool:
    """Returns whether a value of a program has a dtype of 64 bits."""
    variables = [var for equation in closed.jaxpr.eqns for var in equation.outvars]
    return any(
        getattr(var.aval, "dtype", None) in dtypes.half_width
        for var in (*closed.jaxpr.invars, *variables)
    )
