# SPDX-License-Identifier: Apache-2.0
"""Compares the results of the same operations on the same operands in OLYMPUS and in JAX.

Run it with an interpreter that has OLYMPUS; ``--jax`` is one that has jax 0.10.2::

    python tools/compare_with_jax.py --jax ../jax-environment/bin/python

It compares

* samples: each case of olympus-testing's samples, whose parameters are plain data, is bound as a
  primitive and traced: values, dtypes, weak types, and the text of the program;
* dtypes: each function of two operands in `BINARY`, and of one in `UNARY`, on every pair of dtypes
  and Python scalars, with 64-bit types and without, in standard and strict promotion: the dtype and
  weak type of the result, or the kind of error.

The script lists differences that no pattern in the tables of docs/differences.md explains. The exit
status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import fnmatch
import itertools
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from typing import Any

import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).parent.parent
DIFFERENCES = ROOT / "docs" / "differences.md"

BINARY = """add subtract multiply divide floor_divide remainder power maximum minimum arctan2 equal
less bitwise_and left_shift logical_and where matmul float_power logaddexp hypot copysign""".split()
UNARY = """negative abs sign floor sqrt exp sin log1p isnan square reciprocal sum prod mean max
argmax cumsum sort real conj logical_not invert var std linspace_of round""".split()
DTYPES = """bool int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64 float16
bfloat16 float32 float64 float8_e4m3fn float8_e5m2 float8_e8m0fnu float4_e2m1fn complex64
complex128""".split()
SCALARS = (True, 1, 1.0, 1j)

# Values of floats are equal within this many units in the last place of their dtype.
ULPS = 8


# ---- plain data, which the two processes exchange ----


def plain(value: Any) -> Any:
    """Returns a parameter as plain data; raises TypeError for values such as programs."""
    if value is None or isinstance(value, bool | int | float | complex | str | np.dtype):
        if isinstance(value, enum.Enum):
            return ("enum", type(value).__name__, value.name)
        return value
    if isinstance(value, enum.Enum):
        return ("enum", type(value).__name__, value.name)
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return ("struct", type(value).__name__, fields)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = {name: plain(getattr(value, name)) for name in value._fields}  # type: ignore[attr-defined]
        return ("struct", type(value).__name__, fields)
    if isinstance(value, tuple):
        return ("tuple", *(plain(item) for item in value))
    raise TypeError(f"{value!r} is not plain data")


def rebuilt(value: Any, lax: Any) -> Any:
    """Returns the parameter that plain data describe, with the classes of a library."""
    if not isinstance(value, tuple):
        return value
    kind = value[0]
    if kind == "tuple":
        return tuple(rebuilt(item, lax) for item in value[1:])
    found = getattr(lax, value[1])
    if kind == "enum":
        return found[value[2]]
    return found(**{name: rebuilt(field, lax) for name, field in value[2].items()})


def sample_cases() -> list[tuple[str, str, list[np.ndarray], dict[str, Any]]]:
    """Returns the samples with plain parameters: name, primitive, operands, parameters."""
    from olympus_testing import (
        cases,
    )  # imported here, because the interpreter with JAX lacks this package

    found = []
    for case in cases():
        try:
            params = {name: plain(value) for name, value in case.params.items()}
        except TypeError:
            continue
        with case.context():
            args = [np.asarray(arg) for arg in case.args]
        found.append((str(case), case.primitive.name, args, params))
    return found


# ---- in both interpreters ----


class Library:
    """The functions of OLYMPUS or of JAX that this script needs, under common names."""

    def __init__(self, name: str) -> None:
        import importlib

        self.name = name
        self.root = importlib.import_module(name)
        self.numpy = importlib.import_module(f"{name}.numpy")
        self.lax = importlib.import_module(f"{name}.lax")
        self.primitives: dict[str, Any] = {}
        for module in (
            self.lax,
            self._module("lax.linalg"),
            self._module("extend.core.primitives"),
        ):
            for attribute in dir(module):
                if attribute.endswith("_p"):
                    primitive = getattr(module, attribute, None)
                    self.primitives.setdefault(getattr(primitive, "name", ""), primitive)
        self.trace = getattr(self.root, "make_jaxpr", None) or self.root.make_olympuspr

    def _module(self, name: str) -> Any:
        import importlib

        try:
            return importlib.import_module(f"{self.name}.{name}")
        except ImportError:
            return None

    def flag(self, name: str, value: Any) -> None:
        self.root.config.update(f"{self.name}_{name}", value)


def outcome(fun: Any) -> Any:
    """Returns the result of a call, or the builtin kind of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fun()
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
        return f"error: {kinds[0]}"


def record_sample(library: Library, primitive: Any, args: list[Any], params: Any) -> Any:
    params = {name: rebuilt(value, library.lax) for name, value in params.items()}

    def run(*operands: Any) -> Any:
        return primitive.bind(*operands, **params)

    traced = library.trace(run)(*args)
    results = run(*args)
    results = list(results) if isinstance(results, list | tuple) else [results]
    types = [(str(result.dtype), result.shape, bool(result.weak_type)) for result in results]
    values = [np.asarray(result) for result in results]
    return {
        "types": types,
        "values": [(v.dtype.name, v.tobytes()) for v in values],
        "text": str(traced),
    }


def operand(library: Library, kind: Any, shape: tuple) -> Any:
    if isinstance(kind, str):
        return library.root.ShapeDtypeStruct(shape, getattr(ml_dtypes, kind, kind))
    return kind


def function(library: Library, name: str) -> Any:
    numpy = library.numpy
    if name == "where":
        return lambda x, y: numpy.where(True, x, y)
    if name == "linspace_of":
        return lambda x: numpy.linspace(x, x, 3)
    return getattr(numpy, name)


def record_dtypes(library: Library, wide: bool, mode: str, functions: list[str]) -> dict[str, Any]:
    library.flag("enable_x64", wide)
    library.flag("numpy_dtype_promotion", mode)
    label = f"{'x64' if wide else 'x32'}-{mode}"
    kinds = [*DTYPES, *SCALARS]

    def shown(kind: Any) -> str:
        return kind if isinstance(kind, str) else type(kind).__name__

    def type_of(fun: Any, *given: Any) -> Any:
        structs = [each for each in given if not isinstance(each, bool | int | float | complex)]

        def of_structs(*traced: Any) -> Any:
            values = iter(traced)
            return fun(*(next(values) if each in structs else each for each in given))

        result = library.root.eval_shape(of_structs, *structs)
        return str(result.dtype), bool(result.weak_type)

    found = {}
    for name in (each for each in BINARY if each in functions):
        fun = function(library, name)
        for first, second in itertools.product(kinds, repeat=2):
            shape = (2,) if name == "matmul" else ()
            given = [operand(library, kind, shape) for kind in (first, second)]
            key = f"{name}-{shown(first)}-{shown(second)}-{label}"
            found[key] = outcome(lambda fun=fun, given=given: type_of(fun, *given))
    for name in (each for each in UNARY if each in functions):
        fun = function(library, name)
        for kind in kinds:
            given = operand(library, kind, (2,) if isinstance(kind, str) else ())
            key = f"{name}-{shown(kind)}-{label}"
            found[key] = outcome(lambda fun=fun, given=given: type_of(fun, given))
    return found


def record(options: argparse.Namespace) -> None:
    library_name, given, path = options.record
    parts = options.parts
    library = Library(library_name)
    found: dict[str, Any] = {}
    if "samples" in parts:
        library.flag("enable_x64", True)
        for label, name, args, params in pickle.loads(pathlib.Path(given).read_bytes()):
            primitive = library.primitives.get(name)
            if primitive is None:
                found[label] = "no such primitive"
                continue
            found[label] = outcome(
                lambda p=primitive, a=args, k=params: record_sample(library, p, a, k)
            )
    if "dtypes" in parts:
        for wide, mode in itertools.product((False, True), ("standard", "strict")):
            found.update(record_dtypes(library, wide, mode, options.functions))
    pathlib.Path(path).write_bytes(pickle.dumps(found))


# ---- comparison ----


def difference(ours: Any, theirs: Any) -> str:
    """Describes the difference of two outcomes; returns an empty text if they agree."""
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return "" if ours == theirs else f"{_short(ours)} | {_short(theirs)}"
    if ours["types"] != theirs["types"]:
        return f"types {ours['types']} | {theirs['types']}"
    for (name, mine), (_, other) in zip(ours["values"], theirs["values"], strict=True):
        if mine != other:
            dtype = np.dtype(getattr(ml_dtypes, name, name))
            distance = _distance(np.frombuffer(mine, dtype), np.frombuffer(other, dtype))
            if distance > ULPS:
                return f"values differ by {distance:.3g} units in the last place"
    if ours["text"] != theirs["text"]:
        return f"text\n      {ours['text']}\n      {theirs['text']}"
    return ""


def _short(result: Any) -> str:
    return str(result["types"]) if isinstance(result, dict) else str(result)


def _distance(x: np.ndarray, y: np.ndarray) -> float:
    if x.dtype.kind in "biu":
        return float("inf")
    wide: Any = np.complex128 if x.dtype.kind == "c" else np.float64
    eps = float(ml_dtypes.finfo(np.real(x).dtype).eps)
    a, b = x.astype(wide), y.astype(wide)
    with np.errstate(all="ignore"):
        scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b) / (scale * eps))
    return float(np.nanmax(apart, initial=0.0))


def explanations() -> list[str]:
    """Returns the patterns in the tables of docs/differences.md."""
    text = DIFFERENCES.read_text("utf-8") if DIFFERENCES.exists() else ""
    patterns = []
    for row in re.findall(r"^\|(.*?)\|", text, re.MULTILINE):
        patterns += re.findall(r"`([^`]+)`", row)
    return patterns


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jax", help="an interpreter that has jax")
    parser.add_argument("--parts", nargs="+", default=["samples", "dtypes"])
    parser.add_argument(
        "--functions",
        nargs="+",
        default=[*BINARY, *UNARY],
        help="the functions to compare in the part `dtypes`",
    )
    parser.add_argument("--all", action="store_true", help="also list explained differences")
    parser.add_argument("--record", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        record(options)
        return 0
    if not options.jax:
        parser.error("--jax is needed")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        given = pathlib.Path(folder) / "given"
        given.write_bytes(pickle.dumps(sample_cases() if "samples" in options.parts else []))
        for name, interpreter in (("olympus", sys.executable), ("jax", options.jax)):
            path = pathlib.Path(folder) / name
            command = [interpreter, __file__, "--record", name, str(given), str(path)]
            command += ["--parts", *options.parts, "--functions", *options.functions]
            subprocess.run(command, check=True)
            results[name] = pickle.loads(path.read_bytes())
    ours, theirs = results["olympus"], results["jax"]
    patterns = explanations()
    counts = {"equal": 0, "explained": 0, "unexplained": 0}
    for label, result in ours.items():
        found = difference(result, theirs.get(label))
        if not found:
            counts["equal"] += 1
            continue
        explained = any(fnmatch.fnmatchcase(label, pattern) for pattern in patterns)
        counts["explained" if explained else "unexplained"] += 1
        if options.all or not explained:
            print(f"{label}: {found}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return int(counts["unexplained"] > 0)


if __name__ == "__main__":
    sys.exit(main())
