# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks --peer PYTHON``: measures OLYMPUS beside JAX and writes the table.

The two libraries take turns, each round in fresh processes, so that what else the machine does
meets both. The medians over the rounds make the ratios. The run fails on errors and on results
that differ, never on time.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

BUDGETS = {
    "import": 0.40,
    "trace": 0.35,
    "lower": 0.50,
    "eager": 0.75,
    "jit call": 1.00,
    "eager transformations": 0.50,
}

IMPORTS = {
    "import the NumPy interface": "import {0}.numpy",
    "first result of a jitted function": (
        "import {0}, {0}.numpy as jnp; {0}.jit(lambda x: jnp.sin(x) + 1)(2.0).block_until_ready()"
    ),
}


def run(python: str, *arguments: str) -> str:
    """Runs an interpreter and returns what it prints."""
    environment = {
        name: value
        for name, value in os.environ.items()
        # Bytecode is kept, as in an installation.
        if not name.startswith(("JAX_", "OLYMPUS_", "XLA_", "PYTHONDONTWRITEBYTECODE"))
    }
    done = subprocess.run(
        [python, *arguments], capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )
    if done.returncode:
        raise SystemExit(f"{python} {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
    return done.stdout


_TIMED_IMPORT = """
import time
start, wall = time.process_time(), time.perf_counter()
{code}
print(time.process_time() - start, time.perf_counter() - wall)
"""


def time_imports(python: str, library: str, figures: dict[str, list[dict[str, Any]]]) -> None:
    """Adds one measurement of each import to ``figures``."""
    for name, code in IMPORTS.items():
        output = run(python, "-c", _TIMED_IMPORT.format(code=code.format(library)))
        processor, wall = map(float, output.split()[-2:])
        figures.setdefault(name, []).append({"processor": processor, "wall": wall})


def measure(python: str, library: str, seconds: float, only: str) -> dict[str, Any]:
    """Measures the workloads of one library in a fresh process."""
    script = str(Path(__file__).with_name("measure.py"))
    output = run(python, script, library, "--seconds", str(seconds), "--only", only)
    return json.loads(output.splitlines()[-1])


def same(first: list[float] | None, second: list[float] | None) -> bool:
    """Whether two results' summaries agree to single precision."""
    if first is None or second is None:
        return True
    return all(
        math.isclose(a, b, rel_tol=2e-4, abs_tol=1e-4) for a, b in zip(first, second, strict=True)
    )


def main() -> None:
    """Measures, prints the table, writes it with ``--output``."""
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument("--peer", required=True, help="an interpreter that has jax 0.10.2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="for each workload and round")
    parser.add_argument("--only", default="", help="workloads whose names contain this")
    parser.add_argument("--short", action="store_true", help="one quick round")
    parser.add_argument("--output", type=Path, default=None, help="where to write the table")
    arguments = parser.parse_args()
    rounds = 1 if arguments.short else arguments.rounds
    seconds = 0.02 if arguments.short else arguments.seconds

    interpreters = {"olympus": sys.executable, "jax": arguments.peer}
    figures: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in interpreters}
    for library, python in interpreters.items():
        time_imports(python, library, {})  # writes the bytecode
    for number in range(rounds):
        order = list(interpreters) if number % 2 == 0 else list(interpreters)[::-1]
        for library in order:
            python = interpreters[library]
            if not arguments.only:
                for _ in range(1 if arguments.short else 3):
                    time_imports(python, library, figures[library])
            for name, figure in measure(python, library, seconds, arguments.only).items():
                figures[library].setdefault(name, []).append(figure)

    report, failed = make_report(figures, rounds)
    print(report)
    if arguments.output is not None:
        arguments.output.write_text(report)
    if failed:
        raise SystemExit("\n".join(failed))


def make_report(figures: dict[str, Any], rounds: int) -> tuple[str, list[str]]:
    """The table in Markdown, and what went wrong."""
    from benchmarks.workloads import WORKLOADS

    groups = dict.fromkeys(IMPORTS, "import") | {each.name: each.group for each in WORKLOADS}
    failed: list[str] = []
    rows: dict[str, list[str]] = {}
    ratios: dict[str, list[float]] = {}
    for name, group in groups.items():
        ours, theirs = figures["olympus"].get(name), figures["jax"].get(name)
        if not ours or not theirs:
            continue
        errors = [f"{name}: {each['error']}" for each in [*ours, *theirs] if "error" in each]
        if errors:
            failed += errors[:1]
            rows.setdefault(group, []).append(f"| {name} | | | failed |")
            continue
        if not same(ours[0].get("result"), theirs[0].get("result")):
            failed.append(f"{name}: results differ: {ours[0]['result']} and {theirs[0]['result']}")
        medians = [statistics.median(each["processor"] for each in side) for side in (ours, theirs)]
        ratio = medians[0] / max(medians[1], 1e-9)
        ratios.setdefault(group, []).append(ratio)
        rows.setdefault(group, []).append(
            f"| {name} | {_time(medians[0])} | {_time(medians[1])} | {ratio:.2f} |"
        )
    lines = [
        "# Benchmarks",
        "",
        "OLYMPUS beside JAX 0.10.2 on the same jaxlib, in alternating processes: processor time of",
        "one unit of work (an equation where the name says how many), medians, and the ratio.",
        "`nox -s benchmarks -- --output docs/benchmarks.md` measures anew.",
        "",
        (
            f"Measured on {datetime.date.today()}, {rounds} rounds, {platform.machine()} with "
            f"{os.cpu_count()} cores, Python {platform.python_version()}."
        ),
        "",
        "| group | geometric mean of the ratios | budget |",
        "| --- | --- | --- |",
    ]
    for group, values in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, values)))
        lines.append(f"| {group} | {mean:.2f} | {BUDGETS[group]:.2f} |")
    for group, group_rows in rows.items():
        lines += ["", f"## {group.capitalize()}", "", "| | OLYMPUS | JAX | ratio |"]
        lines += ["| --- | --- | --- | --- |", *group_rows]
    return "\n".join(lines) + "\n", failed


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.1f} ms"


if __name__ == "__main__":
    main()
