# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks --peer PYTHON``: compares OLYMPUS with JAX and writes the table.

The two libraries run in alternation, each round in new processes, so that other load of the machine
affects both. The ratios are those of the medians over the rounds. The run fails on errors and on
results that differ, never on time.
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
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .peers import HEADING

ROOT = Path(__file__).parent.parent

BUDGETS = {
    "import": 0.40,
    "first use": 0.35,
    "trace": 0.35,
    "lower": 0.50,
    "eager": 0.75,
    "random numbers": 0.75,
    "jit call": 1.00,
    "retrace": 0.35,
    "eager transformations": 0.50,
    "compile": 1.02,
    "unrolled": 0.75,
    "unrolled step": 1.02,
    "step": 1.02,
    "memory": 1.02,
    "pytrees": 1.00,
    "growth": 0.50,
    "sorting": 0.50,
    "extremes": 0.50,
    "scans": 0.50,
    "networks": 1.00,
    "elementwise": 0.50,
    "odd lengths": 0.75,
}

# The compiled workload runs in a process that found its executable on disk.
_FIRST_RESULT = (
    "import {0}, {0}.numpy as jnp; {0}.jit(lambda x: jnp.sin(x) + 1)(2.0).block_until_ready()"
)
_FROM_DISK = """
import {0}
{0}.config.update("{0}_enable_compilation_cache", True)
{0}.config.update("{0}_compilation_cache_dir", {1!r})
{0}.config.update("{0}_persistent_cache_min_compile_time_secs", 0.0)
import {0}.numpy as jnp
{0}.jit(lambda x: jnp.sin(x) + 1)(2.0).block_until_ready()
"""
IMPORTS = {
    "import the NumPy interface": "import {0}.numpy",
    "first result of a jitted function": _FIRST_RESULT,
    "first result, from a warm disk cache": _FROM_DISK,
}

# Reasons for workloads that take more than 1.1 times as long as with JAX.
_PRODUCTS = (
    "OLYMPUS calls the same C++ function of jaxlib as JAX; the choice of the thread on which XLA "
    "multiplies varies between processes, for both libraries"
)
REASONS = {
    "x @ y": _PRODUCTS,
    "jnp.dot": _PRODUCTS,
    "random.randint": (
        "it draws twice as many bits as it returns; XLA runs the program on another thread, but "
        "not JAX's loops, because it estimates the cost of a loop as that of one iteration"
    ),
    "jit call, two devices, all-reduce": (
        "the number of calls in flight is bounded to prevent a deadlock, so each call enters Python"
    ),
}
# Reasons for the other workloads, by group.
REASONS_OF_GROUPS = {
    "eager": "a single call of the same C++ function of jaxlib as in JAX; such figures vary by a "
    "tenth or more",
    "jit call": "a single call of the same C++ function of jaxlib as in JAX; such figures vary by "
    "a tenth or more",
    "pytrees": "the same C++ functions as in JAX; such figures vary by a tenth or more",
    "compile": "XLA's time for the same operations; it varies with other load of the machine",
    "step": "XLA's program of the same operations; its time varies with other load of the machine",
}


def run(python: str, *arguments: str) -> str:
    """Runs an interpreter and returns what it prints."""
    environment = {
        name: value
        for name, value in os.environ.items()
        # Keep bytecode on disk, as an installation does.
        if not name.startswith(("JAX_", "OLYMPUS_", "XLA_", "PYTHONDONTWRITEBYTECODE"))
    }
    environment["OLYMPUS_ENABLE_COMPILATION_CACHE"] = "0"  # the measurement excludes the cache
    done = subprocess.run(
        [python, *arguments], capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )
    if done.returncode:
        raise SystemExit(f"{python} {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
    return done.stdout


# Measures the time of the main thread, because idle threads of NumPy's BLAS use processor time.
_TIMED_IMPORT = """
import time
start, wall = time.thread_time(), time.perf_counter()
{code}
print(time.thread_time() - start, time.perf_counter() - wall)
"""


def time_imports(
    python: str, library: str, cache: str, figures: dict[str, list[dict[str, Any]]]
) -> None:
    """Adds one measurement of each import to ``figures``."""
    for name, code in IMPORTS.items():
        output = run(python, "-c", _TIMED_IMPORT.format(code=code.format(library, cache)))
        processor, wall = map(float, output.split()[-2:])
        figures.setdefault(name, []).append({"processor": processor, "wall": wall})


def measure(python: str, library: str, arguments: Any, seconds: float) -> dict[str, Any]:
    """Measures the workloads of one library in new processes."""
    script = str(Path(__file__).with_name("measure.py"))
    settings = ["--seconds", str(seconds), "--only", arguments.only]
    settings += ["--short"] if arguments.short else []
    figures: dict[str, Any] = {}
    for devices in ("1", "2", "8"):
        output = run(python, script, library, *settings, "--devices", devices)
        figures |= json.loads(output.splitlines()[-1])
    return figures


def same(first: list[float] | None, second: list[float] | None) -> bool:
    """Returns whether the summaries of two results agree to single precision."""
    if first is None or second is None:
        return True
    return all(
        math.isclose(a, b, rel_tol=2e-4, abs_tol=1e-4) for a, b in zip(first, second, strict=True)
    )


def main() -> None:
    """Measures the workloads and prints the table; writes it to a file with ``--output``."""
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument("--peer", required=True, help="an interpreter that has jax 0.10.2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.2,
        help="the time for each workload in each round, in seconds",
    )
    parser.add_argument(
        "--only", default="", help="run only workloads whose names contain this text"
    )
    parser.add_argument("--short", action="store_true", help="one quick round")
    parser.add_argument("--output", type=Path, default=None, help="where to write the table")
    arguments = parser.parse_args()
    rounds = 1 if arguments.short else arguments.rounds
    seconds = 0.02 if arguments.short else arguments.seconds

    # Without bytecode on disk, each process would compile the source of all libraries again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    interpreters = {"olympus": sys.executable, "jax": arguments.peer}
    figures: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in interpreters}
    with tempfile.TemporaryDirectory() as folder:
        caches = {library: f"{folder}/{library}" for library in interpreters}
        for library, python in interpreters.items():
            time_imports(
                python, library, caches[library], {}
            )  # this run writes bytecode and caches
        for number in range(rounds):
            order = list(interpreters) if number % 2 == 0 else list(interpreters)[::-1]
            for _ in range(1 if arguments.short else 5):
                for library in [] if arguments.only else order:
                    time_imports(interpreters[library], library, caches[library], figures[library])
            # The short form only compares results, so the libraries may disturb each other.
            with ThreadPoolExecutor(len(order) if arguments.short else 1) as threads:
                measured = threads.map(
                    lambda library: measure(interpreters[library], library, arguments, seconds),
                    order,
                )
                for library, measurements in zip(order, measured, strict=True):
                    for name, figure in measurements.items():
                        figures[library].setdefault(name, []).append(figure)

    report, failed = make_report(figures, rounds)
    print(report)
    if arguments.output is not None:
        known = arguments.output.read_text() if arguments.output.exists() else ""
        _, heading, operations = known.partition(HEADING)
        kept = f"\n{heading}{operations}" if heading else ""
        arguments.output.write_text(report + kept)
    if failed:
        raise SystemExit("\n".join(failed))


def make_report(figures: dict[str, Any], rounds: int) -> tuple[str, list[str]]:
    """Returns the tables in Markdown, and the problems."""
    from benchmarks import (  # noqa: F401 - they fill the table
        calls,
        eager,
        first_models,
        first_use,
        operations,
        programs,
        unrolled,
        wider_unrolled,
    )
    from benchmarks.workloads import WORKLOADS

    groups = dict.fromkeys(IMPORTS, "import") | {
        workload.name: workload.group for workload in WORKLOADS
    }
    failed: list[str] = []
    rows: dict[str, list[str]] = {}
    ratios: dict[str, list[tuple[float, float]]] = {}
    slower: list[str] = []
    for name, group in groups.items():
        ours, theirs = figures["olympus"].get(name), figures["jax"].get(name)
        if not ours or not theirs:
            continue
        errors = [f"{name}: {each['error']}" for each in [*ours, *theirs] if "error" in each]
        if errors:
            failed += errors[:1]
            rows.setdefault(group, []).append(f"| {name} | | | failed | |")
            continue
        if not same(ours[0].get("result"), theirs[0].get("result")):
            failed.append(f"{name}: results differ: {ours[0]['result']} and {theirs[0]['result']}")
        medians = {
            clock: [statistics.median(each[clock] for each in side) for side in (ours, theirs)]
            for clock in ("processor", "wall")
        }
        ratio, wall_ratio = (own / max(other, 1e-9) for own, other in medians.values())
        ratios.setdefault(group, []).append((ratio, wall_ratio))
        shown = _bytes if group == "memory" else _time
        own, other = map(shown, medians["processor"])
        rows.setdefault(group, []).append(
            f"| {name} | {own} | {other} | {ratio:.2f} | {wall_ratio:.2f} |"
        )
        if ratio > 1.1:
            reason = REASONS.get(name) or REASONS_OF_GROUPS.get(group, "not explained yet")
            slower.append(f"- {name} ({ratio:.2f}): {reason}.")
    lines = [
        "# Benchmarks",
        "",
        "OLYMPUS compared with JAX 0.10.2 on the same jaxlib, in alternating processes: processor",
        "time of one unit of work (an equation, if the name states their number), medians over the",
        "rounds, and the ratios of processor and wall time. The processor time of imports and of",
        "Python code is that of the main thread. The processor time of compilations and steps is",
        "that of all threads.",
        "`nox -s benchmarks -- --output docs/benchmarks.md` measures again.",
        "",
        (
            f"Measured on {datetime.date.today()}, {rounds} rounds, on {_processor()} with "
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
            f"Python {platform.python_version()}."
        ),
        "",
        "| group | geometric mean of the ratios | of wall time | budget |",
        "| --- | --- | --- | --- |",
    ]
    for group, values in ratios.items():
        means = [math.exp(statistics.fmean(map(math.log, side))) for side in zip(*values)]
        lines.append(f"| {group} | {means[0]:.2f} | {means[1]:.2f} | {BUDGETS[group]:.2f} |")
    if slower:
        lines += ["", "## Above 1.1", "", *slower]
    for group, group_rows in rows.items():
        lines += ["", f"## {group.capitalize()}", "", "| | OLYMPUS | JAX | ratio | wall |"]
        lines += ["| --- | --- | --- | --- | --- |", *group_rows]
    return "\n".join(lines) + "\n", failed


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.machine()


def _bytes(count: float) -> str:
    return f"{count / 1024:.1f} KiB"


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
