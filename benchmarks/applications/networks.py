# SPDX-License-Identifier: Apache-2.0
"""Training steps of networks: the loss, and the parameters after a step of gradient descent."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .declarations import Application, normal

_RATE = 0.1


def _step(k: Any, loss: Any, params: Any, *data: Any) -> Any:
    value, gradients = k.value_and_grad(loss)(params, *data)
    return value, [p - _RATE * g for p, g in zip(params, gradients, strict=True)]


def _step_in_torch(t: Any, loss: Any, params: Any, *data: Any) -> Any:
    params = [each.detach().requires_grad_() for each in params]
    value = loss(params, *data)
    gradients = t.autograd.grad(value, params)
    with t.no_grad():
        return value, [p - _RATE * g for p, g in zip(params, gradients, strict=True)]


# ---- convolutional network ----


def _image_operands() -> tuple[np.ndarray, ...]:
    labels = np.random.default_rng(1).integers(0, 10, 64)
    return (
        normal(64, 3, 32, 32),
        np.eye(10, dtype=np.float32)[labels],
        normal(32, 3, 3, 3, scale=0.2),
        normal(64, 32, 3, 3, scale=0.06),
        normal(64, 64, 3, 3, scale=0.04),
        normal(64, 10, scale=0.1),
    )


def _convolutional(k: Any, images: Any, targets: Any, *params: Any) -> Any:
    def loss(params: Any) -> Any:
        *convolutions, dense = params
        x = images
        for weights in convolutions:
            x = k.nn.relu(k.lax.conv(x, weights, (1, 1), "SAME"))
            x = k.lax.reduce_window(
                x, -np.inf, k.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), padding="VALID"
            )
        scores = k.nn.log_softmax(x.mean((2, 3)) @ dense)
        return -(scores * targets).sum(1).mean()

    return _step(k, loss, list(params))


def _convolutional_in_torch(t: Any, images: Any, targets: Any, *params: Any) -> Any:
    functional = t.nn.functional

    def loss(params: Any) -> Any:
        *convolutions, dense = params
        x = images
        for weights in convolutions:
            x = functional.max_pool2d(functional.relu(functional.conv2d(x, weights, padding=1)), 2)
        return functional.cross_entropy(x.mean((2, 3)) @ dense, targets)

    return _step_in_torch(t, loss, params)


# ---- transformer ----

_LAYERS, _HEADS, _WIDTH, _TOKENS, _BATCH, _WORDS = 12, 4, 128, 64, 8, 256


def _text_operands() -> tuple[np.ndarray, ...]:
    words = np.random.default_rng(1).integers(0, _WORDS, (_BATCH, _TOKENS + 1))
    arrays = [words.astype(np.int32), normal(_WORDS, _WIDTH, scale=0.1)]
    for layer in range(_LAYERS):
        for seed, shape in enumerate(
            [(_WIDTH, 3 * _WIDTH), (_WIDTH, _WIDTH), (_WIDTH, 4 * _WIDTH), (4 * _WIDTH, _WIDTH)]
        ):
            arrays.append(normal(*shape, seed=4 * layer + seed, scale=0.03))
    return tuple(arrays)


def _transformer(k: Any, words: Any, *params: Any) -> Any:
    def norm(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / k.np.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def loss(params: Any) -> Any:
        embedding, *weights = params
        x = embedding[words[:, :-1]]
        for layer in range(_LAYERS):
            projection, output, up, down = weights[4 * layer : 4 * layer + 4]
            parts = (norm(x) @ projection).reshape(_BATCH, _TOKENS, 3, _HEADS, -1)
            attended = k.nn.dot_product_attention(
                *(parts[:, :, i] for i in range(3)), is_causal=True
            )
            x = x + attended.reshape(x.shape) @ output
            x = x + k.nn.gelu(norm(x) @ up) @ down
        scores = k.nn.log_softmax(norm(x) @ embedding.T)
        return -k.np.take_along_axis(scores, words[:, 1:, None], -1).mean()

    value, params = _step(k, loss, list(params))
    return value, params[0], params[-1]


def _transformer_in_torch(t: Any, words: Any, *params: Any) -> Any:
    functional = t.nn.functional
    words = words.long()

    def norm(x: Any) -> Any:
        return functional.layer_norm(x, (_WIDTH,))

    def loss(params: Any) -> Any:
        embedding, *weights = params
        x = embedding[words[:, :-1]]
        for layer in range(_LAYERS):
            projection, output, up, down = weights[4 * layer : 4 * layer + 4]
            parts = (norm(x) @ projection).reshape(_BATCH, _TOKENS, 3, _HEADS, -1)
            q, key, v = (parts[:, :, i].transpose(1, 2) for i in range(3))
            attended = functional.scaled_dot_product_attention(q, key, v, is_causal=True)
            x = x + attended.transpose(1, 2).reshape(x.shape) @ output
            x = x + functional.gelu(norm(x) @ up, approximate="tanh") @ down
        scores = norm(x) @ embedding.T
        return functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())

    value, params = _step_in_torch(t, loss, params)
    return value, params[0], params[-1]


# ---- recurrent network ----

_STEPS, _INPUTS, _HIDDEN = 64, 64, 128


def _sequence_operands() -> tuple[np.ndarray, ...]:
    return (
        normal(_STEPS, 32, _INPUTS),
        normal(32, _HIDDEN, seed=1, scale=0.3),
        normal(4 * _HIDDEN, _INPUTS, seed=2, scale=0.1),
        normal(4 * _HIDDEN, _HIDDEN, seed=3, scale=0.1),
        normal(4 * _HIDDEN, seed=4, scale=0.1),
    )


def _recurrent(k: Any, inputs: Any, targets: Any, *params: Any) -> Any:
    def loss(params: Any) -> Any:
        from_input, from_hidden, bias = params

        def cell(state: Any, x: Any) -> Any:
            hidden, memory = state
            gates = x @ from_input.T + hidden @ from_hidden.T + bias
            i, f, g, o = k.np.split(gates, 4, axis=1)
            memory = k.nn.sigmoid(f) * memory + k.nn.sigmoid(i) * k.np.tanh(g)
            return (k.nn.sigmoid(o) * k.np.tanh(memory), memory), None

        start = k.np.zeros((32, _HIDDEN))
        (hidden, _), _ = k.lax.scan(cell, (start, start), inputs)
        return ((hidden - targets) ** 2).mean()

    return _step(k, loss, list(params))


@functools.cache
def _torch_lstm(t: Any) -> Any:
    return t.nn.LSTM(_INPUTS, _HIDDEN)


def _recurrent_in_torch(t: Any, inputs: Any, targets: Any, *params: Any) -> Any:
    model = _torch_lstm(t)

    def loss(params: Any) -> Any:
        from_input, from_hidden, bias = params
        weights = {
            "weight_ih_l0": from_input,
            "weight_hh_l0": from_hidden,
            "bias_ih_l0": bias,
            "bias_hh_l0": t.zeros_like(bias),
        }
        _, (hidden, _) = t.func.functional_call(model, weights, (inputs,))
        return ((hidden[0] - targets) ** 2).mean()

    return _step_in_torch(t, loss, params)


APPLICATIONS = (
    Application(
        "training step of a convolutional network",
        _image_operands,
        _convolutional,
        _convolutional_in_torch,
    ),
    Application(
        "training step of a transformer", _text_operands, _transformer, _transformer_in_torch
    ),
    Application("training step of an LSTM", _sequence_operands, _recurrent, _recurrent_in_torch),
)
