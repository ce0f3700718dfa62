# SPDX-License-Identifier: Apache-2.0
"""Trains a small network to read handwritten digits, with ``jit``, ``grad``, ``vmap``, ``random``.

The data are the 1797 images of 8x8 pixels that come with scikit-learn. Run it from a checkout with
``python examples/quickstart.py``; it takes seconds on a CPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

matplotlib.use("agg")  # draws into files: the example needs no screen

import matplotlib.pyplot as plt

import olympus.numpy as jnp
from olympus import grad, jit, random, value_and_grad, vmap

LAYER_SIZES = (64, 128, 64, 10)
STEP_SIZE = 0.2
BATCH_SIZE = 32


def init_layer(key, inputs, outputs):
    """Returns the weights and biases of one layer."""
    scale = jnp.sqrt(2 / inputs)
    return scale * random.normal(key, (outputs, inputs)), jnp.zeros(outputs)


def init_network(key, sizes=LAYER_SIZES):
    """Returns the parameters of every layer."""
    keys = random.split(key, len(sizes) - 1)
    return [init_layer(*args) for args in zip(keys, sizes[:-1], sizes[1:], strict=True)]


def predict(params, image):
    """Returns the log-probability of each digit for one image."""
    activations = image
    for weights, biases in params[:-1]:
        activations = jnp.maximum(weights @ activations + biases, 0)
    weights, biases = params[-1]
    logits = weights @ activations + biases
    shifted = logits - jnp.max(logits)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted)))


# The network is written for one image; vmap makes the function of a batch of them.
batched_predict = vmap(predict, in_axes=(None, 0))


def loss(params, images, labels):
    """Returns the mean cross-entropy of a batch."""
    log_probabilities = batched_predict(params, images)
    return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))


@jit
def train_step(params, images, labels):
    """Returns the parameters after one step of gradient descent, and the loss before it."""
    value, gradients = value_and_grad(loss)(params, images, labels)
    updated = [
        (weights - STEP_SIZE * weights_gradient, biases - STEP_SIZE * biases_gradient)
        for (weights, biases), (weights_gradient, biases_gradient) in zip(
            params, gradients, strict=True
        )
    ]
    return updated, value


@jit
def accuracy(params, images, labels):
    """Returns the fraction of images that are read correctly."""
    return jnp.mean(jnp.argmax(batched_predict(params, images), axis=1) == labels)


@jit
def saliency(params, image, label):
    """Returns how much each pixel speaks for ``label``: a gradient with respect to the input."""
    return jnp.abs(grad(lambda pixels: predict(params, pixels)[label])(image))


def train(key, images, labels, epochs):
    """Returns trained parameters and the loss at every step."""
    init_key, shuffle_key = random.split(key)
    params = init_network(init_key)
    losses = []
    with tqdm(range(epochs), desc="training", unit="epoch") as progress:
        for epoch in progress:
            order = random.permutation(random.fold_in(shuffle_key, epoch), len(images))
            for start in range(0, len(images) - BATCH_SIZE + 1, BATCH_SIZE):
                batch = order[start : start + BATCH_SIZE]
                params, value = train_step(params, images[batch], labels[batch])
                losses.append(value)
            progress.set_postfix(loss=f"{float(losses[-1]):.4f}")
    return params, np.asarray(losses)


def plot_loss(losses, path):
    """Saves a plot of the loss at every step."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.semilogy(losses)
    axes.set(xlabel="step", ylabel="cross-entropy", title="Training on handwritten digits")
    figure.savefig(path, dpi=120)


def main():
    """Trains, reports the accuracy on images held out, saves a plot."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("quickstart_loss.png"))
    options = parser.parse_args()

    pixels, digits = load_digits(return_X_y=True)
    split = train_test_split(pixels / 16, digits, test_size=0.2, random_state=0, stratify=digits)
    train_images, test_images, train_labels, test_labels = map(jnp.asarray, split)

    key = random.key(options.seed)
    params, losses = train(key, train_images, train_labels, options.epochs)
    print(f"training accuracy: {float(accuracy(params, train_images, train_labels)):.1%}")
    print(f"test accuracy: {float(accuracy(params, test_images, test_labels)):.1%}")

    row, column = divmod(int(jnp.argmax(saliency(params, test_images[0], test_labels[0]))), 8)
    print(f"first test image: a {test_labels[0]}, which pixel ({row}, {column}) decides most")

    plot_loss(losses, options.output)
    print(f"loss: {options.output}")


if __name__ == "__main__":
    main()
