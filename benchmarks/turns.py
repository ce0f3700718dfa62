# SPDX-License-Identifier: Apache-2.0
"""Runs programs with several libraries in alternation, each library in a separate process.

A turn repeats a call for a fixed time, and measures the mean wall time and the mean processor time
of all threads. For a single short call, clocks are too coarse, and the work of other threads may be
counted late. The turns of all libraries for one program follow one another within a second, so
other load of the machine disturbs them equally. The best turn counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["CLOCKS", "Worker", "add_arguments", "collected", "serve"]

ROOT = Path(__file__).parent.parent

#: The clocks by name, with their names in tables.
CLOCKS = {"wall": "wall time", "processor": "processor time"}

# The seconds of a turn, and of the calls before the first turn, which compile and fill caches.
_SECONDS = 0.05
_WARM_SECONDS = 0.2
_WARM_CALLS = 3


class Worker:
    """A process that measures programs with one library.

    Args:
      library: the name of the library.
      python: its interpreter.
      module: the module that the process runs; it calls `serve`.
    """

    def __init__(self, library: str, python: str, module: str) -> None:
        self.library = library
        self._process = subprocess.Popen(
            [python, "-m", module, "--serve", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._process:
            if self._process.stdin is not None:
                self._process.stdin.close()

    def turn(self, name: str) -> dict[str, Any] | None:
        """Returns the figures of one turn of a program; None if the library lacks the program.

        Raises:
          RuntimeError: the process has ended.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError(f"the process of {self.library} was started without pipes")
        print(name, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process of {self.library} ended at {name!r}")
        return json.loads(answer)


def add_arguments(parser: argparse.ArgumentParser, libraries: Iterable[str]) -> None:
    """Adds the command-line arguments of all modules that use turns."""
    parser.add_argument(
        "--serve", choices=list(libraries), help="answer requests for turns on standard input"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--only", default="", help="measure only programs whose names contain this text"
    )
    parser.add_argument(
        "--output", type=Path, default=None, help="the page that contains the table"
    )
    parser.add_argument(
        "--processor-time",
        dest="clock",
        action="store_const",
        const="processor",
        default="wall",
        help="compare the processor time of all threads, for machines with other load",
    )


def collected(
    pythons: dict[str, str], names: Iterable[str], *, module: str, rounds: int, clock: str
) -> dict[str, dict[str, Any]]:
    """Returns the figures of the best turns, for each library and each program that it has.

    Args:
      pythons: the interpreter for each library.
      names: the programs.
      module: the module that the processes run.
      rounds: the number of turns of each library at each program.
      clock: the clock of the figure "seconds", one of `CLOCKS`.
    """
    figures: dict[str, dict[str, Any]] = {library: {} for library in pythons}
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(library, python, module))
            for library, python in pythons.items()
        ]
        for name in names:
            for _ in range(rounds):
                for worker in workers:
                    found = worker.turn(name)
                    if found is None:
                        continue
                    known = figures[worker.library].setdefault(name, found)
                    known["seconds"] = min(known.get("seconds", found[clock]), found[clock])
    return figures


def serve(prepare: Callable[[str], tuple[Callable[[], Any], float] | None]) -> None:
    """Answers requests for turns, one on each line, until the standard input ends.

    Args:
      prepare: maps the name of a program to its call and the allowed difference of its results,
        relative to their norm; returns None if the library does not have the program.
    """
    answers, sys.stdout = sys.stdout, sys.stderr
    current, call, known = "", None, {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name != current:
            call = None  # free its arrays before the next call makes new arrays
            current, (call, known) = name, _prepared(name, prepare)
        figures = None if call is None else {**known, **_measured(call)}
        print(json.dumps(figures), file=answers, flush=True)


def _prepared(
    name: str, prepare: Callable[[str], tuple[Callable[[], Any], float] | None]
) -> tuple[Callable[[], Any] | None, dict[str, float]]:
    """Returns a call after its warm-up, and a digest of its results; None if there is no call."""
    try:
        prepared = prepare(name)
        if prepared is None:
            return None, {}
        call, tolerance = prepared
        known = _digest(as_vector(call()), tolerance)
        end, count = time.monotonic() + _WARM_SECONDS, 0
        while count < _WARM_CALLS or time.monotonic() < end:
            call()
            count += 1
    except Exception as error:  # torch.compile does not compile all programs
        print(f"{name}: {error!r}", file=sys.stderr)
        return None, {}
    return call, known


def _measured(call: Callable[[], Any]) -> dict[str, float]:
    """Returns the mean times of a call, repeated for `_SECONDS`."""
    count = 0
    wall, processor = time.perf_counter(), time.process_time()
    end = wall + _SECONDS
    while count == 0 or time.perf_counter() < end:
        call()
        count += 1
    return {
        "wall": (time.perf_counter() - wall) / count,
        "processor": (time.process_time() - processor) / count,
    }


def as_vector(results: Any) -> np.ndarray:
    """Returns the numbers of a result, or of nested results, as one vector."""
    if isinstance(results, (tuple, list)):
        return np.concatenate([as_vector(result) for result in results])
    if hasattr(results, "detach"):
        results = results.detach()
    return np.asarray(results, np.float64).ravel()


def _digest(result: np.ndarray, tolerance: float) -> dict[str, float]:
    """Returns numbers by which results are compared; weights by position make the order count."""
    return {
        "result": float(result @ np.cos(np.arange(result.size))),
        "size": float(np.linalg.norm(result)) * tolerance,
    }
