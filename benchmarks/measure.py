# SPDX-License-Identifier: Apache-2.0
"""Measures one library in this process and prints the figures as JSON.

Run by ``python -m benchmarks`` once a round with each library's interpreter.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import workloads


def summary(result: Any) -> list[float] | None:
    """A few numbers of a result, by which two libraries' results are compared."""
    flat = np.asarray(result)
    if flat.dtype == np.bool_ or flat.dtype.kind not in "fiu":
        flat = flat.astype(np.float32)
    flat = flat.astype(np.float64).ravel()
    return [float(flat.size), float(flat.sum()), float(np.abs(flat).max(initial=0.0))]


def time_call(function: Any, seconds: float) -> tuple[float, float]:
    """Median processor and wall time of one call, from repetitions of about ``seconds`` in all."""
    if hasattr(function, "setup"):
        return _time_call_with_setup(function, seconds)
    function()
    function()
    started = time.perf_counter()
    function()
    once = max(time.perf_counter() - started, 1e-7)
    repetitions = max(1, min(2000, int(seconds / 7 / once)))
    processor, wall = [], []
    gc.collect()
    gc.disable()
    for _ in range(7):
        wall_start, processor_start = time.perf_counter(), time.thread_time()
        for _ in range(repetitions):
            function()
        processor.append((time.thread_time() - processor_start) / repetitions)
        wall.append((time.perf_counter() - wall_start) / repetitions)
    gc.enable()
    return statistics.median(processor), statistics.median(wall)


def _time_call_with_setup(function: Any, seconds: float) -> tuple[float, float]:
    """As `time_call`, of a function that needs something made anew before each call, untimed."""
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


def main() -> None:
    """Measures all workloads whose name contains ``--only``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=["olympus", "jax"])
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    library = workloads.library(arguments.library)
    figures: dict[str, Any] = {}
    for each in workloads.WORKLOADS:
        if arguments.only not in each.name:
            continue
        try:
            function = each.prepare(library)
            processor, wall = time_call(function, arguments.seconds)
            figures[each.name] = {
                "processor": processor / each.units,
                "wall": wall / each.units,
                "result": summary(function()) if each.compare else None,
            }
        except Exception as error:  # reported, and fails the run as a whole
            figures[each.name] = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
