# SPDX-License-Identifier: Apache-2.0
"""A small library of layers.

A layer is a pair of functions. ``init(key, input_shape)`` returns the shape of the output and the
parameters. ``apply(params, inputs, **kwargs)`` returns the output. Layers that draw random numbers
need the argument ``rng=key`` of ``apply``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import olympus_numpy as onp
import olympus_random as random

from . import activations
from .convolution_layers import (
    AvgPool,
    Conv,
    Conv1DTranspose,
    ConvTranspose,
    GeneralConv,
    GeneralConvTranspose,
    MaxPool,
    SumPool,
)
from .initializers import glorot_normal, normal, ones, zeros
from .normalization import log_softmax, softmax, standardize

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "glorot",
    "logsoftmax",
    "parallel",
    "randn",
    "serial",
    "shape_dependent",
]

Layer = tuple[Callable[..., Any], Callable[..., Any]]

glorot = glorot_normal
randn = normal
logsoftmax = log_softmax

# ---- layers with parameters ----


def Dense(out_dim: int, W_init: Any = glorot_normal(), b_init: Any = normal()) -> Layer:  # noqa: B008
    """Makes a layer that applies an affine map to the last axis.

    Args:
      out_dim: the size of the output's last axis.
      W_init: initializer of the matrix.
      b_init: initializer of the biases.

    Returns:
      The layer: a pair of functions ``init`` and ``apply``.

    Example:
      >>> init, apply = Dense(3)
      >>> shape, params = init(random.key(0), (-1, 2))
      >>> shape, apply(params, onp.ones((5, 2))).shape
      ((-1, 3), (5, 3))
    """

    def init(key: Any, input_shape: Any) -> Any:
        matrix_key, offset_key = random.split(key)
        matrix = W_init(matrix_key, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (matrix, b_init(offset_key, (out_dim,)))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        matrix, offsets = params
        return onp.add(onp.dot(inputs, matrix), offsets)

    return init, apply


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Makes a layer that standardizes a batch, then shifts and scales it by parameters.

    Args:
      axis: the axis or axes along which mean and variance are taken.
      epsilon: a small number added to the variance.
      center: whether there is a shift.
      scale: whether there is a scale.
      beta_init: initializer of the shift.
      gamma_init: initializer of the scale.

    Returns:
      The layer: a pair of functions ``init`` and ``apply``.

    Example:
      >>> init, apply = BatchNorm(axis=0)
      >>> shape, params = init(random.key(0), (-1, 2))
      >>> apply(params, onp.ones((5, 2))).shape
      (5, 2)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(key: Any, input_shape: Any) -> Any:
        shape = tuple(size for i, size in enumerate(input_shape) if i not in axes)
        beta_key, gamma_key = random.split(key)
        beta = beta_init(beta_key, shape) if center else ()
        gamma = gamma_init(gamma_key, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        z = standardize(x, axes, epsilon=epsilon)
        if scale:
            z = onp.multiply(onp.expand_dims(gamma, axes), z)
        if center:
            z = onp.add(z, onp.expand_dims(beta, axes))
        return z

    return init, apply


# ---- layers without parameters ----


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Makes a layer that applies a shape-preserving function.

    Args:
      fun: the function.
      **fun_kwargs: keyword arguments of the function.

    Returns:
      The layer: a pair of functions ``init`` and ``apply``.

    Example:
      >>> init, apply = elementwise(onp.square)
      >>> float(apply((), 3.0))
      9.0
    """

    def init(key: Any, input_shape: Any) -> Any:
        return input_shape, ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return init, apply


Tanh = elementwise(onp.tanh)
Relu = elementwise(activations.relu)
Exp = elementwise(onp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(activations.softplus)
Sigmoid = elementwise(activations.sigmoid)
Elu = elementwise(activations.elu)
LeakyRelu = elementwise(activations.leaky_relu)
Selu = elementwise(activations.selu)
Gelu = elementwise(activations.gelu)


def _flatten() -> Layer:
    def init(key: Any, input_shape: Any) -> Any:
        return (input_shape[0], math.prod(input_shape[1:])), ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return onp.reshape(inputs, (inputs.shape[0], -1))

    return init, apply


def _identity() -> Layer:
    def init(key: Any, input_shape: Any) -> Any:
        return input_shape, ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return inputs

    return init, apply


Flatten = _flatten()
Identity = _identity()


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Makes a layer that sets random elements to zero, and divides the kept elements by ``rate``.

    Args:
      rate: the probability with which an element is kept.
      mode: ``"train"``; in another mode, such as ``"test"``, the layer returns its inputs
        unchanged.

    Returns:
      The layer: a pair of functions ``init`` and ``apply``.

    Example:
      >>> init, apply = Dropout(0.5)
      >>> apply((), onp.ones(100), rng=random.key(0)).max().item()
      2.0
    """

    def init(key: Any, input_shape: Any) -> Any:
        return input_shape, ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        key = kwargs.get("rng")
        if key is None:
            raise ValueError(
                "Dropout layer requires apply_fun to be called with a PRNG key argument. That is, "
                "instead of `apply_fun(params, inputs)`, call it like "
                "`apply_fun(params, inputs, rng)` where `rng` is a PRNG key (e.g. from "
                "`olympus.random.key`)."
            )
        if mode != "train":
            return inputs
        is_kept = random.bernoulli(key, rate, inputs.shape)
        return onp.where(is_kept, onp.divide(inputs, rate), 0)

    return init, apply


# ---- several inputs or outputs ----


def FanOut(num: int) -> Layer:
    """Makes a layer that returns its input ``num`` times, for `parallel`.

    Example:
      >>> FanOut(2)[1]((), 3)
      [3, 3]
    """

    def init(key: Any, input_shape: Any) -> Any:
        return [input_shape] * num, ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return [inputs] * num

    return init, apply


def _fan_in_sum() -> Layer:
    def init(key: Any, input_shape: Any) -> Any:
        return input_shape[0], ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return sum(inputs)

    return init, apply


FanInSum = _fan_in_sum()


def FanInConcat(axis: int = -1) -> Layer:
    """Makes a layer that concatenates its inputs along an axis.

    Example:
      >>> FanInConcat()[0](None, [(3, 2), (3, 4)])
      ((3, 6), ())
    """

    def init(key: Any, input_shape: Any) -> Any:
        first = tuple(input_shape[0])
        position = axis % len(first)
        size = sum(shape[position] for shape in input_shape)
        return (*first[:position], size, *first[position + 1 :]), ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return onp.concatenate(inputs, axis)

    return init, apply


# ---- networks of layers ----


def _keys(rng: Any, count: int) -> Any:
    return (None,) * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """Composes layers: each layer's output is the next layer's input.

    Example:
      >>> init, apply = serial(Dense(4), Relu, Dense(1))
      >>> shape, params = init(random.key(0), (-1, 2))
      >>> apply(params, onp.ones((5, 2))).shape
      (5, 1)
    """
    inits, applies = tuple(zip(*layers)) or ((), ())

    def init(key: Any, input_shape: Any) -> Any:
        params = []
        for layer_init in inits:
            key, layer_key = random.split(key)
            input_shape, param = layer_init(layer_key, input_shape)
            params.append(param)
        return input_shape, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for layer_apply, param, key in zip(applies, params, keys):
            inputs = layer_apply(param, inputs, rng=key, **kwargs)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Composes layers side by side, from a list of inputs to a list of outputs.

    Example:
      >>> init, apply = serial(FanOut(2), parallel(Dense(4), Identity), FanInConcat())
      >>> init(random.key(0), (-1, 2))[0]
      (-1, 6)
    """
    inits, applies = tuple(zip(*layers)) or ((), ())

    def init(key: Any, input_shape: Any) -> Any:
        keys = random.split(key, len(layers))
        pairs = [init_layer(key, shape) for init_layer, key, shape in zip(inits, keys, input_shape)]
        shapes, params = tuple(zip(*pairs)) or ((), ())
        return shapes, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        return [
            apply_one(param, x, rng=key, **kwargs)
            for apply_one, param, x, key in zip(applies, params, inputs, keys)
        ]

    return init, apply


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """Makes a layer that is constructed when the shape of its input is known.

    Args:
      make_layer: a function from the shape of the input to the layer.

    Returns:
      The layer: a pair of functions ``init`` and ``apply``.

    Example:
      >>> init, apply = shape_dependent(lambda shape: Dense(shape[-1]))
      >>> init(random.key(0), (-1, 2))[0]
      (-1, 2)
    """

    def init(key: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](key, input_shape)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init, apply
