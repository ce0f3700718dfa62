# SPDX-License-Identifier: Apache-2.0
"""Makes malformed calls at random and compares their outcomes in OLYMPUS and JAX.

Run it with an interpreter that has OLYMPUS; ``--jax`` is one that has jax 0.10.2::

    python tools/differential/fuzz_calls.py --jax ../jax/bin/python --seconds 300 --seed 1

Each call of `calls` is changed by `olympus_testing.malformed_calls` and evaluated in both
libraries, eagerly, compiled, batched or differentiated. A finding is one of these:

- the process dies, or a call takes longer than 20 seconds of processor time;
- an internal error: an exception of a type that no caller expects, or with the words of one;
- a traceback that shows frames of the library, or an error chained to one of the library's;
- with ``--jax``, an outcome that differs from JAX's: an error where the other has a result, or
  results of other types. Where JAX's error comes from its insides (`ACCIDENTAL`), a result is no
  finding. Nor are two errors of different types that both say that the call is malformed: it may
  have several mistakes, and either may be reported first. They are counted.

The findings are grouped by their errors. The exit status is 1 where there are findings of which no
pattern in the section "Malformed calls" of docs/differences.md matches the call or the heading.
"""

from __future__ import annotations

import argparse
import collections
import functools
import inspect
import itertools
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import calls
from explanations import explained, explanations
from processes import CHEAP_COMPILATION, Answers, Worker

#: Seconds of processor time that one call may take.
PATIENCE = 20
RUNNER = str(pathlib.Path(__file__).with_name("run_calls.py"))

# Errors that say that a call is malformed, or that it cannot be done.
EXPECTED = (
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    NotImplementedError,
    ArithmeticError,
    MemoryError,
    NameError,  # an unbound axis name
)
# Words of errors that come from inside, not from a check of arguments.
INTERNAL = re.compile(
    "incompatible (function|constructor) arguments|truth value of an (?:empty )?array|nanobind"
    "|is not defined|object has no attribute|INTERNAL|RET_CHECK"
    "|unsupported operand|not subscriptable|not iterable|unhashable"
)  # fmt: skip
# Words of errors of Python itself, which are as good or bad as the words above.
PLAIN = re.compile(
    "not supported between|has no len|(not enough|too many) values to unpack|cannot unpack"
    "|cannot be interpreted as an integer|not iterable"
)

Outcome = dict[str, Any]
#: An expression, its dtype, and its mode.
Case = tuple[str, str, str]


# ---- generation ----------------------------------------------------------------------------------


@functools.cache
def parameters(name: str) -> list[str]:
    """Returns the names of the parameters of a function of OLYMPUS; none if it is unknown."""
    try:
        function = eval(name, calls.namespace("olympus"))
        return [
            each.name
            for each in inspect.signature(function).parameters.values()
            if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
            and not each.name.startswith("_")
        ]
    except Exception:
        return []


def generated(options: argparse.Namespace) -> Iterator[Case]:
    """Yields cases without end: the expression, its dtype and mode."""
    from olympus_testing.malformed_calls import malformed

    generator = random.Random(options.seed)
    valid = [each for group in calls.sections(*options.sections).values() for each in group]
    valid = [each for each in valid if re.search(options.match, each)]
    while True:
        expression = malformed(generator.choice(valid), generator, parameters)
        dtype = generator.choice(("float32", "float32", "float32", "int32", "bool", "complex64"))
        mode = generator.choice(("eager",) * 6 + ("jit",) * 2 + ("vmap", "grad"))
        yield expression, dtype, mode


# ---- judgment -----------------------------------------------------------------------------------


def faults(ours: Outcome, theirs: Outcome | None) -> list[str]:
    """Returns the faults of an outcome, in itself and compared with JAX's."""
    found = []
    status = ours["status"]
    if status in ("crash", "hang"):
        return [status]
    if status == "error":
        kinds = ours["kinds"]
        same = theirs is not None and theirs["status"] == "error" and agree(ours, theirs)
        if not same and not any(kind.__name__ in kinds for kind in EXPECTED):
            found.append("internal error")
        elif INTERNAL.search(ours["text"]) and not (theirs and internal(theirs)):
            found.append("internal words")
        if ours["frames"]:
            found.append(f"{len(ours['frames'])} frames")
        if ours["chained"] and not (theirs and theirs.get("chained")):
            found.append("chained")
    if theirs is None or theirs["status"] in ("crash", "hang"):
        return found
    if theirs["status"] != status:
        if status == "error" or not accidental(theirs):
            found.append("raises" if status == "error" else "does not raise")
    elif status == "ok" and ours["types"] != theirs["types"]:
        found.append("results differ")
    return found


# Types of JAX's internal errors; the errors of OLYMPUS may have other types.
ACCIDENTS = {
    *("AssertionError", "AttributeError", "UnboundLocalError", "RecursionError"),
    *("XlaRuntimeError", "JaxRuntimeError", "MLIRError"),
}
ACCIDENTAL = re.compile(
    "Non-hashable static|[Uu]nhashable type|verifier errors|truth value of an (?:empty )?array"
    "|is not defined|object has no attribute|duplicate value in 'axis'|__hash__ and __eq__"
    "|incompatible function arguments|unsupported operand type|tuple index out of range"
    "|has no attribute data|has no len"
)


def internal(outcome: Outcome) -> bool:
    """Returns whether an outcome is an error with words from the inside."""
    words = f"{INTERNAL.pattern}|{PLAIN.pattern}"
    return outcome["status"] == "error" and (
        accidental(outcome) or bool(re.search(words, outcome["text"]))
    )


def accidental(outcome: Outcome) -> bool:
    """Returns whether an error comes from inside the library, not from a check of arguments."""
    return outcome["type"] in ACCIDENTS or bool(ACCIDENTAL.search(outcome["text"]))


def agree(ours: Outcome, theirs: Outcome) -> bool:
    """Returns whether a program that catches JAX's error catches ours."""
    return theirs["kinds"][0] in ours["kinds"] or accidental(theirs)


def group(fault: str, ours: Outcome, theirs: Outcome | None) -> str:
    """Returns the heading under which a finding is listed."""
    if fault.endswith("frames"):
        return f"frames: {ours['frames'][-1]}"
    if fault == "chained":
        return f"chained: {ours['chained'][:80]}"

    def short(outcome: Outcome | None) -> str:
        if outcome is None or outcome["status"] in ("crash", "hang"):
            return str(outcome and outcome["status"])
        if outcome["status"] == "ok":
            return "ok"
        text = re.sub(" at 0x[0-9a-f]+", "", outcome["text"])
        return f"{outcome['type']}: " + re.sub(r"\s+", " ", text)[:90]

    return f"{fault}: {short(ours)} | {short(theirs)}"


class Libraries:
    """The processes of both libraries, and what JAX answered before.

    JAX traces the calls. Where that shows a difference, it computes the results.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.cache = tempfile.TemporaryDirectory(prefix="olympus-fuzz-")
        settings = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": CHEAP_COMPILATION}
        settings["OLYMPUS_COMPILATION_CACHE_DIR"] = self.cache.name
        settings["OLYMPUS_SHOW_COMPILATION"] = "0"
        self.ours = Worker([sys.executable, RUNNER, "olympus"], PATIENCE, settings)
        self.theirs = self.computing = None
        if options.jax:
            command = [options.jax, RUNNER, "jax"]
            self.theirs = Answers(Worker(command, PATIENCE, settings), options.keep)
            self.computing = Worker(command, PATIENCE, settings)
        self.every = options.compute_every

    def outcomes(self, cases: Iterator[Case]) -> Iterator[tuple[Case, Outcome, Outcome | None]]:
        """Yields each case with its outcomes, of which a few are made ahead."""
        listed, for_us, for_them = itertools.tee(cases, 3)
        ours = self.ours.answers((*case, True) for case in for_us)
        theirs: Iterator[Outcome | None] = itertools.repeat(None)
        if self.theirs:
            numbered = enumerate(for_them, 1)
            theirs = self.theirs.answers(
                (*case, number % self.every == 0) for number, case in numbered
            )
        return zip(listed, ours, theirs, strict=False)

    def computed(self, case: Case) -> Outcome | None:
        """Returns JAX's outcome where the results are computed."""
        return self.computing and self.computing.ask((*case, True))

    def close(self) -> None:
        """Ends the processes."""
        for worker in (self.ours, self.theirs and self.theirs.worker, self.computing):
            if worker:
                worker.close()
        self.cache.cleanup()


def limited(cases: Iterator[Case], options: argparse.Namespace) -> Iterator[Case]:
    """Yields cases until the time is over, or there are enough."""
    end = time.monotonic() + options.seconds
    for case in itertools.islice(cases, options.count):
        if time.monotonic() > end:
            return
        yield case


def search(options: argparse.Namespace) -> int:
    """Makes calls until the time is over, and prints what was found."""
    libraries = Libraries(options)
    patterns = explanations("Malformed calls")
    groups: dict[str, list[str]] = collections.defaultdict(list)
    cases: Iterator[Case] = generated(options)
    if options.replay:
        lines = pathlib.Path(options.replay).read_text("utf-8").splitlines()
        cases = (tuple(json.loads(line)["case"]) for line in lines)
    count = others = 0
    start = time.monotonic()
    for case, ours, theirs in libraries.outcomes(limited(cases, options)):
        count += 1
        label = f"{case[0]}  [{case[1]}, {case[2]}]"

        def left(theirs: Outcome | None, ours: Outcome = ours, label: str = label) -> list[str]:
            headings = [group(fault, ours, theirs) for fault in faults(ours, theirs)]
            return [each for each in headings if not explained(patterns, label, each)]

        headings = left(theirs)
        if headings and theirs:
            theirs = libraries.computed(case)
            headings = left(theirs)
        if theirs and ours["status"] == theirs["status"] == "error":
            others += not agree(ours, theirs)
        for heading in headings:
            groups[heading].append(label)
        if headings and options.output:
            finding = {"case": case, "faults": headings, "ours": ours, "theirs": theirs}
            with open(options.output, "a", encoding="utf-8") as output:
                print(json.dumps(finding), file=output)
        if count % 1000 == 0:
            rate = 60 * count / (time.monotonic() - start)
            print(f"{count} calls, {rate:.0f} a minute, {len(groups)} kinds", flush=True)
    libraries.close()
    for heading, labels in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(labels)} x {heading}")
        for label in labels[:3]:
            print(f"    {label}")
    print(
        f"{count} calls with seed {options.seed}, {others} with another type of error, "
        f"{len(groups)} kinds of findings"
    )
    return int(bool(groups))


def main() -> int:
    """Makes calls for the time given and lists the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jax", help="an interpreter that has jax")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=10**9, help="the number of calls at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sections", nargs="*", default=[])
    parser.add_argument("--match", default="", help="a regular expression that valid calls contain")
    parser.add_argument("--output", help="a file for the findings, one a line")
    parser.add_argument("--replay", help="a file of findings whose calls are made again")
    parser.add_argument("--keep", help="a file that keeps the answers of JAX")
    parser.add_argument(
        "--compute-every", type=int, default=20, help="JAX computes one call in so many"
    )
    return search(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
