# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.applications LIBRARY=PYTHON ...``: whole programs beside the peers.

Each library takes its turn in a process of its own, in several rounds; the table has the best time
of each program. ``--output`` puts the table into a page, before that of the operations, and draws
bars beside it. The run fails where results differ, never on time.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import peers
from . import APPLICATIONS
from .preparation import LIBRARIES, as_vector, prepared

HEADING = "## Programs beside NumPy, Numba, PyTorch and JAX"
_COLORS = {
    "numpy": "#4d77cf",
    "numba": "#00a3e0",
    "torch": "#ee4c2c",
    "compiled_torch": "#f7a072",
    "jax": "#8a8a8a",
    "olympus": "#2c9a5b",
}
_SECONDS, _FEWEST = 2.0, 3

# Why a program takes more than 1.2 times the time of the first.
REASONS = {
    "N-body": (
        "the forces between all pairs are written to memory, because XLA adds in two steps; "
        "Numba's loops keep them in registers"
    ),
    "heat on a grid": "the new values are written to memory and copied into the grid",
    "PageRank": "the gather and the addition of segments each run on one thread, without vectors",
    "histograms of gradient boosting": "XLA adds to one place after another with checks of bounds",
    "training step of a convolutional network": (
        "XLA transposes the images before each convolution and the result after it"
    ),
    "training step of an LSTM": (
        "PyTorch multiplies all inputs by the weights before the loop; its cell is one operation"
    ),
    "Mandelbrot set": "a loop over points stops where a point escapes; arrays go to the last step",
    "Gaussian process": "the factorization is that of jaxlib's LAPACK; PyTorch has MKL",
    "particle filter": "a binary search for each particle, where a loop merges two sorted arrays",
}


def measured(library: str, clock: Callable[[], float]) -> dict[str, Any]:
    """Returns the best time in seconds of each program, and the sum of its results."""
    figures = {}
    for application in APPLICATIONS:
        call = prepared(library, application)
        if call is None:
            continue
        try:
            result = as_vector(call())
        except Exception as error:
            # torch.compile does not compile all programs.
            print(f"{library}, {application.name}: {error!r}", file=sys.stderr)
            continue
        times: list[float] = []
        end = time.monotonic() + _SECONDS
        while len(times) < _FEWEST or time.monotonic() < end:
            started = clock()
            call()
            times.append(clock() - started)
        figures[application.name] = {
            "seconds": min(times),
            "result": float(result @ np.cos(np.arange(result.size))),
            "size": float(np.linalg.norm(result)) * application.tolerance / 1e-3,
        }
    return figures


def table(figures: dict[str, dict[str, Any]], kind: str) -> str:
    """Returns the table in Markdown: milliseconds, and the ratio to the best of the others."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lines = [
        f"Milliseconds of {kind}, best of rounds in which the libraries take turns. All libraries",
        f"have the same number of cores: {cores}. Measured on {datetime.date.today()}, at a load",
        f"of {os.getloadavg()[0]:.1f}. The programs are in `benchmarks/applications`, as users of",
        "each library write them; their results are compared. `nox -s peers` measures anew.",
        "",
        f"| | {' | '.join(LIBRARIES[name] for name in figures)} | OLYMPUS / best other |",
        "| --- |" + " --- |" * (len(figures) + 1),
    ]
    ratios: dict[str, float] = {}
    for application in APPLICATIONS:
        times = peers.times_of(figures, application.name)
        others = min(seconds for library, seconds in times.items() if library != "olympus")
        ratios[application.name] = times["olympus"] / others
        shown = " | ".join(
            f"{1e3 * times[library]:.3g}" if library in times else "-" for library in figures
        )
        lines.append(f"| {application.name} | {shown} | {ratios[application.name]:.2f} |")
    near = sum(ratio <= 1.2 for ratio in ratios.values())
    lines += ["", f"First or within 1.2 of the first: {near} of {len(ratios)}. The others:", ""]
    lines += [
        f"- {name}: {REASONS.get(name, 'not explained yet')}."
        for name, ratio in ratios.items()
        if ratio > 1.2
    ]
    return "\n".join(lines)


def main() -> None:
    """Measures, prints the table, and with ``--output`` writes it and the chart."""
    parser = argparse.ArgumentParser(prog="benchmarks.applications")
    parser.add_argument("peers", nargs="*", help="LIBRARY=PYTHON, such as jax=/path/to/python")
    parser.add_argument("--measure", choices=LIBRARIES, help="measure one library in this process")
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="measure the processor time of all threads, on one core of a machine in use",
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=None, help="the page with the table")
    arguments = parser.parse_args()
    if arguments.measure:
        clock = time.process_time if arguments.processor_time else time.perf_counter
        print(json.dumps(measured(arguments.measure, clock)))
        return
    given = dict(each.split("=", 1) for each in arguments.peers)
    given.setdefault("numpy", given.get("jax", sys.executable))  # NumPy's programs need SciPy
    given["olympus"] = sys.executable
    pythons = {name: given[name] for name in LIBRARIES if name in given}
    options = ["--processor-time"] if arguments.processor_time else []
    figures = peers.collected(pythons, arguments.rounds, options, "benchmarks.applications")
    text = table(figures, "processor time" if arguments.processor_time else "wall time")
    print(text)
    if arguments.output is not None:
        picture = arguments.output.with_name("applications.svg")
        names = [application.name for application in APPLICATIONS]
        picture.write_text(peers.chart(figures, names, LIBRARIES, _COLORS))
        image = f"![Times over the best one]({picture.name})"
        page = arguments.output.read_text()
        rest = page[page.index(peers.HEADING) :] if peers.HEADING in page else ""
        before = page.partition(HEADING)[0].partition(peers.HEADING)[0].rstrip()
        arguments.output.write_text(f"{before}\n\n{HEADING}\n\n{text}\n\n{image}\n\n{rest}")
    if wrong := peers.differences(figures):
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
