# SPDX-License-Identifier: Apache-2.0
"""Compares the times of models with and without checks.

Each call waits for its result, because a checked function waits for its flag. Short rounds
alternate between the two functions, and the minimum over the rounds counts, because other processes
disturb long rounds. The table shows wall time and processor time.

Usage: python -m benchmarks.checked_models [part of a model's name ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .models import MODELS
from .workloads import library

SECONDS_OF_ROUND = 1e-3
SECONDS_OF_MODEL = 6.0


class Times(NamedTuple):
    """Seconds of one call."""

    clock: float
    processor: float


def awaited(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> Times:
    """Returns the mean times of a call."""
    top = library("olympus").top
    clock, processor = time.perf_counter(), time.process_time()
    for _ in range(calls):
        top.block_until_ready(function(*arguments))
    return Times((time.perf_counter() - clock) / calls, (time.process_time() - processor) / calls)


def least(rounds: list[Times]) -> Times:
    return Times(*map(min, zip(*rounds, strict=True)))


def times(name: str) -> tuple[Times, Times]:
    """Returns the times of a model and of its checked form."""
    lib = library("olympus")
    function, arguments = MODELS[name](lib)[:2]
    arguments = lib.top.device_put(arguments)
    plain, checked = lib.top.jit(function), lib.top.checked(function)
    for each in (plain, checked):
        awaited(each, arguments, 2)
    first = least([awaited(plain, arguments, 1) for _ in range(5)])
    calls = max(1, int(SECONDS_OF_ROUND / first.clock))
    rounds: tuple[list[Times], list[Times]] = ([], [])
    end = time.perf_counter() + SECONDS_OF_MODEL
    while time.perf_counter() < end:
        for each, found in zip((plain, checked), rounds, strict=True):
            found.append(awaited(each, arguments, calls))
    return least(rounds[0]), least(rounds[1])


def main(*parts: str) -> None:
    for name in MODELS:
        if not parts or any(part in name for part in parts):
            plain, checked = times(name)
            ratios = [b / a for a, b in zip(plain, checked, strict=True)]
            print(
                f"| {name} | {plain.clock * 1e3:.3f} ms | {ratios[0]:.2f} | {ratios[1]:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
