# SPDX-License-Identifier: Apache-2.0
"""Recorded calls, which `record.py` makes with JAX and the tests with OLYMPUS."""

from __future__ import annotations

import numpy as np

ELEMENTWISE = [
    "relu relu6 sigmoid softplus soft_sign silu swish mish log_sigmoid leaky_relu hard_sigmoid",
    "hard_silu hard_swish hard_tanh elu celu selu gelu glu squareplus sparse_plus sparse_sigmoid",
    "identity tanh log1mexp softmax log_softmax standardize logsumexp logmeanexp",
]
POINTS = np.array([[-9.0, -3.0, -1.0, -0.5, 0.0, 0.25], [0.5, 1.0, 2.0, 3.0, 6.0, 9.5]], np.float32)
POSITIVE = np.abs(POINTS) + np.float32(0.1)
MASK = POINTS > -2


def functions(nn):
    """Returns calls of one array by name; ``nn`` is olympus_nn or jax.nn."""
    calls = {name: getattr(nn, name) for line in ELEMENTWISE for name in line.split()}
    return calls | {
        "gelu_exact": lambda x: nn.gelu(x, approximate=False),
        "leaky_relu_slope": lambda x: nn.leaky_relu(x, 0.2),
        "elu_alpha": lambda x: nn.elu(x, 0.5),
        "celu_alpha": lambda x: nn.celu(x, 2.0),
        "glu_axis": lambda x: nn.glu(x, 0),
        "squareplus_b": lambda x: nn.squareplus(x, 2),
        "softmax_axes": lambda x: nn.softmax(x, axis=(0, 1)),
        "softmax_where": lambda x: nn.softmax(x, where=MASK),
        "log_softmax_axis": lambda x: nn.log_softmax(x, axis=0),
        "logsumexp_axis": lambda x: nn.logsumexp(x, axis=1, keepdims=True),
        "logsumexp_where": lambda x: nn.logsumexp(x, axis=0, where=MASK),
        "logsumexp_b": lambda x: nn.logsumexp(x, axis=1, b=np.float32(2.0) * MASK),
        "logsumexp_sign": lambda x: nn.logsumexp(x, b=-np.ones_like(POINTS), return_sign=True)[0],
        "logmeanexp_where": lambda x: nn.logmeanexp(x, axis=1, where=MASK, keepdims=True),
        "standardize_stable": lambda x: nn.standardize(x, axis=0, algorithm="stable"),
        "standardize_where": lambda x: nn.standardize(x, axis=(0, 1), where=MASK, epsilon=1e-3),
        "standardize_mean": lambda x: nn.standardize(x, mean=1.0, variance=2.0),
    }


def point_of(name):
    return POSITIVE if name == "log1mexp" else POINTS


def codes(nn):
    """Returns calls of an array of integers."""
    return {
        "one_hot": lambda i: nn.one_hot(i, 4),
        "one_hot_first": lambda i: nn.one_hot(i, 4, axis=0, dtype=np.int32),
        "relu_integers": nn.relu,
        "relu6_integers": nn.relu6,
        "elu_integers": nn.elu,
        "gelu_integers": nn.gelu,
        "leaky_relu_integers": nn.leaky_relu,
        "softmax_integers": nn.softmax,
        "standardize_integers": nn.standardize,
        "hard_tanh_integers": nn.hard_tanh,
        "sparse_plus_integers": nn.sparse_plus,
    }


NUMBERS = np.array([3, 0, -1, 7], np.int32)


def normal(seed, shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


QUERY, KEY, VALUE = normal(0, (2, 3, 4, 8)), normal(1, (2, 5, 4, 8)), normal(2, (2, 5, 4, 8))
BIAS = normal(3, (2, 4, 3, 5))


def attentions(nn):
    """Returns calls of queries, keys and values."""
    attend = nn.dot_product_attention

    def call(**options):
        return lambda q, k, v: attend(q, k, v, **options)

    def grouped(**options):
        return lambda q, k, v: attend(q, k[:, :, :2], v[:, :, :2], **options)

    lengths = np.array([2, 4], np.int32)
    return {
        "plain": call(),
        "unbatched": lambda q, k, v: attend(q[0], k[0], v[0], bias=BIAS[0]),
        "scaled": call(scale=0.5, bias=BIAS, mask=BIAS > -0.5),
        "causal": call(is_causal=True),
        "grouped": grouped(),
        "grouped_causal": grouped(is_causal=True),
        "grouped_bias": grouped(bias=BIAS[:1], mask=BIAS[:, :1] > -0.5),
        "window": call(local_window_size=1),
        "window_causal": call(local_window_size=(1, 2), is_causal=True),
        "lengths": call(query_seq_lengths=lengths - 1, key_value_seq_lengths=lengths),
        "query_lengths": call(query_seq_lengths=lengths - 1),
        "key_lengths": grouped(key_value_seq_lengths=lengths),
        "residual": lambda q, k, v: attend(q, k, v, is_causal=True, return_residual=True)[1],
    }


def initializations(initializers, key):
    """Returns weights by the name of their initializer."""
    plain = "uniform normal truncated_normal glorot_uniform glorot_normal lecun_uniform"
    plain += " lecun_normal he_uniform he_normal kaiming_uniform xavier_normal"
    draws = {name: getattr(initializers, name)()(key, (4, 3)) for name in plain.split()}
    for mode in ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"):
        for law in ("normal", "truncated_normal", "uniform"):
            init = initializers.variance_scaling(3.0, mode, law, 1, 2, batch_axis=0)
            draws[f"{mode}_{law}"] = init(key, (2, 3, 4, 5))
    complex_draws = {
        f"complex_{name}": getattr(initializers, name)()(key, (4, 3), np.complex64)
        for name in ("he_uniform", "he_normal")
    }
    return {
        **draws,
        **complex_draws,
        "zeros": initializers.zeros(key, (2, 3)),
        "ones": initializers.ones(key, (2, 3), np.int32),
        "constant": initializers.constant(7.0)(key, (2, 3)),
        "half": initializers.he_uniform(dtype=np.float16)(key, (4, 3)),
    }


def network(stax):
    side = stax.serial(stax.Dense(3), stax.Tanh)
    return stax.serial(
        stax.Flatten,
        stax.Dense(4),
        stax.BatchNorm(axis=0),
        stax.Gelu,
        stax.FanOut(3),
        stax.parallel(side, stax.Identity, stax.shape_dependent(lambda s: stax.Dense(s[-1]))),
        stax.FanInConcat(),
        stax.Dropout(0.7),
        stax.FanOut(2),
        stax.parallel(stax.LeakyRelu, stax.Softplus),
        stax.FanInSum,
        stax.Dense(2),
        stax.LogSoftmax,
    )


INPUTS = normal(4, (6, 2, 2))


def layers(stax):
    """Returns layers of windows, with the shapes of their inputs."""
    channels_first = ("NCHW", "OIHW", "NCHW")
    return {
        "conv": (stax.Conv(4, (3, 2), strides=(2, 1), padding="SAME"), (2, 5, 6, 3)),
        "conv_valid": (stax.Conv(2, (2, 2)), (1, 4, 4, 2)),
        "general_conv": (
            stax.GeneralConv(channels_first, 4, (3, 2), padding="SAME_LOWER"),
            (2, 3, 5, 4),
        ),
        "padded_conv": (
            stax.GeneralConv(("NCHW", "OIHW", "NHWC"), 2, (3, 2), padding=[(1, 1), (0, 1)]),
            (2, 3, 4, 3),
        ),
        "conv_transpose": (stax.ConvTranspose(2, (3, 2), strides=(2, 1)), (2, 3, 4, 2)),
        "conv_transpose_same": (
            stax.ConvTranspose(2, (3, 2), strides=(2, 3), padding="SAME"),
            (2, 3, 4, 2),
        ),
        "conv_1d_transpose": (stax.Conv1DTranspose(2, (3,), strides=(2,)), (2, 4, 3)),
        "general_conv_transpose": (
            stax.GeneralConvTranspose(channels_first, 2, (3, 2), padding="SAME"),
            (2, 2, 4, 3),
        ),
        "max_pool": (stax.MaxPool((2, 2)), (2, 4, 5, 3)),
        "max_pool_same": (stax.MaxPool((2, 3), strides=(2, 2), padding="SAME"), (2, 5, 5, 2)),
        "max_pool_channels_first": (stax.MaxPool((2, 2), spec="NCHW"), (2, 3, 4, 5)),
        "sum_pool": (stax.SumPool((2, 3), strides=(1, 2)), (2, 4, 5, 2)),
        "avg_pool": (stax.AvgPool((2, 3)), (2, 4, 5, 2)),
        "avg_pool_same": (stax.AvgPool((2, 3), strides=(1, 2), padding="SAME"), (2, 4, 5, 2)),
        "avg_pool_1d": (stax.AvgPool((2,), spec="NHC"), (2, 4, 3)),
        "batch_norm": (stax.BatchNorm(), (2, 3, 4, 2)),
    }


def residual_network(stax):
    """Returns a small network of residual blocks, as used for images."""

    def block(channels, strides=(1, 1)):
        main = stax.serial(
            stax.Conv(channels, (3, 3), strides, padding="SAME"),
            stax.BatchNorm(),
            stax.Relu,
            stax.Conv(channels, (3, 3), padding="SAME"),
            stax.BatchNorm(),
        )
        side = stax.Identity
        if strides != (1, 1):
            side = stax.serial(stax.Conv(channels, (1, 1), strides), stax.BatchNorm())
        return stax.serial(stax.FanOut(2), stax.parallel(main, side), stax.FanInSum, stax.Relu)

    return stax.serial(
        stax.Conv(4, (3, 3), padding="SAME"),
        stax.BatchNorm(),
        stax.Relu,
        stax.MaxPool((2, 2), strides=(2, 2), padding="SAME"),
        block(4),
        block(6, (2, 2)),
        stax.AvgPool((2, 2)),
        stax.Flatten,
        stax.Dense(3),
        stax.LogSoftmax,
    )


IMAGES = normal(7, (4, 7, 7, 3))
TARGETS = np.eye(3, dtype=np.float32)[[0, 2, 1, 2]]


def trained_losses(network, optimizer, grad, key, steps=6):
    """Returns the losses of a network over some steps on one batch, and the trained parameters."""
    init, apply = network
    _, params = init(key, (-1, *IMAGES.shape[1:]))
    init_state, update, get_params = optimizer

    def loss(params):
        return -(apply(params, IMAGES) * TARGETS).sum(1).mean()

    state, losses = init_state(params), []
    for step in range(steps):
        params = get_params(state)
        losses.append(float(loss(params)))
        state = update(step, grad(loss)(params), state)
    return losses, get_params(state)


def optimizations(optimizers):
    decay = optimizers.exponential_decay(0.1, 2, 0.5)
    return {
        "sgd": optimizers.sgd(0.1),
        "sgd_schedule": optimizers.sgd(decay),
        "momentum": optimizers.momentum(decay, 0.9),
        "nesterov": optimizers.nesterov(0.1, 0.9),
        "adagrad": optimizers.adagrad(0.1),
        "rmsprop": optimizers.rmsprop(0.1),
        "rmsprop_momentum": optimizers.rmsprop_momentum(0.1),
        "adam": optimizers.adam(0.1),
        "adamax": optimizers.adamax(0.1),
        "sm3": optimizers.sm3(0.1),
    }


def schedules(optimizers):
    return {
        "constant": optimizers.constant(0.1),
        "exponential": optimizers.exponential_decay(0.1, 10, 0.9),
        "inverse": optimizers.inverse_time_decay(0.1, 10, 0.9),
        "stairs": optimizers.inverse_time_decay(0.1, 2, 0.9, True),
        "polynomial": optimizers.polynomial_decay(0.1, 4, 0.01, 2),
        "piecewise": optimizers.piecewise_constant([1, 3], [0.1, 0.2, 0.3]),
    }


PARAMS = {"matrix": normal(5, (3, 2)), "offset": (normal(6, (2,)),)}


def gradients(step):
    return {"matrix": normal(7 + step, (3, 2)), "offset": (normal(20 + step, (2,)),)}


def trained(optimizer):
    state = optimizer.init_fn(PARAMS)
    for step in range(3):
        state = optimizer.update_fn(step, gradients(step), state)
    return optimizer.params_fn(state)
