# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process: a curve through noisy points, with its uncertainty.

The length, the height and the noise of the process maximize the marginal likelihood of the data,
found by BFGS with gradients through the Cholesky factor (Rasmussen and Williams, *Gaussian
processes for machine learning*, 2006, algorithm 2.1).
"""

from __future__ import annotations

import numpy as np
import pictures

import olympus
import olympus.numpy as jnp
from olympus import random
from olympus.scipy.linalg import cho_solve
from olympus.scipy.optimize import minimize

olympus.config.update("olympus_enable_x64", True)
POINTS, NOISE = 50, 0.1


def curve(x):
    """Returns the curve to be found."""
    return jnp.sin(2 * x) + 0.4 * x


x_key, noise_key, sample_key = random.split(random.key(4), 3)
x = jnp.sort(random.uniform(x_key, (POINTS,), minval=-3.0, maxval=3.0))
x = x[(x < 0.3) | (x > 1.4)]  # a gap without data
y = curve(x) + NOISE * random.normal(noise_key, x.shape)


def kernel(settings, a, b):
    """Returns the covariances of the process between two lists of points."""
    length, height, _ = jnp.exp(settings)
    return height**2 * jnp.exp(-0.5 * ((a[:, None] - b) / length) ** 2)


def factor(settings):
    """Returns the Cholesky factor of the covariance of the data, and the weights of the data."""
    covariance = kernel(settings, x, x) + jnp.exp(settings[2]) ** 2 * jnp.eye(len(x))
    lower = jnp.linalg.cholesky(covariance)
    return lower, cho_solve((lower, True), y)


def surprise(settings):
    """Returns the negative logarithm of the marginal likelihood."""
    lower, weights = factor(settings)
    return 0.5 * y @ weights + jnp.sum(jnp.log(jnp.diag(lower))) + len(x) / 2 * jnp.log(2 * jnp.pi)


@olympus.jit
def fit(settings):
    """Returns the settings of the greatest likelihood."""
    return minimize(surprise, settings, method="BFGS").x


@olympus.jit
def predict(settings, at):
    """Returns mean and covariance of the process at some points, given the data."""
    lower, weights = factor(settings)
    between = kernel(settings, x, at)
    mean = between.T @ weights
    return mean, kernel(settings, at, at) - between.T @ cho_solve((lower, True), between)


first = jnp.log(jnp.array([0.3, 1.0, 0.5]))
settings = fit(first)
at = jnp.linspace(-3.2, 3.2, 200)
mean, covariance = predict(settings, at)
spread = jnp.sqrt(jnp.diag(covariance))

length, height, noise = np.exp(settings)
inside = np.mean(np.abs(curve(at) - mean) < 2 * spread + 1e-9)
print(f"length {length:.2f}, height {height:.2f}, noise {noise:.3f}; {inside:.0%} inside")
assert surprise(settings) < surprise(first) - 5
assert abs(noise - NOISE) < 0.06
assert inside > 0.85
assert np.abs(olympus.grad(surprise)(settings)).max() < 1e-3

drawing, axes = pictures.figure()
axes.fill_between(at, mean - 2 * spread, mean + 2 * spread, color="C0", alpha=0.2)
wiggle = 1e-8 * jnp.eye(len(at))
samples = random.multivariate_normal(sample_key, mean, covariance + wiggle, (4,))
axes.plot(at, samples.T, color="C0", linewidth=0.6)
axes.plot(at, mean, color="C0", linewidth=2, label="mean, two deviations, four samples")
axes.plot(at, curve(at), color="black", linestyle=":", label="truth")
axes.plot(x, y, "o", color="C3", markersize=4, label="data")
axes.legend(fontsize=8)
pictures.save(drawing, "gaussian_process")
