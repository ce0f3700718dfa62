# SPDX-License-Identifier: Apache-2.0
"""Makes malformed calls at random and compares their outcomes in OLYMPUS and JAX.

Run it with an interpreter that has OLYMPUS; ``--jax`` is one that has jax 0.10.2::

    python tools/differential/fuzz_calls.py --jax ../jax/bin/python --seconds 300 --seed 1

Each call of `calls` is changed by `olympus_testing.malformed_calls` and evaluated in both
libraries, eagerly, compiled, batched or differentiated. A finding is one of these:

- the process dies, or a call takes longer than 20 seconds of processor time;
- an internal error: an exception of a type that no caller expects, or with the text of one;
- a traceback that shows frames of the library, or an error chained to one of the library's;
- with ``--jax``, an outcome that differs from JAX's: only one library has an error, or the results
  differ in type. If JAX's error is internal (`ACCIDENTAL`), a result is not a finding. Two errors
  of different types that both report a malformed call are not a finding either, because the call
  may have several mistakes. Such pairs are counted.

The findings are grouped by their errors. The exit status is 1 if there is a finding whose call and
heading match no pattern in the section "Malformed calls" of docs/differences.md.
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

#: Maximal processor time of one call, in seconds.
PATIENCE = 20
RUNNER = str(pathlib.Path(__file__).with_name("run_calls.py"))

# Errors that report a malformed call or an unsupported operation.
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
# Texts of internal errors, as opposed to errors from checks of arguments.
INTERNAL = re.compile(
    "incompatible (function|constructor) arguments|truth value of an (?:empty )?array|nanobind"
    "|is not defined|object has no attribute|INTERNAL|RET_CHECK"
    "|unsupported operand|not subscriptable|not iterable|unhashable"
)  # fmt: skip
# Texts of errors of Python itself, which count like the texts above.
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
    """Returns the names of the parameters of a function of OLYMPUS; none if it is unknown.

    The function may be a method of an operand or of a result: ``x.at[i].set``.
    """
    try:
        array = calls.namespace("olympus")["jnp"].asarray
        arrays = [array(calls.operand(operand, "float32")) for operand in calls.operands_of(name)]
        function = calls.function(name, "olympus")(*arrays)
        return [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            and not parameter.name.startswith("_")
        ]
    except Exception:
        return []


def generated(options: argparse.Namespace) -> Iterator[Case]:
    """Yields an infinite sequence of cases: the expression, its dtype and mode."""
    from olympus_testing.malformed_calls import malformed

    generator = random.Random(options.seed)
    listed = {**calls.sections(), **calls.sections(folder=calls.OBJECTS)}
    valid = [each for name in options.sections or listed for each in listed[name]]
    valid = [each for each in valid if re.search(options.match, each)]
    while True:
        expression = malformed(generator.choice(valid), generator, parameters)
        dtype = generator.choice(("float32", "float32", "float32", "int32", "bool", "complex64"))
        mode = generator.choice(("eager",) * 6 + ("jit",) * 2 + ("vmap", "grad"))
        yield expression, dtype, mode


# ---- judgment -----------------------------------------------------------------------------------


def faults(ours: Outcome, theirs: Outcome | None) -> list[str]:
    """Returns the faults of an outcome, alone and in comparison with JAX's outcome."""
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
    """Returns whether an outcome is an error with the text of an internal error."""
    words = f"{INTERNAL.pattern}|{PLAIN.pattern}"
    return outcome["status"] == "error" and (
        accidental(outcome) or bool(re.search(words, outcome["text"]))
    )


def accidental(outcome: Outcome) -> bool:
    """Returns whether an error is internal, as opposed to an error from a check of arguments."""
    return outcome["type"] in ACCIDENTS or bool(ACCIDENTAL.search(outcome["text"]))


def agree(ours: Outcome, theirs: Outcome) -> bool:
    """Returns whether a program that catches JAX's error also catches OLYMPUS's error."""
    return theirs["kinds"][0] in (*ours["kinds"], "Exception") or accidental(theirs)


def group(fault: str, ours: Outcome, theirs: Outcome | None) -> str:
    """Returns the heading under which the report lists a finding."""
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
    """The processes of both libraries, and JAX's earlier answers.

    JAX traces the calls. If that shows a difference, JAX also computes the results.
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
        """Yields each case with its outcomes; a few outcomes are computed in advance."""
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
        """Returns JAX's outcome with computed results."""
        return self.computing and self.computing.ask((*case, True))

    def close(self) -> None:
        """Ends the processes."""
        for worker in (self.ours, self.theirs and self.theirs.worker, self.computing):
            if worker:
                worker.close()
        self.cache.cleanup()


def limited(cases: Iterator[Case], options: argparse.Namespace) -> Iterator[Case]:
    """Yields cases until the time is over, or the requested number is reached."""
    end = time.monotonic() + options.seconds
    for case in itertools.islice(cases, options.count):
        if time.monotonic() > end:
            return
        yield case


def search(options: argparse.Namespace) -> int:
    """Makes calls until the time is over, and prints the findings."""
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
            return [heading for heading in headings if not explained(patterns, label, heading)]

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
    """Makes calls for the requested time and lists the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jax", help="an interpreter that has jax")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=10**9, help="the maximal number of calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sections", nargs="*", default=[])
    parser.add_argument(
        "--match",
        default="",
        help="a regular expression; only valid calls that match it are changed",
    )
    parser.add_argument("--output", help="a file for the findings, one on each line")
    parser.add_argument("--replay", help="a file of findings; their calls are repeated")
    parser.add_argument("--keep", help="a file that stores the answers of JAX")
    parser.add_argument(
        "--compute-every", type=int, default=20, help="JAX computes the results of every N-th call"
    )
    return search(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
