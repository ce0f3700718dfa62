# SPDX-License-Identifier: Apache-2.0
"""Trains a network of two layers to tell two spirals apart: a training loop with Adam."""

from __future__ import annotations

import numpy as np

import olympus.numpy as jnp
from olympus import jit, nn, random, tree, value_and_grad


def spirals(count, seed):
    """Returns points of two spirals, and which of the two each point belongs to."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, count)
    radius = rng.uniform(0.1, 1.0, count)
    angle = 6 * radius + np.pi * label + rng.normal(0.0, 0.05, count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points.astype(np.float32), label.astype(np.float32)


def initial(key, width=64):
    """Returns the first parameters."""
    first, second = random.split(key)
    return {
        "w1": 3 * random.normal(first, (2, width)),
        "b1": jnp.zeros(width),
        "w2": random.normal(second, (width,)) / width**0.5,
    }


def loss(params, points, label):
    """Returns the cross-entropy."""
    logit = nn.tanh(points @ params["w1"] + params["b1"]) @ params["w2"]
    return jnp.mean(nn.softplus(jnp.where(label > 0, -logit, logit)))


@jit
def step(state, points, label):
    """Returns the state after one step of Adam, and the loss before the step."""
    params, mean, square, number = state
    value, slope = value_and_grad(loss)(params, points, label)
    number = number + 1
    mean = tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
    square = tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, square, slope)
    rate = 0.02 * jnp.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    params = tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, mean, square)
    return (params, mean, square, number), value


def main() -> None:
    """Trains for 300 steps."""
    points, label = spirals(512, seed=0)
    params = initial(random.key(0))
    zeros = tree.map(jnp.zeros_like, params)
    state = (params, zeros, zeros, jnp.float32(0))
    for index in range(301):
        state, value = step(state, points, label)
        if index % 100 == 0:
            print(f"step {index:3d}: loss {float(value):.4f}")


if __name__ == "__main__":
    main()
