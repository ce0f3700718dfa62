# SPDX-License-Identifier: Apache-2.0
"""Measures one library in this process and prints the figures as JSON.

``python -m benchmarks`` runs this module once in each round with each library's interpreter.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import (  # noqa: F401 - they fill the table
    calls,
    eager,
    first_models,
    first_use,
    operations,
    programs,
    unrolled,
    wider_unrolled,
    workloads,
)

# A number of calls after which the program of an operation has been compiled.
_WARM_CALLS = 50


def leaves(result: Any) -> Iterator[np.ndarray]:
    """Yields the arrays in a result, in the same order for the containers of both libraries."""
    if isinstance(result, dict):
        for key in sorted(result):
            yield from leaves(result[key])
    elif isinstance(result, list | tuple):
        for each in result:
            yield from leaves(each)
    elif result is not None:
        flat = np.asarray(result)
        if flat.dtype == np.bool_ or flat.dtype.kind not in "fiu":
            flat = flat.astype(np.float32)
        yield flat.astype(np.float64).ravel()


def summary(result: Any) -> list[float]:
    """Returns a few numbers of a result, by which the results of the libraries are compared."""
    arrays = list(leaves(result))
    flat = np.concatenate(arrays) if arrays else np.zeros(0)
    return [float(flat.size), float(flat.sum()), float(np.abs(flat).sum())]


def time_call(function: Any, seconds: float) -> tuple[float, float]:
    """Returns median processor and wall time of a call, repeated for about ``seconds`` seconds."""
    if hasattr(function, "setup"):
        return _time_call_with_setup(function, seconds)
    once = _warmed_up(function)
    repetitions = max(1, min(2000, int(seconds / 7 / once)))
    batches = 7 if once * 7 < 5 * seconds else 3
    processor, wall = [], []
    gc.collect()
    gc.disable()
    for _ in range(batches):
        wall_start, processor_start = time.perf_counter(), time.thread_time()
        for _ in range(repetitions):
            function()
        processor.append((time.thread_time() - processor_start) / repetitions)
        wall.append((time.perf_counter() - wall_start) / repetitions)
    gc.enable()
    return statistics.median(processor), statistics.median(wall)


def _warmed_up(function: Any) -> float:
    """Calls a function until its programs are compiled; returns the wall time of the last call.

    The first calls of an operation may be evaluated before its program is compiled.
    """
    started = time.perf_counter()
    once = 0.0
    for _ in range(_WARM_CALLS):
        before = time.perf_counter()
        function()
        after = time.perf_counter()
        once = max(after - before, 1e-7)
        if after - started > 1.0:
            break
    return once


def _time_call_with_setup(function: Any, seconds: float) -> tuple[float, float]:
    """Times a function like `time_call`; prepares each call by a function that is not timed."""
    function(function.setup())
    started = time.perf_counter()
    processor, wall = [], []
    gc.collect()
    gc.disable()
    while len(wall) < 3 or (time.perf_counter() - started < seconds and len(wall) < 50):
        prepared = function.setup()
        wall_start, processor_start = time.perf_counter(), time.thread_time()
        function(prepared)
        processor.append(time.thread_time() - processor_start)
        wall.append(time.perf_counter() - wall_start)
    gc.enable()
    return statistics.median(processor), statistics.median(wall)


def measured(each: workloads.Workload, library: Any, seconds: float) -> dict[str, Any]:
    """Returns the figures of one workload."""
    function = each.prepare(library)
    if each.quantity == "bytes":
        return {"processor": function(), "wall": function(), "result": None}
    if each.quantity == "seconds":
        processor, wall = function()
        return {"processor": processor, "wall": wall, "result": None}
    if each.group in (
        "step",
        "unrolled step",
        "random numbers",
        "sorting",
        "extremes",
        "elementwise",
        "odd lengths",
    ):
        # Several threads run these workloads, so processor time is that of the process.
        wall, processor = _time_step(function, seconds)
    else:
        processor, wall = time_call(function, seconds)
    return {
        "processor": processor / each.units,
        "wall": wall / each.units,
        "result": summary(function()) if each.compare else None,
    }


def _time_step(function: Any, seconds: float) -> tuple[float, float]:
    function()
    started = time.perf_counter()
    wall, processor = [], []
    while len(wall) < 10 or (time.perf_counter() - started < seconds and len(wall) < 1000):
        wall_start, processor_start = time.perf_counter(), time.process_time()
        function()
        processor.append(time.process_time() - processor_start)
        wall.append(time.perf_counter() - wall_start)
    return statistics.median(wall), statistics.median(processor)


def main() -> None:
    """Measures the workloads whose name or group contains the text ``--only``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=["olympus", "jax"])
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--only", default="")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--devices", type=int, default=1)
    arguments = parser.parse_args()
    library = workloads.library(arguments.library, arguments.devices)
    figures: dict[str, Any] = {}
    for workload in workloads.WORKLOADS:
        if arguments.only not in workload.name and arguments.only != workload.group:
            continue
        if workload.devices != arguments.devices or (arguments.short and not workload.short):
            continue
        try:
            figures[workload.name] = measured(workload, library, arguments.seconds)
        except Exception as error:  # the error is reported, and the whole run fails
            figures[workload.name] = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
