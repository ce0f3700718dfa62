# SPDX-License-Identifier: Apache-2.0
"""Makes malformed calls at random and compares their outcomes in OLYMPUS and JAX.

Run it with an interpreter that has OLYMPUS; ``--jax`` is one that has jax 0.10.2::

    python tools/differential/fuzz_calls.py --jax ../jax/bin/python --seconds 300 --seed 1

Each call of `calls` is changed by `olympus_testing.malformed_calls` and evaluated in both
libraries, eagerly, compiled, batched or differentiated. A finding is one of these:

- the process dies, or a call takes longer than 20 seconds;
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
import concurrent.futures
import fnmatch
import inspect
import json
import pathlib
import random
import re
import resource
import sys
import time
import traceback
import warnings
from typing import Any

import calls
from explanations import explanations
from processes import Worker

#: Seconds that one call may take.
PATIENCE = 20
MEMORY = 24 * 2**30

# Errors that say that a call is malformed, or that it cannot be done.
EXPECTED = (
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    NotImplementedError,
    ArithmeticError,
    MemoryError,
)
# Words of errors that come from inside, not from a check of arguments.
INTERNAL = re.compile(
    "incompatible (function|constructor) arguments|truth value of an array|nanobind"
    "|object has no attribute|'NoneType' object|INTERNAL|RET_CHECK"
    "|unsupported operand|not subscriptable|not iterable|unhashable"
)  # fmt: skip
# Words of errors of Python itself, which are as good or bad as the words above.
PLAIN = re.compile("has no len|cannot be interpreted as an integer|cannot unpack|not iterable")

Outcome = dict[str, Any]


# ---- in either interpreter -----------------------------------------------------------------------


def library_frames(error: BaseException) -> list[str]:
    """Returns the frames of a traceback that are in a package of OLYMPUS."""
    frames = traceback.extract_tb(error.__traceback__)
    return [
        f"{frame.filename}:{frame.lineno} ({frame.name})"
        for frame in frames
        if re.search(r"[/\\\\]olympus(_\w+)?[/\\\\]", frame.filename)
    ]


def chained(error: BaseException) -> BaseException | None:
    """Returns the error that the traceback shows before the given error."""
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def description(error: BaseException) -> Outcome:
    """Returns the kinds, type, text, frames and chain of an error, as a user sees them."""
    before = chained(error)
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    return {
        "status": "error",
        "kinds": kinds[: kinds.index("Exception")] or ["Exception"],
        "type": type(error).__name__,
        "text": str(error),
        "frames": library_frames(error),
        "chained": f"{type(before).__name__}: {before}"[:300] if before else "",
    }


def type_of(leaf: Any) -> str:
    """Returns dtype and shape of an array; other objects have names of each library's own."""
    if not isinstance(leaf, type) and hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        return f"{leaf.dtype}{list(leaf.shape)}"
    return "object"


def evaluate(library: str, expression: str, dtype: str, mode: str) -> Outcome:
    """Evaluates an expression; returns the types of its results, or its error."""
    names = calls.namespace(library)
    root = names["root"]
    operands = []
    for name in calls.operands_of(expression):
        value = calls.operand(name, dtype, 2 if mode == "vmap" else None)
        value = names["jnp"].asarray(value, dtype=value.dtype)
        operands.append(names["random"].wrap_key_data(value) if name == "key" else value)
    fun = calls.function(expression, library)
    try:
        if mode == "jit":
            results = root.jit(fun)(*operands)
        elif mode == "vmap" and operands:
            results = root.vmap(fun)(*operands)
        elif mode == "grad" and operands:
            results = root.jacrev(fun)(*operands)
        else:
            results = fun(*operands)
        leaves = names["tree"].leaves(results)
        root.block_until_ready([leaf for leaf in leaves if isinstance(leaf, root.Array)])
    except Exception as error:
        return description(error)
    return {"status": "ok", "types": [type_of(leaf) for leaf in leaves][:20]}


def answer(library: str) -> None:
    """Evaluates the cases that arrive on standard input, one a line; one answer a line."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    calls.namespace(library)
    replies = sys.stdout
    sys.stdout = sys.stderr
    print("{}", file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(evaluate(library, *json.loads(line))), file=replies, flush=True)


# ---- generation ----------------------------------------------------------------------------------


def parameters(name: str) -> list[str]:
    """Returns the names of the parameters of a function of OLYMPUS; none if it is unknown."""
    try:
        function = eval(name, calls.namespace("olympus"))
        return [
            each.name
            for each in inspect.signature(function).parameters.values()
            if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        ]
    except Exception:
        return []


def generated(options: argparse.Namespace) -> Any:
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


# ---- judgement -----------------------------------------------------------------------------------


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
        elif INTERNAL.search(ours["text"]) and not (
            theirs and re.search(f"{INTERNAL.pattern}|{PLAIN.pattern}", theirs.get("text", ""))
        ):
            found.append("internal words")
        if ours["frames"]:
            found.append(f"{len(ours['frames'])} frames")
        if ours["chained"]:
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
    "Non-hashable static|[Uu]nhashable type|verifier errors|truth value of an array"
    "|object has no attribute|duplicate value in 'axis'|__hash__ and __eq__"
    "|incompatible function arguments|unsupported operand type|tuple index out of range"
    "|has no attribute data|has no len"
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
        return f"{outcome['type']}: " + re.sub(r"\s+", " ", outcome["text"])[:90]

    return f"{fault}: {short(ours)} | {short(theirs)}"


def explained(patterns: list[str], label: str, heading: str) -> bool:
    """Returns whether a pattern matches a call or the heading of a finding."""
    return any(
        fnmatch.fnmatchcase(text, pattern) for text in (label, heading) for pattern in patterns
    )


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
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer(options.answer)
        return 0
    return search(options)


def search(options: argparse.Namespace) -> int:
    """Makes calls until the time is over, and prints what was found."""
    workers = [Worker([sys.executable, __file__, "--answer", "olympus"], PATIENCE)]
    if options.jax:
        workers.append(Worker([options.jax, __file__, "--answer", "jax"], PATIENCE))
    patterns = explanations("Malformed calls")
    groups: dict[str, list[str]] = collections.defaultdict(list)
    cases: Any = generated(options)
    if options.replay:
        lines = pathlib.Path(options.replay).read_text("utf-8").splitlines()
        cases = [tuple(json.loads(line)["case"]) for line in lines]
    end = time.monotonic() + options.seconds
    count = others = 0
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        for case in cases:
            if time.monotonic() > end or count >= options.count:
                break
            count += 1
            outcomes = list(threads.map(lambda worker, case=case: worker.ask(case), workers))
            ours, theirs = outcomes[0], outcomes[1] if options.jax else None
            found = faults(ours, theirs)
            if theirs and ours["status"] == theirs["status"] == "error":
                others += not agree(ours, theirs)
            label = f"{case[0]}  [{case[1]}, {case[2]}]"
            headings = [group(fault, ours, theirs) for fault in found]
            left = [each for each in headings if not explained(patterns, label, each)]
            if not left:
                continue
            for heading in left:
                groups[heading].append(label)
            if options.output:
                finding = {"case": case, "faults": found, "ours": ours, "theirs": theirs}
                with open(options.output, "a", encoding="utf-8") as output:
                    print(json.dumps(finding), file=output)
    for worker in workers:
        worker.close()
    for heading, labels in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(labels)} x {heading}")
        for label in labels[:3]:
            print(f"    {label}")
    print(
        f"{count} calls with seed {options.seed}, {others} with another type of error, "
        f"{len(groups)} kinds of findings"
    )
    return int(bool(groups))


if __name__ == "__main__":
    sys.exit(main())
