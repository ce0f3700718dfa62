# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.peers LIBRARY=PYTHON ...``: operations beside NumPy, PyTorch and JAX.

Each library takes its turn in a process of its own, in several rounds; the table has the best time
of each operation. ``--output`` puts the table into a page, under its heading, and draws bars beside
it. The run fails where results differ, never on time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .operations import OPERATIONS, Operation

ROOT = Path(__file__).parent.parent
HEADING = "## Operations beside NumPy, PyTorch and JAX"
LIBRARIES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX", "olympus": "OLYMPUS"}
_COLORS = {"numpy": "#4d77cf", "torch": "#ee4c2c", "jax": "#8a8a8a", "olympus": "#2c9a5b"}
_REPETITIONS = 7

# Why an operation takes more than twice the time of the best.
REASONS = {
    "median": "NumPy selects the middle elements, and OLYMPUS sorts all",
    "unique of small integers": "NumPy has a hash table, and OLYMPUS sorts",
    "argmax": "a second reduction looks for NaNs, and the call itself takes some 0.02 ms",
    "argmax of rows": "a second reduction looks for NaNs",
    "sin": "NumPy's error is up to 1.5 units in the last place, that of OLYMPUS 0.51",
    "cos": "NumPy's error is up to 1.5 units in the last place, that of OLYMPUS 0.51",
    "tan": "NumPy's error is up to 4 units in the last place, that of OLYMPUS 0.51",
}


def prepared(library: str, operation: Operation) -> Callable[[], Any]:
    """Returns the call that is timed; it waits for its result."""
    x = operation.operand()
    if library == "numpy":
        return lambda: operation.run(np, x)
    module = importlib.import_module(library)
    if library == "torch":
        tensor = module.from_numpy(x)
        return lambda: operation.torch(module, tensor)
    names = importlib.import_module(f"{library}.numpy")
    array = names.asarray(x)
    return lambda: module.block_until_ready(operation.run(names, array))


def measured(library: str) -> dict[str, Any]:
    """Returns the best time in seconds of each operation, and the sum of its result."""
    figures = {}
    for operation in OPERATIONS:
        call = prepared(library, operation)
        result = np.asarray(call(), np.float64)
        times = []
        for _ in range(_REPETITIONS):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
        # Positions weigh elements, so that their order counts.
        weights = np.cos(np.arange(result.size))
        figures[operation.name] = {
            "seconds": min(times),
            "result": float(result.ravel() @ weights),
        }
    return figures


def collected(pythons: dict[str, str], rounds: int) -> dict[str, dict[str, Any]]:
    """Returns the figures of all libraries, the best of the rounds, in which they take turns."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        for library, python in pythons.items():
            command = [python, "-m", "benchmarks.peers", "--measure", library]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
            found = json.loads(done.stdout.splitlines()[-1])
            known = best.setdefault(library, found)
            for name, figure in found.items():
                known[name]["seconds"] = min(known[name]["seconds"], figure["seconds"])
    return best


def differences(figures: dict[str, dict[str, Any]]) -> list[str]:
    """Returns the operations whose results are not NumPy's."""
    return [
        f"{library}, {name}: {figure['result']} and {figures['numpy'][name]['result']}"
        for library, found in figures.items()
        for name, figure in found.items()
        if not math.isclose(
            figure["result"], figures["numpy"][name]["result"], rel_tol=1e-3, abs_tol=1e-2
        )
    ]


def table(figures: dict[str, dict[str, Any]]) -> str:
    """Returns the table in Markdown: milliseconds, and the ratio to the best of the others."""
    lines = [
        "Milliseconds, best of several rounds in which the libraries take turns; 10^6 elements or",
        f"1000 x 1000, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}.",
        "`nox -s peers` measures anew.",
        "",
        "| | " + " | ".join(LIBRARIES[name] for name in figures) + " | OLYMPUS / best other |",
        "| --- |" + " --- |" * (len(figures) + 1),
    ]
    ratios = []
    for operation in OPERATIONS:
        times = {library: found[operation.name]["seconds"] for library, found in figures.items()}
        others = min(seconds for library, seconds in times.items() if library != "olympus")
        ratios.append(times["olympus"] / others)
        shown = " | ".join(f"{1e3 * seconds:.2f}" for seconds in times.values())
        lines.append(f"| {operation.name} | {shown} | {ratios[-1]:.2f} |")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    lines.append(f"| geometric mean |{' |' * len(figures)} {mean:.2f} |")
    slow = [each.name for each, ratio in zip(OPERATIONS, ratios, strict=True) if ratio > 2]
    reasons = [f"- {name}: {REASONS.get(name, 'not explained yet')}." for name in slow]
    return "\n".join([*lines, "", *reasons])


def chart(figures: dict[str, dict[str, Any]]) -> str:
    """Returns bars of the times over the best one, on a logarithmic scale, as SVG."""
    bar, left, width = 9, 190, 420
    worst = max(
        found[operation.name]["seconds"]
        / min(each[operation.name]["seconds"] for each in figures.values())
        for operation in OPERATIONS
        for found in figures.values()
    )
    scale = width / math.log10(worst * 1.1)
    parts, y = [], 30
    for position, library in enumerate(figures):
        x = left + 100 * position
        parts.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{_COLORS[library]}"/>')
        parts.append(f'<text x="{x + 15}" y="17">{LIBRARIES[library]}</text>')
    for operation in OPERATIONS:
        best = min(found[operation.name]["seconds"] for found in figures.values())
        parts.append(f'<text x="8" y="{y + 22}">{operation.name}</text>')
        for library, found in figures.items():
            ratio = found[operation.name]["seconds"] / best
            length = max(2.0, scale * math.log10(ratio))
            parts.append(
                f'<rect x="{left}" y="{y}" width="{length:.0f}" height="{bar - 1}" '
                f'fill="{_COLORS[library]}"/>'
            )
            parts.append(
                f'<text x="{left + length + 4:.0f}" y="{y + 8}" font-size="8">{ratio:.1f}</text>'
            )
            y += bar
        y += 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{y}" '
        f'font-family="sans-serif" font-size="12">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def main() -> None:
    """Measures, prints the table, and with ``--output`` writes it and the chart."""
    parser = argparse.ArgumentParser(prog="benchmarks.peers")
    parser.add_argument("peers", nargs="*", help="LIBRARY=PYTHON, such as jax=/path/to/python")
    parser.add_argument("--measure", choices=LIBRARIES, help="measure one library in this process")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=None, help="the page with the table")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments.measure)))
        return
    given = dict(each.split("=", 1) for each in arguments.peers)
    own = {"numpy": sys.executable, "olympus": sys.executable}
    pythons = {name: (given | own)[name] for name in LIBRARIES if name in given | own}
    figures = collected(pythons, arguments.rounds)
    text = table(figures)
    print(text)
    if arguments.output is not None:
        picture = arguments.output.with_name("operations.svg")
        picture.write_text(chart(figures))
        before = arguments.output.read_text().partition(HEADING)[0].rstrip()
        image = f"![Times over the best one]({picture.name})"
        arguments.output.write_text(f"{before}\n\n{HEADING}\n\n{text}\n\n{image}\n")
    if wrong := differences(figures):
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
