# SPDX-License-Identifier: Apache-2.0
"""Runs random programs under random transformations, and compares the results of several modes.

Run it with an interpreter that has OLYMPUS; ``--jax`` is one that has jax 0.10.2::

    python tools/differential/fuzz_programs.py --jax ../jax/bin/python --seconds 300 --seed 1

Each program of `olympus_testing.compositions` is run on the NumPy reference, in one of the
execution modes `WAYS`, and with loops in place of batches. Smooth programs in double precision are
also run with finite differences in place of derivatives. One program in sixteen is traced in JAX,
and one in 64 is computed there. Three programs in four are traced once for all modes, and one in
four is traced for each. Costly programs are rare: those that XLA has to compile, and derivatives of
third order. A finding is one of these:

- the process dies, or a program takes longer than 20 seconds of processor time;
- only one of OLYMPUS and JAX raises an error, or the errors differ in type;
- results differ in type, or differ in value by more than rounding errors in each statement explain.

The program of each finding is reduced and written as a test to ``--tests``. The exit status is 1 if
there are findings that no pattern in the section "Composed programs" of docs/differences.md
explains. Equal seeds produce equal programs.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import fnmatch
import itertools
import json
import pathlib
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

from explanations import explanations
from judge_programs import DEVICES, Finding, Referee, base_way

from olympus_testing.compositions import Program, random_program, shrunk, source
from olympus_testing.compositions.transformations import ORDERS

#: The execution modes of OLYMPUS besides the reference, and their frequencies. Modes that compile
#: little are most frequent.
WAYS = {"tiers": 160, "close": 8, "jit": 4, "disable_jit": 1, "eager": 1, "cached": 1}
#: The maximal numbers of operations of programs; few programs are long.
LENGTHS = (1, 2, 2, 3, 3, 6)
#: Of N programs, one is traced anew for each mode.
TRACED_EVERY = 4
#: Of N programs that XLA has to compile, one runs. The others run without their last transformation
#: if they need XLA for that alone, and are left out otherwise.
COMPILED_EVERY = 16
#: Of N programs with derivatives of third order, which take the longest, one runs.
THIRD_ORDER_EVERY = 4
#: The number of programs that wait for the processes, so that these always have work.
WAITING = 24


# ---- tests ---------------------------------------------------------------------------------------


def test_text(name: str, program: Any, finding: Finding) -> str:
    """Returns the text of a test that fails until the finding is fixed."""
    lines = source(program).splitlines()
    call = {
        "reference": "reference_evaluator.jit(run)(*arguments)",
        "eager": "run(*arguments)",
        "close": "run(*arguments)",
        "disable_jit": "run(*arguments)",
    }.get(finding.way, "jax.jit(run)(*arguments)")
    if finding.theirs.get("status") == "ok":
        wanted = [each["elements"] for each in finding.theirs["results"]]
        types = [each["type"] for each in finding.theirs["results"]]
        checks = [
            f"    results = {call}",
            f"    expected = {wanted!r}".replace("nan", "np.nan").replace("inf", "np.inf"),
            f"    types = {types!r}",
            "    for result, elements, kind in zip(results, expected, types, strict=True):",
            "        assert f'{result.dtype}{list(result.shape)}' == kind.removesuffix(' weak')",
            "        flat = np.asarray(result).ravel()",
            "        if flat.dtype.kind == 'c':",
            "            flat = np.stack([flat.real, flat.imag], -1).ravel()",
            "        np.testing.assert_allclose(flat.astype(float), elements, rtol=1e-3)",
        ]
    else:
        kind = finding.theirs.get("kinds", ["Exception"])[0]
        checks = [f"    with pytest.raises({kind}):", f"        {call}"]
    return "\n".join(
        [
            "",
            "",
            f"def test_{name}():",
            f'    """{finding.heading[:80]}."""'.replace("\\", ""),
            *(f"    {line}".rstrip() for line in lines),
            *checks,
            "",
        ]
    )


HEADER = """# SPDX-License-Identifier: Apache-2.0
\"\"\"Programs that failed; written by tools/differential/fuzz_programs.py.\"\"\"

import numpy as np
import pytest

import olympus as jax
import olympus.export
import olympus.numpy as jnp
from olympus import lax
from olympus_ir.reference import reference_evaluator
"""


# ---- the search ----------------------------------------------------------------------------------


def drawn(seed: int, number: int, chooser: random.Random) -> Program | None:
    """Returns a program of a seed, or None if it is costly and left out."""
    length = chooser.choice(LENGTHS)
    program = random_program(seed, number, devices=DEVICES, length=length)
    if program.stack and program.stack[-1].name in ("sharded", "export"):
        if not chooser.randrange(COMPILED_EVERY):
            return program
        program = dataclasses.replace(program, stack=program.stack[:-1])
    if base_way(source(program)) == "jit" and chooser.randrange(COMPILED_EVERY):
        return None
    order = sum(ORDERS.get(step.name, 0) for step in program.stack)
    return None if order > 2 and chooser.randrange(THIRD_ORDER_EVERY) else program


def in_flight(
    options: argparse.Namespace, referee: Referee
) -> Iterator[tuple[int, Program, tuple[Any, Any, Any]]]:
    """Yields programs that the processes run, a few at a time, until the time is over."""
    end = time.monotonic() + options.seconds
    pending: collections.deque[Any] = collections.deque()
    count = 0
    for number in options.numbers or itertools.count(options.first):
        if time.monotonic() > end or count == options.count:
            break
        chooser = random.Random(f"{options.seed} {number}")
        program = drawn(options.seed, number, chooser)
        if program is None:
            continue
        count += 1
        shared = chooser.randrange(TRACED_EVERY) > 0
        peer = ""
        if number % options.jax_every == 0:
            peer = "values" if number % (4 * options.jax_every) == 0 else "types"
        way = chooser.choices(tuple(WAYS), tuple(WAYS.values()))[0]
        pending.append((number, program, referee.started(program, way, peer, shared=shared)))
        if len(pending) > WAITING:
            yield pending.popleft()
    yield from pending


def search(options: argparse.Namespace) -> int:
    """Runs programs until the time is over, and prints the findings."""
    referee = Referee(options.jax)
    groups: dict[str, list[int]] = collections.defaultdict(list)
    examples: dict[str, tuple[Any, Finding]] = {}
    explained = explanations("Composed programs")
    count = refused = 0
    ways: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    for number, program, started in in_flight(options, referee):
        count += 1
        found = referee.judged(program, *started)
        refused += started[1].result()[0]["status"] == "error"
        ways.update(started[0])
        ways["jax"] += started[2] is not None
        for finding in found:
            heading = finding.heading
            if any(fnmatch.fnmatchcase(heading, pattern) for pattern in explained):
                continue
            groups[heading].append(number)
            if heading not in examples:
                examples[heading] = program, finding
                print(f"{number}: {heading}", flush=True)
        if count % 500 == 0:
            rate = 60 * count / (time.monotonic() - start)
            print(
                f"{count} programs, {rate:.0f} a minute, {refused} refused, {len(groups)} kinds",
                flush=True,
            )
    report(options, referee, groups, examples)
    referee.close()
    print(
        f"{count} programs with seed {options.seed}, {refused} refused, "
        f"{len(groups)} kinds of findings"
    )
    print("outcomes: " + ", ".join(f"{way} {number}" for way, number in ways.most_common()))
    return int(bool(groups))


def report(options: argparse.Namespace, referee: Referee, groups: Any, examples: Any) -> None:
    """Prints the findings, reduces their programs, and writes them as tests."""
    tests = [HEADER]
    for heading, numbers in sorted(groups.items(), key=lambda item: -len(item[1])):
        program, finding = examples[heading]

        def fails(candidate: Any, finding: Finding = finding) -> bool:
            return finding in referee.findings(candidate, finding.way)

        small = program
        if options.shrink and finding.fault not in ("crash", "hang"):
            small = shrunk(program, fails, options.shrink)
        again = [each for each in referee.findings(small, finding.way) if each == finding]
        print(f"\n{len(numbers)} x {heading}, programs {numbers[:8]}")
        print(source(small))
        for each in again:
            for side in (each.ours, each.theirs):
                shown = side.get("trace") or json.dumps(side.get("results"))
                print("   ", shown[-1500:].replace("\n", "\n    "))
        if again:
            tests.append(test_text(f"program_{options.seed}_{numbers[0]}", small, again[0]))
    if options.tests and groups:
        pathlib.Path(options.tests).write_text("\n".join(tests), "utf-8")


def main() -> int:
    """Runs programs for the requested time and lists the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jax", help="an interpreter that has jax")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=10**9, help="the maximal number of programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--numbers", type=int, nargs="*", help="the programs to run")
    parser.add_argument(
        "--jax-every",
        type=int,
        default=16,
        help="JAX traces every N-th program, and computes the values of every fourth of these",
    )
    parser.add_argument(
        "--shrink",
        type=int,
        default=80,
        help="the number of attempts to reduce the program of a finding",
    )
    parser.add_argument("--tests", help="a file for the tests that show the findings")
    options = parser.parse_args()
    return search(options)


if __name__ == "__main__":
    sys.exit(main())
