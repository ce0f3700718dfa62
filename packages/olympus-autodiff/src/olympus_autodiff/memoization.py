# SPDX-License-Identifier: Apache-2.0
"""Remembering what has been made of a program, so that it is traced and compiled once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.tracing import current
from olympus_ir.settings import config

Result = TypeVar("Result")


def memoized(function: Callable[..., Result]) -> Callable[..., Result]:
    """Decorator of functions of a program and hashable arguments: keeps results with it."""

    @functools.wraps(function)
    def remembering(closed: ClosedOlympuspr, *args: Any) -> Result:
        key = (function, args, current.axes, config.trace_context())
        memo = closed.memo
        found = memo.get(key)
        if found is None:
            found = memo[key] = function(closed, *args)
        return found

    return remembering
