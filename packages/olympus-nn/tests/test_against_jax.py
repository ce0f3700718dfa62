# SPDX-License-Identifier: Apache-2.0
"""Comparison of values, derivatives and programs with jax 0.10.2; `data/record.py` recorded them.

The reference evaluator's transcendental functions round differently from XLA's, so floats are
compared within a few units in the last place of numbers about as large as the inputs.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re

import numpy as np
import pytest

import olympus_nn
from olympus_autodiff import grad
from olympus_ir import make_olympuspr
from olympus_ir.trees import pytrees
from olympus_nn import initializers, optimizers, stax
from olympus_random import key

DATA = pathlib.Path(__file__).parent / "data"


def load_samples():
    specification = importlib.util.spec_from_file_location("samples", DATA / "samples.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


samples = load_samples()
RECORDED = json.loads((DATA / "recorded.json").read_text())
FUNCTIONS = samples.functions(olympus_nn)
CODES = samples.codes(olympus_nn)
ATTENTIONS = samples.attentions(olympus_nn)
ATTENTION_ARGUMENTS = (samples.QUERY, samples.KEY, samples.VALUE)
SCHEDULES = samples.schedules(optimizers)
OPTIMIZATIONS = samples.optimizations(optimizers)
LAYERS = samples.layers(stax)
DRAWS = samples.initializations(initializers, key(42))


def program_of(fun, argument):
    return str(make_olympuspr(fun)(argument))


def recorded_program(record):
    """Returns the recorded text, in which sizes such as ``np.int64(3)`` become plain numbers."""
    return re.sub(r"np\.int64\((\d+)\)", r"\1", record["program"])


def check(found, record, tolerance=1e-5):
    found = np.asarray(found)
    if "real" in record:
        check(found.real, record["real"], tolerance)
        check(found.imag, record["imag"], tolerance)
        return
    assert found.dtype.name == record["dtype"]
    assert list(found.shape) == record["shape"]
    expected = np.array(record["values"], found.dtype).reshape(found.shape)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def check_gradient(fun, arguments, records):
    found = grad(lambda *xs: (fun(*xs) ** 2).sum(), tuple(range(len(arguments))))(*arguments)
    for one, record in zip(found, records, strict=True):
        check(one, record, 1e-4)


def test_every_record_is_compared():
    calls = {
        "functions": FUNCTIONS,
        "codes": CODES,
        "attentions": ATTENTIONS,
        "initializations": DRAWS,
        "optimizations": OPTIMIZATIONS,
        "schedules": SCHEDULES,
    }
    assert {name: set(RECORDED[name]) for name in calls} == {k: set(v) for k, v in calls.items()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_gradients_are_those_of_jax(name):
    record, point = RECORDED["functions"][name], samples.point_of(name)
    check(FUNCTIONS[name](point), record["value"])
    check_gradient(FUNCTIONS[name], (point,), record["gradient"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_are_those_of_jax(name):
    program = program_of(FUNCTIONS[name], samples.point_of(name))
    assert program == recorded_program(RECORDED["functions"][name])


@pytest.mark.parametrize("name", CODES)
def test_codes_of_integers_are_those_of_jax(name):
    check(CODES[name](samples.NUMBERS), RECORDED["codes"][name]["value"])
    program = program_of(CODES[name], samples.NUMBERS)
    assert program == recorded_program(RECORDED["codes"][name])


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_is_that_of_jax(name):
    record = RECORDED["attentions"][name]
    check(ATTENTIONS[name](*ATTENTION_ARGUMENTS), record["value"])
    check_gradient(ATTENTIONS[name], ATTENTION_ARGUMENTS, record["gradient"])


@pytest.mark.parametrize("name", DRAWS)
def test_initial_weights_are_those_of_jax(name):
    check(DRAWS[name], RECORDED["initializations"][name])


def test_networks_are_those_of_jax():
    record = RECORDED["network"]
    init, apply = samples.network(stax)
    shape, params = init(key(42), (-1, 2, 2))
    assert list(shape) == record["shape"]
    for leaf, expected in zip(pytrees.tree_leaves(params), record["params"], strict=True):
        check(leaf, expected)
    check(apply(params, samples.INPUTS, rng=key(42)), record["value"], 1e-4)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_those_of_jax(name):
    record = RECORDED["layers"][name]
    (init, apply), shape = LAYERS[name]
    output_shape, params = init(key(42), shape)
    assert list(output_shape) == record["shape"]
    for leaf, expected in zip(pytrees.tree_leaves(params), record["params"], strict=True):
        check(leaf, expected)
    inputs = samples.normal(8, shape)
    check(apply(params, inputs), record["value"])
    check(grad(lambda x: (apply(params, x) ** 2).sum())(inputs), record["gradient"][0], 1e-4)
    assert program_of(lambda x: apply(params, x), inputs) == recorded_program(record)
    assert init(key(42), (-1, *shape[1:]))[0][0] == -1


def test_residual_networks_train_as_in_jax():
    """Compares the steps of training with JAX."""
    network, optimizer = samples.residual_network(stax), optimizers.momentum(0.05, 0.9)
    losses, _ = samples.trained_losses(network, optimizer, grad, key(42))
    np.testing.assert_allclose(losses, RECORDED["losses"], rtol=1e-3)
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("name", OPTIMIZATIONS)
def test_optimizers_take_the_steps_of_jax(name):
    leaves = pytrees.tree_leaves(samples.trained(OPTIMIZATIONS[name]))
    for leaf, expected in zip(leaves, RECORDED["optimizations"][name], strict=True):
        check(leaf, expected)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_those_of_jax(name):
    found = [float(SCHEDULES[name](step)) for step in range(6)]
    np.testing.assert_allclose(found, RECORDED["schedules"][name], rtol=1e-6)
