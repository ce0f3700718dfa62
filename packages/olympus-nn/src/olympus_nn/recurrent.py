# SPDX-License-Identifier: Apache-2.0
"""Long short-term memory (Hochreiter and Schmidhuber, 1997), in several layers and both directions.

All weights are in one vector, in cuDNN's order. The weights of the input and of the state come
first, for each direction of each layer. The biases follow in the same order. Each weight has four
blocks: input gate, forget gate, candidate of the cell, output gate.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_autodiff import custom_vjp, vjp
from olympus_ir import lax
from olympus_ir.lax.contractions.dot_algorithms import PrecisionLike
from olympus_ir.lax.recurrent import rnn_bwd_p, rnn_fwd_p
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_random import uniform

from .activations import sigmoid

__all__ = [
    "get_num_params_in_lstm",
    "init_lstm_weight",
    "lstm",
    "lstm_bwd",
    "lstm_fwd",
    "lstm_ref",
    "rnn_bwd_p",
    "rnn_fwd_p",
    "swap_lstm_gates",
    "unpack_lstm_weights",
]

Weights = dict[int, Any]


# ---- the vector of weights ----


def _shapes(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> list[tuple[int, ...]]:
    """Returns the shapes of the weights, in their order in the vector."""
    directions = 2 if bidirectional else 1
    gates = 4 * hidden_size
    linear: list[tuple[int, ...]] = []
    for layer in range(num_layers):
        width = input_size if layer == 0 else directions * hidden_size
        linear += [(gates, width), (gates, hidden_size)] * directions
    return [*linear, *[(gates,)] * (2 * directions * num_layers)]


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """Returns the number of weights of an LSTM.

    Args:
      input_size: the number of features of the input.
      hidden_size: the number of features of the state.
      num_layers: the number of layers.
      bidirectional: whether there is a layer for each direction of time.

    Returns:
      An integer.

    Example:
      >>> get_num_params_in_lstm(3, 4, 1, False)
      144
    """
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    return sum(map(math.prod, shapes))


def init_lstm_weight(
    rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Any:
    """Draws weights uniformly between ``-k`` and ``k``, with ``k = 1 / sqrt(hidden_size)``.

    Args:
      rng: a key.
      input_size: the number of features of the input.
      hidden_size: the number of features of the state.
      num_layers: the number of layers.
      bidirectional: whether there is a layer for each direction of time.

    Returns:
      The vector of weights, in float32.
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    bound = np.sqrt(1.0 / hidden_size)
    return uniform(rng, (count,), np.float32, minval=-bound, maxval=bound)


def _split(weights: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    parts = onp.split(weights, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def unpack_lstm_weights(
    weights: Array | np.ndarray,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    bidirectional: bool,
) -> tuple[Weights, Weights, Weights, Weights]:
    """Splits the vector of weights into arrays.

    Args:
      weights: the vector.
      input_size: the number of features of the input.
      hidden_size: the number of features of the state.
      num_layers: the number of layers.
      bidirectional: whether there is a layer for each direction of time.

    Returns:
      Weights of the input, weights of the state, biases of the input, and biases of the state. Each
      is a dictionary from the index of a layer to an array. The two directions of a layer count as
      consecutive layers.

    Raises:
      ValueError: the length of the vector does not fit the sizes.
    """
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    count = sum(map(math.prod, shapes))
    if weights.shape != (count,):
        raise ValueError(f"lstm takes weights of shape ({count},), got {weights.shape}")
    parts = _split(weights, shapes)
    half = len(parts) // 2
    linear, biases = parts[:half], parts[half:]
    return tuple(
        dict(enumerate(group)) for group in (linear[::2], linear[1::2], biases[::2], biases[1::2])
    )  # type: ignore[return-value]


def swap_lstm_gates(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Any:
    """Exchanges the blocks of the candidate and the output gate, for MIOpen's order.

    Args:
      weights: the vector of weights.
      input_size: the number of features of the input.
      hidden_size: the number of features of the state.
      num_layers: the number of layers.
      bidirectional: whether there is a layer for each direction of time.

    Returns:
      A vector of the shape and dtype of the weights.
    """
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    swapped = []
    for part in _split(weights, shapes):
        first, second, candidate, output = onp.split(part, 4)
        swapped.append(onp.concatenate([first, second, output, candidate]).reshape(-1))
    return onp.concatenate(swapped)


# ---- the definition by array operations ----


def _direction(x: Any, h: Any, c: Any, weights: tuple[Any, ...], mask: Any, reverse: bool) -> Any:
    """Runs a layer in one direction: [batch, time, width] -> [batch, time, hidden], last states."""
    w_ih, w_hh, b_ih, b_hh = weights

    def step(state: tuple[Any, Any], at: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        (h, c), (x, valid) = state, at
        gates = x @ w_ih.T + b_ih + h @ w_hh.T + b_hh
        i, f, g, o = onp.split(gates, 4, axis=-1)
        moved_c = sigmoid(f) * c + sigmoid(i) * onp.tanh(g)
        moved_h = sigmoid(o) * onp.tanh(moved_c)
        state = (onp.where(valid, moved_h, h), onp.where(valid, moved_c, c))
        return state, onp.where(valid, moved_h, 0)

    (h, c), y = lax.scan(step, (h, c), (onp.swapaxes(x, 0, 1), mask), reverse=reverse)
    return onp.swapaxes(y, 0, 1), h, c


def lstm_ref(
    x: Array,
    h_0: Array,
    c_0: Array,
    W_ih: Weights,
    W_hh: Weights,
    b_ih: Weights,
    b_hh: Weights,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Array, Array, Array]:
    """Computes `lstm` with unpacked weights, by array operations on every platform.

    Args:
      x: the input, of shape (batch, time, input_size).
      h_0: the states at the start, of shape (directions * num_layers, batch, hidden_size).
      c_0: the cells at the start, of the shape of ``h_0``.
      W_ih: weights of the input, by layers.
      W_hh: weights of the state, by layers.
      b_ih: biases of the input, by layers.
      b_hh: biases of the state, by layers.
      seq_lengths: the length of each example.
      input_size: the number of features of the input.
      hidden_size: the number of features of the state.
      num_layers: the number of layers.
      dropout: must be zero, since it is not known which elements cuDNN drops.
      bidirectional: whether there is a layer for each direction of time.

    Returns:
      The outputs of the last layer, and the states and the cells at the end, as `lstm` returns
      them.

    Raises:
      NotImplementedError: there is dropout.
    """
    if dropout:
        raise NotImplementedError(
            f"lstm with dropout={dropout} runs on GPUs alone: which elements cuDNN drops is not "
            "known elsewhere. Set dropout=0."
        )
    directions = 2 if bidirectional else 1
    mask = (onp.arange(x.shape[1])[:, None] < seq_lengths[None, :])[..., None]
    h_n, c_n = [], []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            weights = (W_ih[number], W_hh[number], b_ih[number], b_hh[number])
            y, h, c = _direction(x, h_0[number], c_0[number], weights, mask, direction == 1)
            outputs.append(y)
            h_n.append(h)
            c_n.append(c)
        x = onp.concatenate(outputs, axis=-1)
    return x, onp.stack(h_n), onp.stack(c_n)


# ---- the operation ----


@functools.partial(custom_vjp, nondiff_argnums=(5, 6, 7, 8, 9, 10))
def lstm(
    x: ArrayLike,
    h_0: ArrayLike,
    c_0: ArrayLike,
    weights: ArrayLike,
    seq_lengths: ArrayLike,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: PrecisionLike = None,
) -> tuple[Array, Array, Array]:
    """Runs an LSTM over sequences, by cuDNN on NVIDIA's GPUs and by MIOpen on AMD's.

    Args:
      x: the input, of shape (batch, time, input_size).
      h_0: the states at the start, of shape (directions * num_layers, batch, hidden_size).
      c_0: the cells at the start, of the shape of ``h_0``.
      weights: the vector of all weights; see `init_lstm_weight`.
      seq_lengths: the length of each example; the outputs after the end of an example are zero.
      input_size: the number of features of the input.
      hidden_size: the number of features of the state.
      num_layers: the number of layers.
      dropout: the part of elements dropped between layers, supported on GPUs only.
      bidirectional: whether there is a layer for each direction of time.
      precision: the precision of products on GPUs; by default the fastest one.

    Returns:
      The outputs of the last layer, of shape (batch, time, directions * hidden_size), and the
      states and the cells at the end, in the shapes of ``h_0`` and ``c_0``.

    Raises:
      ValueError: shapes do not fit.

    Example:
      >>> from olympus_random import key
      >>> x = np.ones((1, 2, 3), np.float32)
      >>> start = np.zeros((1, 1, 4), np.float32)
      >>> weights = init_lstm_weight(key(0), 3, 4, 1, False)
      >>> lstm(x, start, start, weights, np.array([2]), 3, 4, 1, 0.0, False)[0].shape
      (1, 2, 4)
    """
    return lstm_fwd(
        x,
        h_0,
        c_0,
        weights,
        seq_lengths,
        input_size,
        hidden_size,
        num_layers,
        dropout,
        bidirectional,
        precision,
    )[0]


def _params(
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any,
) -> dict[str, Any]:
    return {
        "input_size": input_size,
        "hidden_size": hidden_size,
        "num_layers": num_layers,
        "dropout": dropout,
        "bidirectional": bidirectional,
        "cudnn_allow_tf32": precision is None or lax.Precision(precision) == lax.Precision.DEFAULT,
    }


def lstm_fwd(
    x: ArrayLike,
    h_0: ArrayLike,
    c_0: ArrayLike,
    w: ArrayLike,
    seq_lengths: ArrayLike,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: PrecisionLike,
) -> tuple[Any, Any]:
    """Runs the forward pass of `lstm`; returns the result and residuals."""
    params = _params(input_size, hidden_size, num_layers, dropout, bidirectional, precision)
    y, h_n, c_n, reserve_space = rnn_fwd_p.bind(x, h_0, c_0, w, seq_lengths, **params)
    return (y, h_n, c_n), (x, h_0, c_0, w, seq_lengths, y, reserve_space)


def lstm_bwd(
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: PrecisionLike,
    residuals: Any,
    gradients: Any,
) -> tuple[Any, Any, Any, Any, None]:
    """Runs the backward pass of `lstm`."""
    params = _params(input_size, hidden_size, num_layers, dropout, bidirectional, precision)
    x, h_0, c_0, w, seq_lengths, y, reserve_space = residuals
    dx, dh_0, dc_0, dw = rnn_bwd_p.bind(
        *gradients, x, h_0, c_0, w, y, reserve_space, seq_lengths, **params
    )
    return dx, dh_0, dc_0, dw, None


lstm.defvjp(lstm_fwd, lstm_bwd)


# ---- platforms without an operation of their own ----


def _forward(x: Any, h_0: Any, c_0: Any, w: Any, seq_lengths: Any, **params: Any) -> Any:
    sizes = (params["input_size"], params["hidden_size"], params["num_layers"])
    bidirectional = params["bidirectional"]
    w_ih, w_hh, b_ih, b_hh = unpack_lstm_weights(w, *sizes, bidirectional)
    return lstm_ref(
        x,
        h_0,
        c_0,
        w_ih,
        w_hh,
        b_ih,
        b_hh,
        seq_lengths,
        *sizes,
        dropout=params["dropout"],
        bidirectional=bidirectional,
    )


@expansion_rules.define(rnn_fwd_p)
def _rnn_fwd(*operands: Any, **params: Any) -> list[Any]:
    reserve_space: Any = rnn_fwd_p.infer(tuple(map(get_aval, operands)), params)[0][3]
    return [*_forward(*operands, **params), onp.zeros(reserve_space.shape, reserve_space.dtype)]


@expansion_rules.define(rnn_bwd_p)
def _rnn_bwd(
    dy: Any,
    dh_n: Any,
    dc_n: Any,
    x: Any,
    h_0: Any,
    c_0: Any,
    w: Any,
    y: Any,
    reserve_space: Any,
    seq_lengths: Any,
    **params: Any,
) -> list[Any]:
    """Computes the cotangents; runs the forward pass again, since no residuals are kept."""

    def outputs(x: Any, h_0: Any, c_0: Any, w: Any) -> Any:
        return _forward(x, h_0, c_0, w, seq_lengths, **params)

    _, pull_back = vjp(outputs, x, h_0, c_0, w)
    return list(pull_back((dy, dh_n, dc_n)))
