# SPDX-License-Identifier: Apache-2.0
"""Fits a line to points by gradient descent: `grad` and `jit`."""

from __future__ import annotations

import numpy as np

import olympus.numpy as jnp
from olympus import grad, jit


def loss(line, x, y):
    """Returns the mean squared error of a line, a pair of slope and intercept."""
    slope, intercept = line
    return jnp.mean((slope * x + intercept - y) ** 2)


@jit
def step(line, x, y):
    """Returns the line after one step of gradient descent."""
    return tuple(value - 0.3 * slope for value, slope in zip(line, grad(loss)(line, x, y)))


def main() -> None:
    """Fits y = 2 x + 1."""
    x = np.linspace(-1.0, 1.0, 50, dtype=np.float32)
    y = 2 * x + 1
    line = (0.0, 0.0)
    for index in range(51):
        if index % 10 == 0:
            print(f"step {index:2d}: loss {float(loss(line, x, y)):.6f}")
        line = step(line, x, y)
    print(f"y = {float(line[0]):.2f} x + {float(line[1]):.2f}")


if __name__ == "__main__":
    main()
