# SPDX-License-Identifier: Apache-2.0
"""Repeats work many times, and compares the resources of the process at the start and the end.

Each scenario runs in a separate process. Some steps fill the caches, then five rounds of steps
follow. After each round the resources are measured. Memory and the number of objects may grow by
two percent. All other resources must not change. Prints a table, and exits with 1 if a resource has
grown or changed.

Usage: python tools/endurance [--only shapes eager] [--cold off] [--scale 0.1] [--seed 7]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
MOST_GROWTH = 0.02


def run_scenario(name: str, scale: float, seed: int) -> None:
    """Runs one scenario in this process; prints the measurements as JSON."""
    import olympus

    if name == "devices":
        olympus.config.update("olympus_num_cpu_devices", 4)
    from measurements import fill_records, measure
    from scenarios import SCENARIOS

    scenario = SCENARIOS[name]
    rng = random.Random(seed)
    steps = max(int((scenario.steps - scenario.warm) * scale), ROUNDS)
    ends = [scenario.warm + steps * i // ROUNDS for i in range(ROUNDS + 1)]
    fill_records()
    found = []
    for number in range(ends[-1]):
        if number in ends:
            found.append(measure()._asdict())
        scenario.step(number, rng)
    found.append(measure()._asdict())
    print(json.dumps({"steps": ends[-1], "found": found}))


def problems(found: list[dict]) -> list[str]:
    """Returns the resources that grew or changed between the first and the last measurement."""
    first, last = found[0], found[-1]
    grown = [
        f"{key} grew from {first[key]:,} to {last[key]:,}"
        for key in ("memory", "objects")
        if last[key] > first[key] * (1 + MOST_GROWTH)
    ]
    changed = [
        f"{key} changed from {first[key]} to {last[key]}"
        for key in ("arrays", "threads", "files", "state")
        if last[key] != first[key]
    ]
    return grown + changed


def run_in_child(name: str, arguments: argparse.Namespace, cold: str, cache: str) -> list[str]:
    """Runs a scenario in a process and prints a line of the table; returns the problems."""
    began = time.monotonic()
    command = (__file__, "--scenario", name, "--scale", arguments.scale, "--seed", arguments.seed)
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={
            **os.environ,
            "OLYMPUS_COLD_EVALUATION": cold,
            "OLYMPUS_CACHE_DIR": cache,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"| {name} | {cold} | status {done.returncode} |", flush=True)
        return [f"{name}, {cold}: {done.stderr[-3000:]}"]
    result = json.loads(done.stdout.splitlines()[-1])
    found = result["found"]
    first, last = found[0], found[-1]
    print(
        f"| {name} | {cold} | {result['steps']:,} | {time.monotonic() - began:.0f} s "
        f"| {first['memory'] / 1e6:.1f} | {last['memory'] / 1e6:.1f} "
        f"| {last['memory'] / first['memory'] - 1:+.1%} "
        f"| {first['objects']:,} | {last['objects']:,} |",
        flush=True,
    )
    return [f"{name}, {cold}: {problem}" for problem in problems(found)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", help="the names of scenarios")
    parser.add_argument("--cold", nargs="*", default=["exact", "off"], help="cold evaluation")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="the fraction of the measured steps to run"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenario", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.scenario:
        run_scenario(arguments.scenario, arguments.scale, arguments.seed)
        return 0
    from scenarios import SCENARIOS

    print("| scenario | cold | steps | time | MB first | MB last | growth | objects first | last |")
    print("|---|---|---|---|---|---|---|---|---|")
    wrong = []
    with tempfile.TemporaryDirectory() as cache:
        for name in arguments.only or SCENARIOS:
            for cold in arguments.cold:
                wrong += run_in_child(name, arguments, cold, cache)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
