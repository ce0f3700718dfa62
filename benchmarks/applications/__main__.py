# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.applications LIBRARY=PYTHON ...``: compares whole programs.

The libraries run each program in alternation (`turns`); the table shows the best turn of each.
``--output`` inserts the table into a page, before the table of the operations, and draws a bar
chart. The run fails if results differ, never on time.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from .. import peers, turns
from . import APPLICATIONS
from .preparation import LIBRARIES, prepared

HEADING = "## Programs beside NumPy, Numba, PyTorch and JAX"
_COLORS = {
    "numpy": "#4d77cf",
    "numba": "#00a3e0",
    "torch": "#ee4c2c",
    "compiled_torch": "#f7a072",
    "jax": "#8a8a8a",
    "olympus": "#2c9a5b",
}

# Reasons for programs that take more than 1.2 times as long as with the fastest library.
REASONS = {
    "N-body": (
        "XLA writes the forces between all pairs to memory, because it sums in two steps; Numba's "
        "loops keep them in registers"
    ),
    "heat on a grid": "the new values are written to memory and copied into the grid",
    "PageRank": "the gather and the segment sum each run on one thread, without vector "
    "instructions",
    "histograms of gradient boosting": "XLA adds to one element after the other, with bounds "
    "checks",
    "training step of a convolutional network": (
        "XLA transposes the images before each convolution and the result after it"
    ),
    "training step of an LSTM": (
        "PyTorch multiplies all inputs by the weights before the loop; its cell is one operation"
    ),
    "Mandelbrot set": "a loop over points stops when a point escapes; programs of arrays compute "
    "all steps for all points",
    "Gaussian process": "the factorization is that of jaxlib's LAPACK; PyTorch has MKL",
    "particle filter": "a binary search for each particle; a loop merges two sorted arrays instead",
}


def _prepared_by_name(library: str, name: str) -> tuple[Callable[[], Any], float] | None:
    application = next(each for each in APPLICATIONS if each.name == name)
    call = prepared(library, application)
    return None if call is None else (call, application.tolerance)


def table(figures: dict[str, dict[str, Any]], kind: str) -> str:
    """Returns the table in Markdown: milliseconds, and ratios to the fastest other library."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lines = [
        f"Milliseconds of {kind} for a call, in the best of several turns, in which the",
        "libraries alternate. All libraries use the same number of cores:",
        f"{cores}. Measured on {datetime.date.today()}, at a load",
        f"of {os.getloadavg()[0]:.1f}. `benchmarks/applications` has the programs, as users of",
        "each library would write them; their results are compared. `nox -s peers` measures again.",
        "",
        f"| | {' | '.join(LIBRARIES[name] for name in figures)} | OLYMPUS / best other |",
        "| --- |" + " --- |" * (len(figures) + 1),
    ]
    ratios: dict[str, float] = {}
    for application in APPLICATIONS:
        if application.name not in figures["olympus"]:
            continue
        times = peers.times_of(figures, application.name)
        others = min(seconds for library, seconds in times.items() if library != "olympus")
        ratios[application.name] = times["olympus"] / others
        shown = " | ".join(
            f"{1e3 * times[library]:.3g}" if library in times else "-" for library in figures
        )
        lines.append(f"| {application.name} | {shown} | {ratios[application.name]:.2f} |")
    near = sum(ratio <= 1.2 for ratio in ratios.values())
    lines += [
        "",
        f"Fastest, or at most 1.2 times the fastest time: {near} of {len(ratios)}. The others:",
        "",
    ]
    lines += [
        f"- {name}: {REASONS.get(name, 'not explained yet')}."
        for name, ratio in ratios.items()
        if ratio > 1.2
    ]
    return "\n".join(lines)


def main() -> None:
    """Measures the programs and prints the table; ``--output`` also writes table and chart."""
    parser = argparse.ArgumentParser(prog="benchmarks.applications")
    parser.add_argument("peers", nargs="*", help="LIBRARY=PYTHON, such as jax=/path/to/python")
    turns.add_arguments(parser, LIBRARIES)
    arguments = parser.parse_args()
    if arguments.serve:
        turns.serve(functools.partial(_prepared_by_name, arguments.serve))
        return
    given = dict(peer.split("=", 1) for peer in arguments.peers)
    given.setdefault("numpy", given.get("jax", sys.executable))  # NumPy's programs need SciPy
    given["olympus"] = sys.executable
    pythons = {name: given[name] for name in LIBRARIES if name in given}
    names = [application.name for application in APPLICATIONS if arguments.only in application.name]
    module = "benchmarks.applications"
    figures = turns.collected(
        pythons, names, module=module, rounds=arguments.rounds, clock=arguments.clock
    )
    text = table(figures, turns.CLOCKS[arguments.clock])
    print(text)
    if arguments.output is not None:
        picture = arguments.output.with_name("applications.svg")
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
