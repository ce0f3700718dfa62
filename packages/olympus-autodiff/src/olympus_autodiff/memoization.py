# SPDX-License-Identifier: Apache-2.0
"""Memoization of programs derived from a program, which are traced and compiled once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.tracing import current
from olympus_ir.settings import config

Result = TypeVar("Result")


def memoized(function: Callable[..., Result]) -> Callable[..., Result]:
    """Decorator that memoizes a function of a program and hashable arguments, in the program."""

    @functools.wraps(function)
    def remembering(closed: ClosedOlympuspr, *args: Any) -> Result:
        key = (function, args, current.axes, config.trace_context())
        memo = closed.memo
        found = memo.get(key)
        if found is None:
            found = memo[key] = function(closed, *args)
        return found

    return remembering
