# SPDX-License-Identifier: Apache-2.0
"""A network becomes an image: it maps the coordinates of a pixel to its color.

Networks learn smooth functions first. Sines and cosines of random frequencies in the place of
the coordinates let it learn edges as well (Tancik et al., *Fourier features let networks learn high
frequency functions in low dimensional domains*, 2020). Both are trained here, on every second
pixel, and asked for all of them.
"""

from __future__ import annotations

import numpy as np
import pictures
from sklearn.datasets import load_sample_image

import olympus
import olympus.numpy as jnp
from olympus import nn, random
from olympus.example_libraries import optimizers

STEPS, WIDTH = 400, 96

picture = load_sample_image("flower.jpg")[60:360, 130:530].astype(np.float32) / 255
picture = picture.reshape(60, 5, 80, 5, 3).mean(axis=(1, 3))
height, width, _ = picture.shape
places = np.stack(np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height)), axis=-1)
places = jnp.asarray(places.reshape(-1, 2), jnp.float32)
colors = jnp.asarray(picture.reshape(-1, 3))
known = jnp.asarray((np.add.outer(np.arange(height), np.arange(width)) % 2 == 0).ravel())


def features(place, frequencies):
    """Returns sines and cosines of a place; the place itself without frequencies."""
    if frequencies is None:
        return place
    angles = frequencies @ place
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)])


def color(params, place, frequencies):
    """Returns the color at a place."""
    x = features(place, frequencies)
    for weights, bias in params[:-1]:
        x = nn.relu(x @ weights + bias)
    weights, bias = params[-1]
    return nn.sigmoid(x @ weights + bias)


def paint(params, frequencies):
    """Returns the colors of all pixels."""
    return olympus.vmap(color, in_axes=(None, 0, None))(params, places, frequencies)


def noise_ratio(painted, of):
    """Returns the peak signal-to-noise ratio in decibels, of some pixels."""
    error = jnp.sum(of[:, None] * (painted - colors) ** 2) / (3 * jnp.sum(of))
    return -10 * jnp.log10(error)


start, update, params_of = optimizers.adam(lambda step: 5e-3 * (1 - step / STEPS))


@olympus.jit
def train(key, frequencies):
    """Returns the painted picture, and the noise ratio of the known pixels in each step."""
    inputs = 2 if frequencies is None else 2 * len(frequencies)
    sizes = [(inputs, WIDTH), (WIDTH, WIDTH), (WIDTH, 3)]
    params = [
        (nn.initializers.he_normal()(each, size), jnp.zeros(size[1]))
        for each, size in zip(random.split(key, 3), sizes, strict=True)
    ]

    def step(state, number):
        loss = lambda params: -noise_ratio(paint(params, frequencies), known)  # noqa: E731
        value, gradients = olympus.value_and_grad(loss)(params_of(state))
        return update(number, gradients, state), -value

    state, ratios = olympus.lax.scan(step, start(params), jnp.arange(STEPS))
    return paint(params_of(state), frequencies), ratios


frequencies = 7.0 * random.normal(random.key(0), (64, 2))
smooth, _ = train(random.key(1), None)
sharp, ratios = train(random.key(1), frequencies)
unseen = [float(noise_ratio(painted, ~known)) for painted in (smooth, sharp)]
print(f"unseen pixels: {unseen[0]:.1f} dB from coordinates, {unseen[1]:.1f} dB from waves")
assert unseen[1] > 24
assert unseen[1] > unseen[0] + 3
assert ratios[-1] > ratios[0] + 10

drawing, axes = pictures.figure(columns=3, size=(8, 2.4))
titles = ("the picture", "from coordinates", "from waves")
for each, painted, title in zip(axes, (colors, smooth, sharp), titles, strict=True):
    each.imshow(np.asarray(painted).reshape(height, width, 3))
    each.set(title=title, xticks=[], yticks=[])
pictures.save(drawing, "image_fitting")
