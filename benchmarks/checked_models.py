# SPDX-License-Identifier: Apache-2.0
"""Time of checked functions beside the functions themselves, for the models of `models`.

Both are awaited, because a checked function waits for its flag. The times are processor times, the
least of rounds that alternate between the two.

Usage: python -m benchmarks.checked_models [part of a model's name ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .models import MODELS
from .workloads import library

ROUNDS = 15
SECONDS_OF_ROUND = 0.05


def awaited(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    """The processor time of one call, in seconds."""
    top = library("olympus").top
    before = time.process_time()
    for _ in range(calls):
        top.block_until_ready(function(*arguments))
    return (time.process_time() - before) / calls


def ratio(name: str) -> tuple[float, float]:
    """The times of a model and of its checked form, in seconds."""
    lib = library("olympus")
    function, arguments = MODELS[name](lib)[:2]
    arguments = lib.top.device_put(arguments)
    plain, checked = lib.top.jit(function), lib.top.checked(function)
    for each in (plain, checked):
        awaited(each, arguments, 2)
    calls = max(1, int(SECONDS_OF_ROUND / awaited(plain, arguments, 1)))
    times = [[awaited(each, arguments, calls) for each in (plain, checked)] for _ in range(ROUNDS)]
    return min(each[0] for each in times), min(each[1] for each in times)


def main(*parts: str) -> None:
    for name in MODELS:
        if not parts or any(part in name for part in parts):
            plain, checked = ratio(name)
            print(f"| {name} | {plain * 1e3:.3f} ms | {checked / plain:.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
