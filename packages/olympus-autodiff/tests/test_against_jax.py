# SPDX-License-Identifier: Apache-2.0
"""Derivatives of many functions, compared with what jax 0.10.2 computed."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import types

import numpy as np
import pytest

from olympus_autodiff import checkpoint, custom_jvp, custom_vjp, grad, jvp, linearize, vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import subolympusprs
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval

DATA = pathlib.Path(__file__).parent / "data"


def load(name):
    spec = importlib.util.spec_from_file_location(name, DATA / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


directions = load("directions")
LIBRARY = types.SimpleNamespace(
    lax=lax,
    jit=jit,
    vmap=vmap,
    jvp=jvp,
    checkpoint=checkpoint,
    custom_jvp=custom_jvp,
    custom_vjp=custom_vjp,
)
CASES = load("derivative_cases").build(LIBRARY)
RECORDS = json.loads((DATA / "derivatives.json").read_text())
# JAX differentiates a scan twice as if the rule in its body did not exist the second time; it gives
# another result for the same loop written out, which is ours.
JAX_DISAGREES_WITH_ITSELF = {("custom_jvp in scan", "second")}
# A few programs keep a call more, or run a part of a loop twice.
MORE_EQUATIONS = {
    "custom_jvp in scan": 1,
    "custom_jvp with scan in its rule": 4,
}


def records_of(kind):
    return [
        name
        for name, record in RECORDS.items()
        if isinstance(record.get(kind), list) and (name, kind) not in JAX_DISAGREES_WITH_ITSELF
    ]


def assert_recorded(name, kind, tree):
    found = [np.asarray(leaf) for leaf in pytrees.tree_leaves(tree)]
    expected = [directions.decoded(leaf) for leaf in RECORDS[name][kind]]
    assert [(leaf.shape, leaf.dtype) for leaf in found] == [
        (leaf.shape, leaf.dtype) for leaf in expected
    ]
    for one, other in zip(found, expected, strict=True):
        if one.dtype != directions.FLOAT0:
            rtol = 2e-3 if one.dtype == np.float16 else 2e-5
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol / 2)


def cotangent_of(result):
    leaves, tree = pytrees.tree_flatten(result)
    return pytrees.tree_unflatten(
        tree, directions.cotangents([np.asarray(leaf) for leaf in leaves])
    )


def test_records_are_of_these_cases():
    assert list(RECORDS) == list(CASES)


@pytest.mark.parametrize("name", records_of("result"))
def test_results_are_those_of_jax(name):
    fun, args = CASES[name]
    assert_recorded(name, "result", fun(*args))


@pytest.mark.parametrize("name", records_of("jvp"))
def test_tangents_are_those_of_jax(name):
    fun, args = CASES[name]
    tangents = directions.tangents(args)
    assert_recorded(name, "jvp", jvp(fun, args, tangents)[1])
    assert_recorded(name, "jvp", linearize(fun, *args)[1](*tangents))
    assert_recorded(name, "jvp", jit(lambda *args: jvp(fun, args, tangents)[1])(*args))


@pytest.mark.parametrize("name", records_of("vjp"))
def test_cotangents_are_those_of_jax(name):
    fun, args = CASES[name]
    result, pullback = vjp(fun, *args)
    assert_recorded(name, "result", result)
    cotangent = cotangent_of(result)
    assert_recorded(name, "vjp", pullback(cotangent))
    assert_recorded(name, "vjp", jit(lambda *args: vjp(fun, *args)[1](cotangent))(*args))


def weighted_sum_of(fun):
    def weighted_sum(*args):
        total = np.float32(0)
        leaves = pytrees.tree_leaves(fun(*args))
        weights = directions.cotangents(
            [np.empty(get_aval(leaf).shape, get_aval(leaf).dtype) for leaf in leaves]
        )
        for leaf, weight in zip(leaves, weights, strict=True):
            dtype = get_aval(leaf).dtype
            if dtype.kind in "fc":
                product = lax.mul(leaf, weight)
                product = lax.real(product) if dtype.kind == "c" else product
                product = lax.convert_element_type(product, np.float32)
                axes = tuple(range(get_aval(product).ndim))
                total = lax.add(total, lax.reduce_sum(product, axes))
        return total

    return weighted_sum


@pytest.mark.parametrize("name", records_of("second"))
def test_forward_over_reverse(name):
    fun, args = CASES[name]
    gradient = grad(weighted_sum_of(fun), argnums=tuple(range(len(args))))
    assert_recorded(name, "second", jvp(gradient, args, directions.tangents(args))[1])


@pytest.mark.parametrize(
    "name",
    # The wrong rules of the custom cases make second derivatives that are not symmetric.
    [name for name in records_of("second") if "custom_jvp" not in name],
)
def test_reverse_over_reverse(name):
    fun, args = CASES[name]
    gradient = grad(weighted_sum_of(fun), argnums=tuple(range(len(args))))
    tangents = directions.tangents(args)

    def directional(*args):
        total = np.float32(0)
        for component, tangent in zip(gradient(*args), tangents, strict=True):
            product = lax.convert_element_type(lax.mul(component, tangent), np.float32)
            axes = tuple(range(get_aval(product).ndim))
            total = lax.add(total, lax.reduce_sum(product, axes))
        return total

    assert_recorded(name, "second", grad(directional, argnums=tuple(range(len(args))))(*args))


@pytest.mark.parametrize(
    "name", [name for name, record in RECORDS.items() if isinstance(record["vjp"], str)]
)
def test_reverse_mode_errors(name):
    fun, args = CASES[name]
    result, pullback = vjp(fun, *args)
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        pullback(cotangent_of(result))


@pytest.mark.parametrize(
    "name", [name for name, record in RECORDS.items() if isinstance(record["jvp"], str)]
)
def test_forward_mode_errors(name):
    fun, args = CASES[name]
    with pytest.raises(TypeError, match="forward-mode"):
        jvp(fun, args, directions.tangents(args))


def count_equations(program):
    return len(program.eqns) + sum(map(count_equations, subolympusprs(program)))


@pytest.mark.parametrize("name", records_of("vjp"))
def test_program_is_as_short(name):
    fun, args = CASES[name]

    def pulled_back(*args):
        _, pullback = vjp(fun, *args)
        return pytrees.tree_leaves(pullback(cotangent))

    cotangent = cotangent_of(fun(*args))
    program = trace_to_closed(pulled_back, [get_aval(arg) for arg in args])
    check_olympuspr(program.jaxpr)
    allowed = RECORDS[name]["equations"] + MORE_EQUATIONS.get(name, 0)
    assert count_equations(program.jaxpr) <= allowed
