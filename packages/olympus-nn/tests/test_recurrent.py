# SPDX-License-Identifier: Apache-2.0
"""Comparison of long short-term memory with its equations in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_autodiff.reverse.derivative_checks import check_grads
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_nn.recurrent import (
    get_num_params_in_lstm,
    init_lstm_weight,
    lstm,
    lstm_ref,
    swap_lstm_gates,
    unpack_lstm_weights,
)
from olympus_random import key

BATCH, LENGTH, INPUT, HIDDEN = 3, 5, 2, 4
LENGTHS = np.array([5, 3, 1], np.int32)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def expected(x, h_0, c_0, weights, layers, directions):
    """Computes each example and each time in turn."""
    parts = [
        {number: np.asarray(part) for number, part in group.items()}
        for group in unpack_lstm_weights(weights, INPUT, HIDDEN, layers, directions == 2)
    ]
    w_ih, w_hh, b_ih, b_hh = parts
    h_n, c_n = np.array(h_0), np.array(c_0)
    for layer in range(layers):
        y = np.zeros((BATCH, LENGTH, directions * HIDDEN), np.float32)
        for direction in range(directions):
            n = layer * directions + direction
            for example, length in enumerate(LENGTHS):
                h, c = h_0[n, example], c_0[n, example]
                times = range(length)[::-1] if direction else range(length)
                for time in times:
                    gates = w_ih[n] @ x[example, time] + b_ih[n] + w_hh[n] @ h + b_hh[n]
                    i, f, g, o = np.split(gates, 4)
                    c = logistic(f) * c + logistic(i) * np.tanh(g)
                    h = logistic(o) * np.tanh(c)
                    start = direction * HIDDEN
                    y[example, time, start : start + HIDDEN] = h
                h_n[n, example], c_n[n, example] = h, c
        x = y
    return x, h_n, c_n


def operands(layers, directions):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((BATCH, LENGTH, INPUT)).astype(np.float32)
    states = [
        generator.standard_normal((layers * directions, BATCH, HIDDEN)).astype(np.float32)
        for _ in range(2)
    ]
    weights = init_lstm_weight(key(1), INPUT, HIDDEN, layers, directions == 2)
    return x, *states, weights


@pytest.mark.parametrize(("layers", "directions"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_results_satisfy_the_equations_of_lstm(layers, directions):
    x, h_0, c_0, weights = operands(layers, directions)
    sizes = (INPUT, HIDDEN, layers, 0.0, directions == 2)
    wanted = expected(x, h_0, c_0, weights, layers, directions)
    for run in (lstm, jit(lstm, static_argnums=(5, 6, 7, 8, 9))):
        found = run(x, h_0, c_0, weights, LENGTHS, *sizes)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    apart = unpack_lstm_weights(weights, INPUT, HIDDEN, layers, directions == 2)
    found = lstm_ref(x, h_0, c_0, *apart, LENGTHS, *sizes)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4, atol=1e-5)


def test_gradients_equal_finite_differences():
    def loss(x, h_0, c_0, weights):
        y, h_n, c_n = lstm(x, h_0, c_0, weights, LENGTHS, INPUT, HIDDEN, 2, 0.0, True)
        return (y * y).sum() + h_n.sum() + (c_n * c_n * c_n).sum()

    check_grads(loss, operands(2, 2), 1, modes=["rev"], rtol=2e-2, atol=2e-2)


def test_batches_equal_single_calls():
    x, h_0, c_0, weights = operands(1, 2)
    inputs = np.stack([x, 2 * x])

    def run(x, weights):
        return lstm(x, h_0, c_0, weights, LENGTHS, INPUT, HIDDEN, 1, 0.0, True)[0]

    found = vmap(run, (0, None))(inputs, weights)
    for place in range(2):
        np.testing.assert_allclose(found[place], run(inputs[place], weights), rtol=1e-5, atol=1e-6)


def test_weights_have_jax_layout_and_values():
    assert get_num_params_in_lstm(3, 4, 2, True) == 736
    weights = np.asarray(init_lstm_weight(key(0), 3, 4, 2, True))
    # The numbers that JAX 0.10.2 draws.
    np.testing.assert_allclose(
        weights[:4], [0.447667, 0.47857988, -0.16770852, -0.03133154], rtol=1e-6
    )
    assert np.all(np.abs(weights) <= 0.5)


def test_gate_order_of_cudnn_weights():
    """Compares with the order of JAX 0.10.2."""
    count = get_num_params_in_lstm(2, 1, 1, False)
    swapped = swap_lstm_gates(np.arange(count), 2, 1, 1, False)
    wanted = [0, 1, 2, 3, 6, 7, 4, 5, 8, 9, 11, 10, 12, 13, 15, 14, 16, 17, 19, 18]
    np.testing.assert_array_equal(swapped, wanted)
    np.testing.assert_array_equal(swap_lstm_gates(swapped, 2, 1, 1, False), np.arange(count))


def test_unsuitable_arguments_raise():
    x, h_0, c_0, weights = operands(1, 1)
    sizes = (INPUT, HIDDEN, 1)
    with pytest.raises(NotImplementedError, match="Set dropout=0"):
        lstm(x, h_0, c_0, weights, LENGTHS, *sizes, 0.5, False)
    with pytest.raises(ValueError, match=r"weights of shape \(128,\)"):
        lstm(x, h_0, c_0, weights[1:], LENGTHS, *sizes, 0.0, False)
    with pytest.raises(ValueError, match="takes h_0 of shape"):
        lstm(x, h_0[:, :1], c_0, weights, LENGTHS, *sizes, 0.0, False)
    with pytest.raises(ValueError, match="takes x of shape"):
        lstm(x[..., :1], h_0, c_0, weights, LENGTHS, *sizes, 0.0, False)
    assert np.isfinite(
        grad(lambda w: lstm(x, h_0, c_0, w, LENGTHS, *sizes, 0.0, False)[0].sum())(weights)
    ).all()
