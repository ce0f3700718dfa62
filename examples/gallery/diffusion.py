# SPDX-License-Identifier: Apache-2.0
"""A diffusion model of handwritten digits: it learns the way from noise to an image.

Flow matching (Lipman et al., 2023; Liu, Gong and Liu, 2023): a network learns the velocity
``image - noise`` at points of the straight line between the two. Images are drawn by following the
velocity from noise, in 40 steps.
"""

from __future__ import annotations

import numpy as np
import pictures
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import olympus
import olympus.numpy as jnp
from olympus import nn, random
from olympus.example_libraries import optimizers

pixels, digits = load_digits(return_X_y=True)
images = jnp.asarray(pixels / 8 - 1, jnp.float32)
labels = jnp.asarray(digits)
STEPS, BATCH, WIDTH = 2500, 128, 256


def init(key):
    """Returns the parameters of a network of an image, a time and a digit."""
    sizes = [(64 + 16 + 10, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, 64)]
    keys = random.split(key, len(sizes))
    return [
        (nn.initializers.he_normal()(each, size), jnp.zeros(size[1]))
        for each, size in zip(keys, sizes, strict=True)
    ]


def velocity(params, x, time, label):
    """Returns the velocity at a point and time, for the images of a digit."""
    waves = time * jnp.pi * 2.0 ** jnp.arange(8) / 4
    x = jnp.concatenate([x, jnp.sin(waves), jnp.cos(waves), nn.one_hot(label, 10)])
    for weights, bias in params[:-1]:
        x = nn.silu(x @ weights + bias)
    weights, bias = params[-1]
    return x @ weights + bias


def loss(params, key):
    """Returns the mean squared error of the velocity, at random points of random lines."""
    rows, noises, times = random.split(key, 3)
    chosen = random.randint(rows, (BATCH,), 0, len(images))
    noise = random.normal(noises, (BATCH, 64))
    time = random.uniform(times, (BATCH,))
    points = time[:, None] * images[chosen] + (1 - time[:, None]) * noise
    found = olympus.vmap(velocity, in_axes=(None, 0, 0, 0))(params, points, time, labels[chosen])
    return jnp.mean((found - (images[chosen] - noise)) ** 2)


start, update, params_of = optimizers.adam(lambda step: 2e-3 * (1 - step / STEPS))


@olympus.jit
def train(params, key):
    """Returns trained parameters and the loss of each step."""

    def step(state, number):
        batch_key = random.fold_in(key, number)
        value, gradients = olympus.value_and_grad(loss)(params_of(state), batch_key)
        return update(number, gradients, state), value

    state, losses = olympus.lax.scan(step, start(params), jnp.arange(STEPS))
    return params_of(state), losses


@olympus.jit
def draw(params, key, label):
    """Returns an image of a digit: follows the velocity from noise."""

    def step(x, time):
        return x + velocity(params, x, time, label) / 40, None

    return olympus.lax.scan(step, random.normal(key, (64,)), jnp.arange(40) / 40)[0]


params, losses = train(init(random.key(0)), random.key(1))
wanted = jnp.repeat(jnp.arange(10), 12)
keys = random.split(random.key(2), len(wanted))
drawn = olympus.vmap(draw, in_axes=(None, 0, 0))(params, keys, wanted)

reader = KNeighborsClassifier(3).fit(np.asarray(images), digits)
accuracy = np.mean(reader.predict(np.asarray(drawn)) == wanted)
print(f"loss {losses[0]:.2f}, at the end {losses[-200:].mean():.2f}; {accuracy:.0%} are read right")
assert losses[-200:].mean() < 0.5 * losses[0]
assert accuracy > 0.85  # neighbors among the real images have the digit that was asked for

framed = np.pad(
    np.asarray(drawn).reshape(10, 12, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-1
)
mosaic = framed.transpose(0, 2, 1, 3).reshape(100, 120)
drawing, axes = pictures.figure(size=(5.5, 5))
axes.imshow(mosaic, cmap="gray_r", vmin=-1, vmax=1)
axes.set(title="Digits that were never written", xticks=[], yticks=np.arange(10) * 10 + 4.5)
axes.set_yticklabels(range(10))
pictures.save(drawing, "diffusion")
