# SPDX-License-Identifier: Apache-2.0
"""Evaluates the calls of `calls` under settings of the library, in OLYMPUS and in JAX.

Run it with an interpreter that has OLYMPUS; ``--jax`` is one that has jax 0.10.2::

    python tools/differential/sweep.py --jax ../jax/bin/python --settings rank strict

A case is an expression, a dtype, a mode (see `MODES`) and a setting (see `SETTINGS`). Its outcome
is the types of the results, or the kind of the error. The cases in which the libraries differ are
listed by their errors. A pattern explains a case by its label or by the description of the
difference. The exit status is 1 if no pattern in the sections "Settings" and "Options" of
docs/differences.md explains a case. ``--write-refusals`` writes the expressions that JAX rejects
when it traces them, one file for each setting. ``--write-containers`` writes the containers of
results, for expressions with several results. Tests read these files.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import calls
import numpy as np
from explanations import explained, explanations

# The flags of each setting, without their prefix.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "rank": {"numpy_rank_promotion": "raise"},
    "strict": {"numpy_dtype_promotion": "strict"},
    "both": {"numpy_rank_promotion": "raise", "numpy_dtype_promotion": "strict"},
    "checks": {"enable_checks": True},
    "nans": {"debug_nans": True},
    "infs": {"debug_infs": True},
    "indices": {"check_static_indices": True},
    "keys": {"legacy_prng_key": "error"},
    "transfers": {"transfer_guard": "disallow"},
    "x64": {"enable_x64": True},
    "x64strict": {"enable_x64": True, "numpy_dtype_promotion": "strict"},
    "precision": {"default_matmul_precision": "highest"},
    "algorithm": {"default_matmul_precision": "BF16_BF16_F32_X3"},
    "no_tracing": {"no_tracing": True},
    "explicit": {"explicit_x64_dtypes": "allow"},
}

# Status and detail: "ok" and the types of the results, or the kind of an error and its message.
Outcome = tuple[str, Any]


# ---- in both interpreters ------------------------------------------------------------------------


class Library:
    """OLYMPUS or JAX, with the operations that cases need."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names = calls.namespace(name)
        self.root = self.names["root"]

    def update(self, flags: dict[str, Any]) -> None:
        """Sets flags for the whole process."""
        for flag, value in flags.items():
            self.root.config.update(f"{self.name}_{flag}", value)

    def operand(self, name: str, dtype: str, batch: int | None = None) -> Any:
        """Returns an operand as an array of the library."""
        value = calls.operand(name, dtype, batch)
        value = self.names["jnp"].asarray(value, dtype=value.dtype)
        return self.names["random"].wrap_key_data(value) if name == "key" else value

    def types(self, results: Any) -> list[Any]:
        """Returns the containers of results and the type of each leaf."""
        leaves = self.names["tree"].leaves(results)
        return [containers(results), *(self.type(leaf) for leaf in leaves)]

    def type(self, leaf: Any) -> Any:
        """Returns the type of a leaf: dtype, shape, weak type; for objects of NumPy, the class."""
        if not hasattr(leaf, "dtype") or not hasattr(leaf, "shape"):
            return type(leaf).__name__
        if isinstance(leaf, np.ndarray | np.generic):
            return type(leaf).__name__, str(leaf.dtype), leaf.shape
        aval = getattr(leaf, "aval", leaf)
        return str(leaf.dtype), tuple(leaf.shape), bool(getattr(aval, "weak_type", False))


def containers(value: Any) -> str:
    """Returns the Python containers that hold results: ``"(*, [*])"``, ``"SVDResult(U=*)"``."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {containers(item)}" for key, item in value.items()) + "}"
    if not isinstance(value, list | tuple):
        return "*"
    items = [containers(item) for item in value]
    if isinstance(value, list):
        return f"[{', '.join(items)}]"
    fields = getattr(value, "_fields", None)
    if fields is None:
        return f"({', '.join(items)})"
    named = ", ".join(f"{field}={item}" for field, item in zip(fields, items, strict=True))
    return f"{type(value).__name__}({named})"


# The dtypes of Python numbers: arrays of these may have weak types.
WEAK_DTYPES = ("int32", "float32", "complex64", "int64", "float64", "complex128")


def _eager(library: Library, fun: Callable, operands: list[Any], positions: list[int]) -> Any:
    return fun(*operands)


def _jit(library: Library, fun: Callable, operands: list[Any], positions: list[int]) -> Any:
    return library.root.jit(fun)(*operands)


def _trace(library: Library, fun: Callable, operands: list[Any], positions: list[int]) -> Any:
    return library.root.eval_shape(fun, *operands)


def _weak(library: Library, fun: Callable, operands: list[Any], positions: list[int]) -> Any:
    weak = [
        library.root.ShapeDtypeStruct(operand.shape, operand.dtype, weak_type=True)
        if str(operand.dtype) in WEAK_DTYPES
        else operand
        for operand in operands
    ]
    return library.root.eval_shape(fun, *weak)


def _vmap(library: Library, fun: Callable, operands: list[Any], positions: list[int]) -> Any:
    return library.root.eval_shape(library.root.vmap(fun), *operands)


def _gradient(library: Library, fun: Callable, positions: list[int]) -> Callable:
    def total(*operands: Any) -> Any:
        leaves = library.names["tree"].leaves(fun(*operands))
        inexact = [
            leaf for leaf in leaves if library.names["jnp"].issubdtype(leaf.dtype, np.inexact)
        ]
        return sum((leaf.real.sum().astype("float32") for leaf in inexact), np.float32(0))

    return library.root.grad(total, argnums=tuple(positions))


def _grad(library: Library, fun: Callable, operands: list[Any], positions: list[int]) -> Any:
    return library.root.eval_shape(_gradient(library, fun, positions), *operands)


def _rungrad(library: Library, fun: Callable, operands: list[Any], positions: list[int]) -> Any:
    return _gradient(library, fun, positions)(*operands)


# The modes by name. A mode is a function that calls the function of an expression.
MODES: dict[str, Callable[[Library, Callable, list[Any], list[int]], Any]] = {
    "eager": _eager,
    "jit": _jit,
    "trace": _trace,
    "weak": _weak,
    "vmap": _vmap,
    "grad": _grad,
    "rungrad": _rungrad,
}


def kind_of(error: Exception) -> str:
    """Returns the builtin kinds of an error: ``"TypeError"``, or ``"TypeError ValueError"``."""
    kinds = [kind for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    most_derived = [
        kind
        for kind in kinds
        if not any(issubclass(other, kind) for other in kinds if other != kind)
    ]
    return " ".join(kind.__name__ for kind in most_derived)


# Errors that JAX raises by accident. No code catches them on purpose, so OLYMPUS's may differ.
ACCIDENTS = {
    *("AssertionError", "AttributeError", "UnboundLocalError", "RecursionError"),
    "ZeroDivisionError",
}


def agree(ours: str, theirs: str) -> bool:
    """Returns whether two statuses agree: code that catches JAX's error must catch OLYMPUS's."""
    if not ours.startswith("error: ") or not theirs.startswith("error: "):
        return ours == theirs
    kinds = set(theirs.split())
    return kinds <= set(ours.split()) or bool(kinds & ACCIDENTS)


def outcome(
    library: Library, expression: str, dtype: str, mode: str, flags: dict[str, Any]
) -> Outcome | None:
    """Returns the outcome of a case; None if the mode does not apply to it."""
    names = calls.operands_of(expression)
    own = [name for name in names if calls.OPERANDS[name].dtype is None]
    batch = 2 if mode == "vmap" else None
    operands = [library.operand(name, dtype, batch) for name in names]
    inexact = [
        position
        for position, name in enumerate(names)
        if "key" not in name
        and name != "old"
        and np.issubdtype(operands[position].dtype, np.inexact)
    ]
    if mode in ("grad", "rungrad") and not inexact:
        return None
    if mode == "vmap" and not own:
        return None
    try:
        fun = calls.function(expression, library.name)
        library.update(flags)
        try:
            results = MODES[mode](library, fun, operands, inexact)
        finally:
            library.update({flag: DEFAULTS[flag] for flag in flags})
        return "ok", library.types(results)
    except Exception as error:
        return f"error: {kind_of(error)}", f"{type(error).__name__}: {error}"


# The values that the flags have between cases.
DEFAULTS: dict[str, Any] = {
    "numpy_rank_promotion": "allow",
    "numpy_dtype_promotion": "standard",
    "enable_checks": False,
    "debug_nans": False,
    "debug_infs": False,
    "check_static_indices": False,
    "legacy_prng_key": "allow",
    "transfer_guard": None,
    "default_matmul_precision": None,
    "no_tracing": False,
}
# Flags on which operands depend stay set for the whole process.
LASTING = ("enable_x64", "explicit_x64_dtypes")


def cases(options: argparse.Namespace) -> Iterator[tuple[str, str, str, str]]:
    """Yields section, expression, dtype and mode of each case."""
    shard, shards = map(int, options.shard.split("/"))
    numbers = itertools.count(1 - shard)
    for section, expressions in calls.sections(*options.sections, folder=options.calls).items():
        for expression in expressions:
            if not re.search(options.match, expression) or next(numbers) % shards:
                continue
            named = calls.operands_of(expression)
            varied = any(calls.OPERANDS[name].dtype is None for name in named)
            for dtype in options.dtypes if varied else options.dtypes[:1]:
                for mode in options.modes:
                    yield section, expression, dtype, mode


def record(options: argparse.Namespace) -> None:
    """Writes the outcomes of all cases of one setting in one library."""
    name, setting, path = options.record
    library = Library(name)
    flags = SETTINGS[setting]
    library.update({flag: value for flag, value in flags.items() if flag in LASTING})
    passing = {flag: value for flag, value in flags.items() if flag not in LASTING}
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for section, expression, dtype, mode in cases(options):
            result = outcome(library, expression, dtype, mode, passing)
            if result is not None:
                found[f"{setting}-{section}-{mode}-{dtype}-{expression}"] = result
    pathlib.Path(path).write_bytes(pickle.dumps(found))


# ---- comparison ----------------------------------------------------------------------------------


REFUSALS = pathlib.Path(__file__).with_name("refusals")


def refusals(setting: str) -> set[str]:
    """Returns the expressions that JAX rejects under a setting, as `write_refusals` found them."""
    lines = (REFUSALS / f"{setting}.txt").read_text("utf-8").splitlines()
    return {line for line in lines if not line.startswith("#")}


def write_refusals(setting: str, recorded: dict[str, Outcome]) -> None:
    """Writes the expressions that JAX rejects under a setting when it traces them."""
    REFUSALS.mkdir(exist_ok=True)
    lines = [f"# Calls that jax 0.10.2 refuses under {SETTINGS[setting]}."]
    for label, (status, _) in recorded.items():
        _, _, mode, _, expression = label.split("-", 4)
        if mode == "trace" and status != "ok":
            lines.append(expression)
    (REFUSALS / f"{setting}.txt").write_text("\n".join(lines) + "\n", "utf-8")


CONTAINERS = pathlib.Path(__file__).with_name("containers.txt")


def result_containers() -> dict[str, str]:
    """Returns the containers of results in JAX by expression, as `write_containers` found them."""
    lines = CONTAINERS.read_text("utf-8").splitlines()
    pairs = (line.rpartition(" -> ") for line in lines if not line.startswith("#"))
    return {expression: found for expression, _, found in pairs}


def write_containers(recorded: dict[str, Outcome]) -> None:
    """Writes the containers of the results of all expressions that have several."""
    lines = ["# The containers of results in jax 0.10.2."]
    for label, (status, detail) in recorded.items():
        _, _, mode, _, expression = label.split("-", 4)
        if mode == "trace" and status == "ok" and detail[0] != "*":
            lines.append(f"{expression} -> {detail[0]}")
    CONTAINERS.write_text("\n".join(lines) + "\n", "utf-8")


def differences(ours: dict[str, Outcome], theirs: dict[str, Outcome]) -> dict[str, list[str]]:
    """Returns the cases that differ, by a short description of the difference."""
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for label, (status, detail) in theirs.items():
        mine, own_detail = ours.get(label, ("missing", ""))
        if not agree(mine, status):
            text = own_detail if mine != "ok" else detail
            who = "raises" if mine != "ok" else "does not raise"
            head = re.sub(r"\s+", " ", str(text))[:150]
            groups[f"{mine} | {status} ({who}: {head})"].append(label)
        elif status == "ok" and detail != own_detail:
            groups[f"types {str(own_detail)[:200]} | {str(detail)[:200]}"].append(label)
    return groups


def recorded(options: argparse.Namespace, name: str, interpreter: str, setting: str) -> dict:
    """Runs all cases in a new process, and returns their outcomes by label.

    With the option ``--reuse``, the outcomes of JAX are read from a file if they are recorded.

    Args:
      options: the command-line options.
      name: the library, ``"olympus"`` or ``"jax"``.
      interpreter: the path of a Python interpreter that has the library.
      setting: the name of the setting in `SETTINGS`.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(options.keep or folder) / f"{name}-{setting}"
        if not (options.reuse and name == "jax" and path.exists()):
            command = [interpreter, __file__, "--record", name, setting, str(path)]
            for option in ("sections", "dtypes", "modes"):
                command += [f"--{option}", *getattr(options, option)]
            for option in ("match", "shard", "calls"):
                command += [f"--{option}", str(getattr(options, option))]
            subprocess.run(command, check=True)
        return pickle.loads(path.read_bytes())


def main() -> int:
    """Records both libraries under each setting and lists the differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jax", help="an interpreter that has jax")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS))
    parser.add_argument("--sections", nargs="*", default=[])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "int32", "bool"])
    parser.add_argument("--modes", nargs="+", default=["trace", "grad", "vmap"])
    parser.add_argument(
        "--match",
        default="",
        help="a regular expression; only expressions that match it are evaluated",
    )
    parser.add_argument(
        "--calls", type=pathlib.Path, default=calls.FOLDER, help="a folder of calls"
    )
    parser.add_argument(
        "--shard", default="1/1", help="K/N: every N-th expression, beginning with the K-th"
    )
    parser.add_argument("--keep", help="a folder for the recorded outcomes")
    parser.add_argument("--reuse", action="store_true", help="reuse recorded outcomes of JAX")
    parser.add_argument(
        "--write-refusals", action="store_true", help="write the expressions that JAX rejects"
    )
    parser.add_argument("--write-containers", action="store_true", help="write JAX's containers")
    parser.add_argument("--record", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        record(options)
        return 0
    if not options.jax:
        parser.error("--jax is needed")
    patterns = explanations("Settings") + explanations("Options")
    unexplained = total = 0
    for setting in options.settings:
        theirs = recorded(options, "jax", options.jax, setting)
        if options.write_refusals:
            write_refusals(setting, theirs)
            continue
        if options.write_containers:
            write_containers(theirs)
            continue
        ours = recorded(options, "olympus", sys.executable, setting)
        total += len(theirs)
        for description, labels in differences(ours, theirs).items():
            left = [label for label in labels if not explained(patterns, label, description)]
            unexplained += len(left)
            if left:
                print(f"{description}\n" + "".join(f"    {label}\n" for label in left))
    print(f"{total} cases, {unexplained} unexplained differences")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
