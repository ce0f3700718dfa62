# SPDX-License-Identifier: Apache-2.0
"""Comparison of the NumPy API with JAX: recorded programs, types, values and promotion.

``recorded/record.py`` makes the records.
"""

from __future__ import annotations

import json
import pathlib
import re
import warnings

import ml_dtypes
import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir import ShapedArray, lax
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees

RECORDED = pathlib.Path(__file__).parent / "recorded"
SHORT = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "u8": np.uint8,
    "u32": np.uint32,
    "b": np.bool_,
    "c64": np.complex64,
}


def recorded(name: str, key: str) -> dict:
    return json.loads((RECORDED / name).read_text())[key]


PROGRAMS = recorded("programs.json", "programs")
TYPES = recorded("types.json", "types")
VALUES = recorded("values.json", "values")
PROMOTION = recorded("promotion.json", "results")


def aval(text: str) -> ShapedArray:
    name, sizes, weak = re.fullmatch(r"(\w+)\[(.*)\](\*?)", text).groups()
    return ShapedArray(
        tuple(int(size) for size in sizes.split(",") if size), SHORT[name], bool(weak)
    )


def trace(line: str):
    expression, _, arguments = line.partition("|")
    avals = [aval(argument) for argument in arguments.split()]
    names = ",".join("xyzwv"[: len(avals)])
    function = eval(f"lambda {names}: {expression}", {"jnp": jnp, "np": np, "lax": lax})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trace_to_closed(lambda *args: pytrees.tree_leaves(function(*args)), avals)


def shown(out) -> str:
    return f"{out.dtype}{list(out.shape)}{'*' if out.weak_type else ''}"


def is_instance_of(error: Exception, name: str) -> bool:
    return name in {base.__name__ for base in type(error).__mro__}


# Programs that JAX refuses and OLYMPUS traces, with the types of their results.
BEYOND_JAX = {
    "x.at[y>0].set(0.) | f32[5] f32[5]": ["float32[5]"],
    "x.at[y].set(0.) | f32[5] b[5]": ["float32[5]"],
}


@pytest.mark.parametrize("line", BEYOND_JAX)
def test_programs_that_jax_refuses(line):
    assert "error" in PROGRAMS[line]
    assert [shown(out) for out in trace(line).out_avals] == BEYOND_JAX[line]


@pytest.mark.parametrize("line", sorted(PROGRAMS.keys() - BEYOND_JAX.keys()))
def test_programs_are_those_of_jax(line):
    expected = PROGRAMS[line]
    if "error" in expected:
        with pytest.raises(Exception) as caught:
            trace(line)
        assert is_instance_of(caught.value, expected["error"])
        return
    closed = trace(line)
    assert str(closed) == expected["program"]
    assert [shown(out) for out in closed.out_avals] == expected["results"]


@pytest.mark.parametrize("line", TYPES)
def test_types_of_results(line):
    expected = TYPES[line]
    if "error" in expected:
        with pytest.raises(Exception) as caught:
            trace(line)
        assert is_instance_of(caught.value, expected["error"])
        return
    assert [shown(out) for out in trace(line).out_avals] == expected["results"]


HOST_LINES = [
    line
    for line, record in {**PROGRAMS, **TYPES}.items()
    if "error" not in record
    and line.startswith("jnp.")
    and not re.search(r"\b[xyzwv](\.|\[)", line)
    and "*" not in line.partition("|")[2]
]


@pytest.mark.parametrize("line", HOST_LINES)
@pytest.mark.filterwarnings("ignore")
def test_arrays_of_the_host_under_a_trace(line):
    """Traces functions that use NumPy arrays which are not among their arguments."""
    expected = {**PROGRAMS, **TYPES}[line]
    expression, _, arguments = line.partition("|")
    values = [np.zeros(one.shape, one.dtype) for one in map(aval, arguments.split())]
    names = ",".join("xyzwv"[: len(values)])
    function = eval(f"lambda {names}: {expression}", {"jnp": jnp, "np": np, "lax": lax})
    closed = trace_to_closed(lambda: pytrees.tree_leaves(function(*values)), [])
    assert [shown(out) for out in closed.out_avals] == expected["results"]


def number(text: str) -> complex:
    return complex(text == "True") if text in ("True", "False") else complex(text)


@pytest.mark.parametrize("expression", VALUES)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_values_are_those_of_jax(expression):
    expected = VALUES[expression]
    if "error" in expected:
        with pytest.raises(Exception) as caught:
            eval(expression, {"jnp": jnp, "np": np})
        assert is_instance_of(caught.value, expected["error"])
        return
    leaves = pytrees.tree_leaves(eval(expression, {"jnp": jnp, "np": np}))
    arrays = [jnp.asarray(leaf) for leaf in leaves]
    assert [shown(array) for array in arrays] == expected["results"]
    for array, values in zip(arrays, expected["values"], strict=True):
        wanted = np.array([number(value) for value in values])
        np.testing.assert_allclose(
            np.ravel(np.asarray(array)).astype(complex), wanted, rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("function", sorted({key.partition("(")[0] for key in PROMOTION}))
def test_promoted_dtypes_are_those_of_jax(function):
    different = {}
    for key, expected in PROMOTION.items():
        name, _, operands = key.rstrip(")").partition("(")
        if name != function:
            continue
        avals, values = [], []
        for text in operands.split(", "):
            if text in SHORT:
                avals.append(ShapedArray((2,), SHORT[text]))
                values.append(None)
            else:
                values.append(eval(text))

        def call(*arrays, name=name, values=values):
            remaining = iter(arrays)
            operands = [next(remaining) if value is None else value for value in values]
            return [getattr(jnp, name)(*operands)]

        try:
            got = shown(trace_to_closed(call, avals).out_avals[0])
        except (TypeError, ValueError) as error:
            got = expected if is_instance_of(error, expected) else type(error).__name__
        if got != expected:
            different[key] = (expected, got)
    assert not different
