# SPDX-License-Identifier: Apache-2.0
"""Compares values, dtypes, weak types and kinds of errors between OLYMPUS and JAX.

Run it with an interpreter that has OLYMPUS; ``--jax`` is one that has jax 0.10.2::

    python tools/differential/values.py --jax ../jax/bin/python --shard 1/8

A case is an expression of `calls`, a dtype, a mode and a setting of `sweep`; here the modes run the
function. ``--shard K/N`` evaluates every N-th expression. OLYMPUS runs each mode by itself. JAX
traces each mode for its types and errors, and compiles all modes of an expression as one program
for their values (see `fused`), in half the time. ``--keep FOLDER --reuse`` keeps the outcomes of
JAX on disk.

Values are equal within a tolerance of their dtype, relative to the largest element of the result.
The exit status is 1 if no pattern in the sections "Values", "Settings" and "Options" of
docs/differences.md explains a difference.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import calls
import ml_dtypes
import numpy as np
import sweep
from explanations import explained, explanations
from processes import CHEAP_COMPILATION

# Multiples of the machine epsilon by which values may differ: algorithms may round differently.
TOLERANCE = 512
DTYPES = ["float32", "int32", "bool", "uint8", "float16", "bfloat16", "complex64"]
MODES = ["eager", "jit", "runvmap", "rungrad"]


class Outcome(NamedTuple):
    """The outcome of a case.

    Attributes:
      status: "ok", or "error" with the builtin kinds of the error.
      types: the types of the results, as `sweep.Library.types` returns them.
      values: the results as arrays; None for other results.
      message: the text of an error.
    """

    status: str
    types: tuple[Any, ...] = ()
    values: tuple[np.ndarray | None, ...] = ()
    message: str = ""


# ---- in both interpreters ------------------------------------------------------------------------


def _run_vmap(
    library: sweep.Library, fun: Callable, operands: list[Any], positions: list[int]
) -> Any:
    return library.root.vmap(fun)(*operands)


def _values(library: sweep.Library, results: Any) -> tuple[np.ndarray | None, ...]:
    found: list[np.ndarray | None] = []
    for leaf in library.names["tree"].leaves(results):
        if not hasattr(leaf, "dtype") or not hasattr(leaf, "shape"):
            found.append(None)
        elif library.names["jnp"].issubdtype(leaf.dtype, library.root.dtypes.extended):
            found.append(np.asarray(library.names["random"].key_data(leaf)))
        else:
            found.append(np.asarray(leaf))
    return tuple(found)


class Case(NamedTuple):
    """A mode of an expression with its operands.

    Attributes:
      mode: the mode.
      expression: the expression.
      operands: arrays of the library.
      positions: the operands of floating and complex dtypes.
    """

    mode: str
    expression: str
    operands: list[Any]
    positions: list[int]

    def run(self, library: sweep.Library, *operands: Any) -> Any:
        """Calls the function of the expression with operands, in the mode."""
        run = {**sweep.MODES, "runvmap": _run_vmap}[self.mode]
        fun = calls.function(self.expression, library.name)
        return run(library, fun, list(operands), self.positions)


def prepared(library: sweep.Library, expression: str, dtype: str, mode: str) -> Case | None:
    """Returns a case; None if the mode does not apply to the expression."""
    names = calls.operands_of(expression)
    varied = [name for name in names if calls.OPERANDS[name].dtype is None]
    if mode == "runvmap" and not varied:
        return None
    operands = [library.operand(name, dtype, 2 if mode == "runvmap" else None) for name in names]
    positions = [
        position
        for position, name in enumerate(names)
        if name not in ("key", "old")
        and library.names["jnp"].issubdtype(operands[position].dtype, np.inexact)
    ]
    return (
        None if mode == "rungrad" and not positions else Case(mode, expression, operands, positions)
    )


def failed(error: Exception) -> Outcome:
    """Returns the outcome of a case that raised an error."""
    return Outcome(f"error: {sweep.kind_of(error)}", message=f"{type(error).__name__}: {error}")


def single(library: sweep.Library, case: Case) -> Outcome:
    """Runs a case by itself."""
    try:
        results = case.run(library, *case.operands)
        return Outcome("ok", tuple(library.types(results)), _values(library, results))
    except Exception as error:
        return failed(error)


def _traced(library: sweep.Library, case: Case) -> Outcome | None:
    """Returns types or error of a case by tracing it; None if only a run determines them.

    A run is needed if the function reads values, or returns leaves that are not arrays.
    """
    leaves: list[Any] = []

    def noted(*operands: Any) -> Any:
        results = case.run(library, *operands)
        leaves[:] = library.names["tree"].leaves(results)
        return results

    try:
        results = library.root.eval_shape(noted, *case.operands)
    except Exception as error:
        return None if case.mode == "eager" else failed(error)
    if not all(isinstance(leaf, library.root.core.Tracer) for leaf in leaves):
        return None
    return Outcome("ok", tuple(library.types(results)))


def fused(library: sweep.Library, cases: list[Case]) -> list[Outcome]:
    """Returns the outcomes of the modes of an expression; one compiled program computes values.

    The trace determines the types and errors of a jitted, batched or differentiated function. If
    the trace succeeds, it also determines those of an eager function. Each remaining mode runs by
    itself.
    """
    found = [_traced(library, case) for case in cases]
    together = [
        case for case, known in zip(cases, found, strict=True) if known and known.status == "ok"
    ]
    try:
        ends = np.cumsum([len(case.operands) for case in together])
        joined = library.root.jit(
            lambda *given: [
                case.run(library, *given[end - len(case.operands) : end])
                for case, end in zip(together, ends, strict=True)
            ]
        )
        results = iter(joined(*(operand for case in together for operand in case.operands)))
        return [
            known._replace(values=_values(library, next(results)))
            if known and known.status == "ok"
            else known or single(library, case)
            for case, known in zip(cases, found, strict=True)
        ]
    except Exception:
        return [single(library, case) for case in cases]


def record(options: argparse.Namespace) -> None:
    """Writes the outcomes of one shard under one setting in one library."""
    name, setting, path = options.record
    library = sweep.Library(name)
    flags = sweep.SETTINGS[setting]
    library.update({flag: value for flag, value in flags.items() if flag in sweep.LASTING})
    passing = {flag: value for flag, value in flags.items() if flag not in sweep.LASTING}
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (section, expression, dtype), group in itertools.groupby(
            sweep.cases(options), key=lambda case: case[:3]
        ):
            modes = [mode for *_, mode in group]
            results = outcomes(library, expression, dtype, modes, passing)
            for mode, result in results.items():
                found[f"{setting}-{section}-{mode}-{dtype}-{expression}"] = result
    pathlib.Path(path).write_bytes(pickle.dumps(found))


# Flags that inspect the values of single operations. Under these flags each mode runs by itself.
LOOKING = {"debug_nans", "debug_infs", "enable_checks", "transfer_guard", "no_tracing"}


def outcomes(
    library: sweep.Library, expression: str, dtype: str, modes: list[str], flags: dict[str, Any]
) -> dict[str, Outcome]:
    """Returns the outcomes of the modes that apply to an expression, under flags."""
    cases = [
        case for mode in modes if (case := prepared(library, expression, dtype, mode)) is not None
    ]
    together = library.name == "jax" and not LOOKING & set(flags)
    try:
        library.update(flags)
        results = fused(library, cases) if together else [single(library, case) for case in cases]
    finally:
        library.update({flag: sweep.DEFAULTS[flag] for flag in flags})
    return {case.mode: result for case, result in zip(cases, results, strict=True)}


# ---- comparison ----------------------------------------------------------------------------------


def _eps(dtype: np.dtype) -> float:
    return float(ml_dtypes.finfo(np.zeros(0, dtype).real.dtype).eps)


def apart(mine: np.ndarray, other: np.ndarray) -> float:
    """Returns the largest distance of elements in machine epsilons of the largest element."""
    if mine.dtype.kind in "biu?" or mine.dtype.itemsize == 0 or mine.dtype.kind in "SUOV":
        return 0.0 if mine.tobytes() == other.tobytes() else _apart_small(mine, other)
    wide: Any = np.complex128 if mine.dtype.kind == "c" else np.float64
    a, b = mine.astype(wide).ravel(), other.astype(wide).ravel()
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        finite = np.abs(b[np.isfinite(b)])
        scale = max(1e-30, float(np.max(finite, initial=0.0)))
        distance = np.where(same, 0.0, np.abs(a - b) / (scale * _eps(mine.dtype)))
    return float(np.max(np.where(np.isnan(distance), np.inf, distance), initial=0.0))


def _apart_small(mine: np.ndarray, other: np.ndarray) -> float:
    """Returns the distance of integers and of dtypes of few bits: zero or infinite."""
    try:
        a, b = mine.astype(np.float64), other.astype(np.float64)
    except (TypeError, ValueError):
        return float("inf")
    equal = np.array_equal(a, b, equal_nan=True)
    if equal or mine.dtype.kind in "biu":
        return 0.0 if equal else float("inf")
    return float(np.nanmax(np.abs(a - b))) / (float(np.nanmax(np.abs(b))) * _eps(mine.dtype))


def difference(ours: Outcome, theirs: Outcome) -> str:
    """Describes the difference of two outcomes; empty if they agree."""
    if not sweep.agree(ours.status, theirs.status):
        text, who = (
            (theirs.message, "does not raise") if ours.status == "ok" else (ours.message, "raises")
        )
        return f"{ours.status} | {theirs.status} ({who}: {' '.join(text.split())[:150]})"
    if ours.types != theirs.types:
        return f"types {str(ours.types)[:200]} | {str(theirs.types)[:200]}"
    for mine, other in zip(ours.values, theirs.values, strict=True):
        if mine is not None and other is not None and apart(mine, other) > TOLERANCE:
            numbers = " | ".join(str(each.ravel()[:4]) for each in (mine, other))
            return f"values {' '.join(numbers.split())}"
    return ""


def recorded(options: argparse.Namespace, name: str, interpreter: str, setting: str) -> dict:
    """Records the outcomes of a setting in a process of the interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        cases = repr((list(sweep.cases(options)), list(calls.OPERANDS.items())))
        digest = zlib.crc32(
            cases.encode()
        )  # the digest distinguishes recorded cases from other cases
        kept = f"{name}-{setting}-{options.shard.replace('/', '-')}-{digest:08x}"
        path = pathlib.Path(options.keep or folder) / kept
        if not (options.reuse and name == "jax" and path.exists()):
            command = [interpreter, __file__, "--record", name, setting, str(path)]
            for option in ("sections", "dtypes", "modes"):
                command += [f"--{option}", *getattr(options, option)]
            command += ["--match", options.match, "--shard", options.shard]
            command += ["--calls", str(options.calls)]
            cheap = {**os.environ, "XLA_FLAGS": CHEAP_COMPILATION}
            subprocess.run(command, check=True, env=cheap)
        return pickle.loads(path.read_bytes())


def compare(options: argparse.Namespace, setting: str) -> tuple[int, int]:
    """Lists the differences of a setting; returns the numbers of cases and unexplained ones."""
    theirs = recorded(options, "jax", options.jax, setting)
    ours = recorded(options, "olympus", sys.executable, setting)
    patterns = [
        pattern for part in ("Values", "Settings", "Options") for pattern in explanations(part)
    ]
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for label, result in theirs.items():
        found = difference(ours.get(label, Outcome("missing")), result)
        # Patterns name the modes of `sweep`, which trace functions.
        traced = re.sub("-run(vmap|grad)-", r"-\1-", label)
        known = any(explained(patterns, each, found) for each in (label, traced))
        if found and (options.all or not known):
            groups[found].append(label)
    for description, labels in groups.items():
        print(f"{description}\n" + "".join(f"    {label}\n" for label in labels))
    return len(theirs), sum(map(len, groups.values()))


def main() -> int:
    """Compares the values of one shard under each setting and lists the differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jax", help="an interpreter that has jax")
    parser.add_argument("--settings", nargs="+", default=["default", "x64"])
    parser.add_argument("--sections", nargs="*", default=[])
    parser.add_argument("--dtypes", nargs="+", default=DTYPES)
    parser.add_argument("--modes", nargs="+", default=MODES)
    parser.add_argument(
        "--match",
        default="",
        help="a regular expression; only expressions that match it are evaluated",
    )
    parser.add_argument(
        "--shard", default="1/1", help="K/N: every N-th expression, beginning with the K-th"
    )
    parser.add_argument(
        "--calls", type=pathlib.Path, default=calls.FOLDER, help="a folder of calls"
    )
    parser.add_argument("--keep", help="a folder for the recorded outcomes")
    parser.add_argument("--reuse", action="store_true", help="reuse recorded outcomes of JAX")
    parser.add_argument("--all", action="store_true", help="also list explained differences")
    parser.add_argument("--record", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        record(options)
        return 0
    if not options.jax:
        parser.error("--jax is needed")
    cases = left = 0
    for setting in options.settings:
        found = compare(options, setting)
        cases, left = cases + found[0], left + found[1]
    print(f"{cases} cases, {left} unexplained differences")
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
