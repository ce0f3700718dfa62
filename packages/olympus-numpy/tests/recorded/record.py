# SPDX-License-Identifier: Apache-2.0
"""Records programs, types and values of JAX as data for the tests.

Run it by hand, with jax 0.10.2 and without OLYMPUS:

    python record.py

It reads ``programs.txt`` (one expression a line, then ``|`` and the types of x, y, z, w, v) and
writes ``programs.json``: for each expression the printed program or the type of its error, and the
dtype, shape and weak type of each result. ``types.txt`` and ``types.json`` are likewise, without
programs; ``values.txt`` and ``values.json`` have the values of expressions. ``promotion.json`` has
the result types of pairs, and ``names.json`` the public names with the parameters of functions.
"""

from __future__ import annotations

import inspect
import itertools
import json
import pathlib
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

HERE = pathlib.Path(__file__).parent
SHORT = {
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "u8": "uint8",
    "u32": "uint32",
    "b": "bool",
    "c64": "complex64",
}


def aval(text: str) -> jax.ShapeDtypeStruct:
    name, sizes, weak = re.fullmatch(r"(\w+)\[(.*)\](\*?)", text).groups()
    shape = tuple(int(size) for size in sizes.split(",") if size)
    return jax.ShapeDtypeStruct(shape, jnp.dtype(SHORT[name]), weak_type=bool(weak))


def program(line: str) -> dict:
    expression, _, arguments = line.partition("|")
    avals = [aval(argument) for argument in arguments.split()]
    names = ",".join("xyzwv"[: len(avals)])
    function = eval(f"lambda {names}: {expression}", {"jnp": jnp, "np": np, "lax": lax})
    try:
        closed = jax.make_jaxpr(function)(*avals)
    except Exception as error:
        return {"error": type(error).__name__}
    return {"program": str(closed), "results": [result(out) for out in closed.out_avals]}


def values(expression: str) -> dict:
    try:
        leaves = jax.tree.leaves(eval(expression, {"jnp": jnp, "np": np}))
        arrays = [jnp.asarray(leaf) for leaf in leaves]
    except Exception as error:
        return {"error": type(error).__name__}
    return {
        "results": [result(array) for array in arrays],
        "values": [[str(element) for element in np.ravel(array).tolist()] for array in arrays],
    }


def result(out) -> str:
    return f"{out.dtype}{list(out.shape)}{'*' if out.weak_type else ''}"


def promotions() -> dict:
    """Returns the result types of a few binary functions for all pairs of dtypes and scalars."""
    kinds = ["b", "u8", "u32", "i8", "i16", "i32", "bf16", "f16", "f32", "c64"]
    kinds += ["True", "1", "1.0", "1j"]
    functions = ["add", "true_divide", "floor_divide", "power", "maximum", "arctan2", "logical_and"]
    table = {}
    for function, first, second in itertools.product(functions, kinds, kinds):
        values = [eval(k) if k not in SHORT else np.ones((2,), SHORT[k]) for k in (first, second)]
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        if not arrays:
            continue

        def call(*arrays, function=function, values=values):
            remaining = iter(arrays)
            return getattr(jnp, function)(
                *(next(remaining) if isinstance(v, np.ndarray) else v for v in values)
            )

        try:
            out = jax.eval_shape(call, *arrays)
            entry = result(out)
        except Exception as error:
            entry = type(error).__name__
        table[f"{function}({first}, {second})"] = entry
    return table


def names_of(module) -> dict:
    """Returns the public names of a module, and the parameters of the functions."""
    table = {}
    for name in sorted(name for name in dir(module) if not name.startswith("_")):
        value = getattr(module, name)
        is_function = callable(value) and not inspect.isclass(value)
        if is_function and not isinstance(value, jnp.ufunc):
            parameters = inspect.signature(value).parameters
            table[name] = [one for one in parameters if not one.startswith("_")]
        else:
            table[name] = None
    return table


def lines_of(name: str) -> list[str]:
    lines = [line.strip() for line in (HERE / name).read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def write(name: str, key: str, content: dict) -> None:
    recorded = {"jax": jax.__version__, key: content}
    (HERE / name).write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


def main() -> None:
    warnings.simplefilter("ignore")
    write("programs.json", "programs", {line: program(line) for line in lines_of("programs.txt")})
    types = {line: program(line) for line in lines_of("types.txt")}
    for entry in types.values():
        entry.pop("program", None)
    write("types.json", "types", types)
    write("values.json", "values", {line: values(line) for line in lines_of("values.txt")})
    write("promotion.json", "results", promotions())
    names = {"numpy": names_of(jnp), "numpy.linalg": names_of(jnp.linalg)}
    (HERE / "names.json").write_text(json.dumps(names, indent=1) + "\n")


if __name__ == "__main__":
    main()
