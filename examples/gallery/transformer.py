# SPDX-License-Identifier: Apache-2.0
"""A transformer that writes text, letter by letter, after reading this documentation.

Two layers of causal attention, Adam, a minute of training. The whole training is one compiled
loop. The text is written by a second loop, which draws one letter a step.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pictures

import olympus
import olympus.numpy as jnp
from olympus import nn, random
from olympus.example_libraries import optimizers

LENGTH, WIDTH, HEADS, LAYERS = 64, 96, 4, 2
STEPS, BATCH = 400, 16

pages = sorted((Path(__file__).parents[2] / "docs").glob("[a-l]*.md"))
prose = [
    line
    for page in pages
    for line in page.read_text("utf-8").splitlines()
    if len(line) > 60 and line.isascii() and line[0].isalpha()
]
text = " ".join(prose)
letters = sorted(set(text))
codes = jnp.asarray(np.searchsorted(letters, list(text)))


def init(key):
    """Returns the parameters; those of the layers are stacked."""
    keys = iter(random.split(key, 8))

    def normal(*shape):
        return random.normal(next(keys), shape) / np.sqrt(shape[-2])

    return {
        "letters": 0.3 * random.normal(next(keys), (len(letters), WIDTH)),
        "places": 0.3 * random.normal(next(keys), (LENGTH, WIDTH)),
        "layers": {
            "attention": normal(LAYERS, WIDTH, 3 * WIDTH),
            "merge": normal(LAYERS, WIDTH, WIDTH),
            "widen": normal(LAYERS, WIDTH, 4 * WIDTH),
            "narrow": normal(LAYERS, 4 * WIDTH, WIDTH),
        },
        "out": normal(WIDTH, len(letters)),
    }


def logits_of(params, sequence):
    """Returns the logits of the next letter after each place of a sequence."""

    def layer(x, weights):
        heads = (nn.standardize(x) @ weights["attention"]).reshape(1, LENGTH, 3 * HEADS, -1)
        query, key, value = jnp.split(heads, 3, axis=2)
        mixed = nn.dot_product_attention(query, key, value, is_causal=True)
        x = x + mixed.reshape(LENGTH, WIDTH) @ weights["merge"]
        return x + nn.gelu(nn.standardize(x) @ weights["widen"]) @ weights["narrow"], None

    x = params["letters"][sequence] + params["places"]
    x, _ = olympus.lax.scan(layer, x, params["layers"])
    return nn.standardize(x) @ params["out"]


def loss(params, key):
    """Returns the mean cross-entropy of the letters of a random batch."""
    starts = random.randint(key, (BATCH, 1), 0, len(codes) - LENGTH - 1)
    windows = codes[starts + jnp.arange(LENGTH + 1)]
    logits = olympus.vmap(logits_of, in_axes=(None, 0))(params, windows[:, :-1])
    chosen = jnp.take_along_axis(nn.log_softmax(logits), windows[:, 1:, None], axis=2)
    return -jnp.mean(chosen)


start, update, params_of = optimizers.adam(lambda step: 4e-3 * jnp.cos(1.5 * step / STEPS))


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
def write(params, sequence, key):
    """Returns 400 letters that follow a sequence."""

    def step(window, key):
        letter = random.categorical(key, logits_of(params, window)[-1] / 0.6)
        return jnp.append(window[1:], letter), letter

    return olympus.lax.scan(step, sequence, random.split(key, 400))[1]


params, losses = train(init(random.key(0)), random.key(1))
written = "".join(letters[code] for code in write(params, codes[:LENGTH], random.key(2)))

counts = np.bincount(codes)
entropy = -np.sum(counts / len(codes) * np.log(counts / len(codes)))
end = float(losses[-20:].mean())
print(f"{len(codes)} letters; loss {losses[0]:.2f}, at the end {end:.2f}; entropy {entropy:.2f}")
assert end < 0.75 * entropy  # it has learned more than how often each letter occurs

drawing, (left, right) = pictures.figure(columns=2, size=(8, 3.4), width_ratios=(1, 1.3))
left.plot(losses)
left.axhline(entropy, color="gray", linestyle=":", label="frequencies of letters")
left.set(xlabel="step", ylabel="cross-entropy of a letter")
left.legend()
right.axis("off")
right.text(0, 0.5, textwrap.fill(written, 52), va="center", family="monospace", fontsize=8)
pictures.save(drawing, "transformer")
