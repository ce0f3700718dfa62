# SPDX-License-Identifier: Apache-2.0
"""Training of compiled networks for images, compared with JAX."""

from __future__ import annotations

import importlib.util
import json
import pathlib

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus.example_libraries import optimizers, stax

DATA = pathlib.Path(__file__).parent.parent / "packages" / "olympus-nn" / "tests" / "data"


def load_samples():
    specification = importlib.util.spec_from_file_location("samples", DATA / "samples.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_residual_networks_compute_what_jax_computes():
    """Step by step as recorded of JAX; compiled as a whole, with each example by itself as well."""
    samples = load_samples()
    recorded = json.loads((DATA / "recorded.json").read_text())["losses"]
    init, apply = samples.residual_network(stax)
    _, params = init(olympus.random.key(42), (-1, *samples.IMAGES.shape[1:]))
    init_state, update, get_params = optimizers.momentum(0.05, 0.9)

    def loss(params):
        return -jnp.sum(apply(params, samples.IMAGES) * samples.TARGETS, 1).mean()

    @olympus.jit
    def step(i, state):
        value, gradient = olympus.value_and_grad(loss)(get_params(state))
        return value, update(i, gradient, state)

    state, losses = init_state(params), []
    for i in range(len(recorded)):
        value, state = step(i, state)
        losses.append(float(value))
    np.testing.assert_allclose(losses, recorded, rtol=1e-3)


def test_per_example_gradients():
    """Of a network of convolutions and pooling: `vmap` of `grad` is a loop of gradients."""
    init, apply = stax.serial(
        stax.Conv(3, (3, 3), (2, 2), padding="SAME"),
        stax.Relu,
        stax.MaxPool((2, 2), padding="SAME"),
        stax.ConvTranspose(2, (2, 2), (2, 2)),
        stax.AvgPool((2, 2)),
        stax.Flatten,
        stax.Dense(1),
    )
    _, params = init(olympus.random.key(0), (-1, 8, 8, 2))
    images = olympus.random.normal(olympus.random.key(1), (4, 8, 8, 2))

    def score(params, image):
        return apply(params, image[None])[0, 0] ** 2

    each = olympus.jit(olympus.vmap(olympus.grad(score), (None, 0)))(params, images)
    for position, image in enumerate(images):
        alone = olympus.grad(score)(params, image)
        for found, expected in zip(
            olympus.tree.leaves(each), olympus.tree.leaves(alone), strict=True
        ):
            np.testing.assert_allclose(found[position], expected, rtol=1e-3, atol=1e-5)
