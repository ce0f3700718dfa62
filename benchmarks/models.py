# SPDX-License-Identifier: Apache-2.0
"""The models that the benchmarks trace, lower, compile and run, written once for both libraries.

Each function receives the library's modules (see `workloads.library`), and returns a function of
arrays and its arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Model = tuple[Callable[..., Any], tuple[Any, ...]]


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    fan_in = shape[-2] if len(shape) > 1 else shape[0]
    return (rng.normal(size=shape) / np.sqrt(fan_in)).astype(np.float32)


def adam_step(lib: Any, loss: Callable[..., Any]) -> Callable[..., Any]:
    """Applies one step of Adam to pytrees of parameters and moments, for a batch of examples."""
    tree_map = lib.top.tree_util.tree_map

    def step(params: Any, first: Any, second: Any, count: Any, *batch: Any) -> Any:
        value, grads = lib.top.value_and_grad(loss)(params, *batch)
        count = count + 1.0
        first = tree_map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
        rate = 1e-3 * lib.np.sqrt(1.0 - 0.999**count) / (1.0 - 0.9**count)
        params = tree_map(
            lambda p, m, v: p - rate * m / (lib.np.sqrt(v) + 1e-8), params, first, second
        )
        return params, first, second, count, value

    return step


def with_adam(lib: Any, loss: Callable[..., Any], params: Any, *batch: Any) -> Model:
    """Returns the training step of a loss, and its first arguments."""
    zeros = lib.top.tree_util.tree_map(np.zeros_like, params)
    return adam_step(lib, loss), (params, zeros, zeros, np.float32(0), *batch)


# ---- fully connected ----


def mlp_loss(lib: Any) -> Model:
    """Returns the loss of a network of three layers, and its arguments."""
    rng = np.random.default_rng(0)
    params = [
        {"w": _normal(rng, m, n), "b": np.zeros(n, np.float32)}
        for m, n in itertools.pairwise([64, 128, 128, 10])
    ]
    batch = rng.normal(size=(32, 64)).astype(np.float32)

    def loss(params: Any, batch: Any) -> Any:
        x = batch
        for layer in params[:-1]:
            x = lib.np.tanh(lib.np.dot(x, layer["w"]) + layer["b"])
        x = lib.np.dot(x, params[-1]["w"]) + params[-1]["b"]
        return lib.np.mean(x**2) + lib.np.sum(lib.np.where(x > 0, x, 0.1 * x))

    return loss, (params, batch)


def mlp(lib: Any) -> Model:
    """Returns the training step of the network of three layers."""
    loss, arguments = mlp_loss(lib)
    return with_adam(lib, loss, *arguments)


# ---- transformer ----

_WIDTH, _HEADS, _LAYERS, _LENGTH, _VOCABULARY = 64, 4, 12, 16, 100


def _transformer_layer(lib: Any, p: Any, x: Any) -> Any:
    def normalized(x: Any, scale: Any) -> Any:
        mean = lib.np.mean(x, axis=-1, keepdims=True)
        variance = lib.np.var(x, axis=-1, keepdims=True)
        return (x - mean) / lib.np.sqrt(variance + 1e-5) * scale

    def heads(x: Any) -> Any:
        return x.reshape(*x.shape[:-1], _HEADS, _WIDTH // _HEADS)

    h = normalized(x, p["scale1"])
    q, k, v = (heads(h @ p[name]) for name in ("q", "k", "v"))
    scores = lib.np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(_WIDTH // _HEADS)
    mask = lib.np.tril(lib.np.ones((_LENGTH, _LENGTH), bool))
    scores = lib.np.where(mask, scores, -1e9)
    weights = lib.nn.softmax(scores, axis=-1)
    mixed = lib.np.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape)
    x = x + mixed @ p["out"]
    h = normalized(x, p["scale2"])
    return x + lib.nn.gelu(h @ p["up"] + p["bias"]) @ p["down"]


def _transformer_params(rng: np.random.Generator) -> dict[str, Any]:
    def layer() -> dict[str, np.ndarray]:
        return {
            "scale1": np.ones(_WIDTH, np.float32),
            "scale2": np.ones(_WIDTH, np.float32),
            "bias": np.zeros(4 * _WIDTH, np.float32),
            "up": _normal(rng, _WIDTH, 4 * _WIDTH),
            "down": _normal(rng, 4 * _WIDTH, _WIDTH),
            **{name: _normal(rng, _WIDTH, _WIDTH) for name in ("q", "k", "v", "out")},
        }

    return {
        "embedding": _normal(rng, _VOCABULARY, _WIDTH),
        "layers": [layer() for _ in range(_LAYERS)],
        "readout": _normal(rng, _WIDTH, _VOCABULARY),
    }


def _transformer(lib: Any, scanned: bool) -> Model:
    rng = np.random.default_rng(0)
    params = _transformer_params(rng)
    if scanned:
        params["layers"] = lib.top.tree_util.tree_map(
            lambda *each: np.stack(each), *params["layers"]
        )
    tokens = rng.integers(0, _VOCABULARY, size=(4, _LENGTH + 1)).astype(np.int32)

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embedding"][tokens[:, :-1]]
        if scanned:
            x, _ = lib.lax.scan(
                lambda x, p: (_transformer_layer(lib, p, x), None), x, params["layers"]
            )
        else:
            for p in params["layers"]:
                x = _transformer_layer(lib, p, x)
        logits = lib.nn.log_softmax(x @ params["readout"])
        chosen = lib.np.take_along_axis(logits, tokens[:, 1:, None], axis=-1)
        return -lib.np.mean(chosen)

    return with_adam(lib, loss, params, tokens)


def transformer(lib: Any) -> Model:
    """Returns the training step of a transformer of 12 layers, without a loop over layers."""
    return _transformer(lib, scanned=False)


def scanned_transformer(lib: Any) -> Model:
    """Returns the training step of the same transformer as a scan over stacked layers."""
    return _transformer(lib, scanned=True)


# ---- convolutions ----


def resnet(lib: Any) -> Model:
    """Returns the training step of a network with the structure of ResNet-18 and few channels."""
    rng = np.random.default_rng(0)
    channels = [8, 8, 16, 32, 64]

    def convolution(size: int, m: int, n: int) -> np.ndarray:
        return (rng.normal(size=(size, size, m, n)) / np.sqrt(size * size * m)).astype(np.float32)

    def block(m: int, n: int) -> dict[str, Any]:
        params = {
            "first": convolution(3, m, n),
            "second": convolution(3, n, n),
            "scale1": np.ones(n, np.float32),
            "scale2": np.ones(n, np.float32),
        }
        return params if m == n else {**params, "skip": convolution(1, m, n)}

    params = {
        "stem": convolution(3, 3, channels[0]),
        "stages": [[block(m, n), block(n, n)] for m, n in itertools.pairwise(channels)],
        "readout": _normal(rng, channels[-1], 10),
    }
    images = rng.normal(size=(2, 16, 16, 3)).astype(np.float32)

    def convolve(x: Any, w: Any, stride: int = 1) -> Any:
        return lib.lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def normalized(x: Any, scale: Any) -> Any:
        mean, variance = lib.np.mean(x, axis=(0, 1, 2)), lib.np.var(x, axis=(0, 1, 2))
        return (x - mean) / lib.np.sqrt(variance + 1e-5) * scale

    def residual(p: Any, x: Any, stride: int) -> Any:
        h = lib.nn.relu(normalized(convolve(x, p["first"], stride), p["scale1"]))
        h = normalized(convolve(h, p["second"]), p["scale2"])
        skip = convolve(x, p["skip"], stride) if "skip" in p else x
        return lib.nn.relu(h + skip)

    def loss(params: Any, images: Any) -> Any:
        x = lib.nn.relu(convolve(images, params["stem"]))
        for number, (first, second) in enumerate(params["stages"]):
            x = residual(second, residual(first, x, 1 if number == 0 else 2), 1)
        logits = lib.nn.log_softmax(lib.np.mean(x, axis=(1, 2)) @ params["readout"])
        return -lib.np.mean(logits[:, 0])

    return with_adam(lib, loss, params, images)


# ---- loops ----


def recurrent(lib: Any) -> Model:
    """Returns the gradient of a recurrent network, a scan over time."""
    rng = np.random.default_rng(0)
    params = {"w": _normal(rng, 32, 64), "u": _normal(rng, 64, 64), "b": np.zeros(64, np.float32)}
    inputs = rng.normal(size=(50, 8, 32)).astype(np.float32)

    def loss(params: Any, inputs: Any) -> Any:
        def cell(h: Any, x: Any) -> Any:
            h = lib.np.tanh(x @ params["w"] + h @ params["u"] + params["b"])
            return h, lib.np.mean(h)

        _, means = lib.lax.scan(cell, lib.np.zeros((8, 64), np.float32), inputs)
        return lib.np.sum(means**2)

    return lib.top.value_and_grad(loss), (params, inputs)


def ode(lib: Any) -> Model:
    """Returns the gradient of a Runge-Kutta solution of the Lotka-Volterra equations."""

    def derivative(y: Any, p: Any) -> Any:
        prey, predators = y[0], y[1]
        return lib.np.stack(
            [p[0] * prey - p[1] * prey * predators, p[2] * prey * predators - p[3] * predators]
        )

    def solve(p: Any, start: Any) -> Any:
        h = 0.01

        def step(_: Any, y: Any) -> Any:
            k1 = derivative(y, p)
            k2 = derivative(y + h / 2 * k1, p)
            k3 = derivative(y + h / 2 * k2, p)
            k4 = derivative(y + h * k3, p)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        return lib.np.sum(lib.lax.fori_loop(0, 200, step, start))

    p = np.array([1.0, 0.5, 0.3, 0.8], np.float32)
    return lib.top.value_and_grad(solve), (p, np.array([1.0, 0.7], np.float32))


# ---- derivatives ----


def hessian(lib: Any) -> Model:
    """Returns the Hessian of the mean of a function that is mapped over a batch."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(16, 6)).astype(np.float32)

    def energy(w: Any, x: Any) -> Any:
        return lib.np.sum(lib.np.sin(w * x) ** 2) + lib.np.exp(-(lib.np.dot(w, x) ** 2))

    def total(w: Any, points: Any) -> Any:
        return lib.np.mean(lib.top.vmap(energy, in_axes=(None, 0))(w, points))

    return lib.top.hessian(total), (np.linspace(0.1, 1.0, 6, dtype=np.float32), points)


# ---- many equations ----


def straight_line(lib: Any, equations: int = 2000) -> Model:
    """Returns a function with the given number of equations, all different."""

    def function(x: Any) -> Any:
        for _ in range(equations // 4):
            x = lib.np.sin(x * 0.25 + x) - 0.5
        return x

    return function, (np.linspace(0.0, 1.0, 100, dtype=np.float32),)


def straight_line_gradient(lib: Any, equations: int = 2000) -> Model:
    """Returns the gradient of a function with the given number of equations."""
    function, arguments = straight_line(lib, equations)
    return lib.top.grad(lambda x: lib.np.sum(function(x))), arguments


def layers(lib: Any, count: int = 80) -> Model:
    """Returns the gradient of equal layers without a loop (einsum, where, tanh)."""
    rng = np.random.default_rng(0)
    weights = [(1 + rng.normal(size=64) / 8).astype(np.float32) for _ in range(count)]

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            h = lib.np.einsum("bi,i->bi", x, w)
            x = lib.np.tanh(lib.np.where(h > 0, h, 0.1 * h))
        return lib.np.mean(x**2)

    return lib.top.grad(loss), (weights, rng.normal(size=(32, 64)).astype(np.float32))


MODELS: dict[str, Callable[[Any], Model]] = {
    "MLP": mlp,
    "transformer of 12 layers": transformer,
    "transformer, scanned": scanned_transformer,
    "ResNet-18": resnet,
    "recurrent network": recurrent,
    "Hessian of a mapped function": hessian,
    "ODE": ode,
    "2,000 equations": straight_line,
    "gradient of 2,000 equations": straight_line_gradient,
    "gradient of 10 layers": lambda lib: layers(lib, 10),
    "gradient of 80 layers": layers,
}

# The models that compile within about a second; the short form includes only these.
QUICK = frozenset({"MLP", "Hessian of a mapped function", "ODE", "gradient of 10 layers"})
