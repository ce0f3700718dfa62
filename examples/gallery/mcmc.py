# SPDX-License-Identifier: Apache-2.0
"""Hamiltonian Monte Carlo draws from a distribution that is shaped like a banana.

Each proposal is the end of a path of a particle in the potential ``-log density`` (Neal, *MCMC
using Hamiltonian dynamics*, 2011). 64 chains run at once, by `vmap`. Means and variances are
compared with those of quadrature.
"""

from __future__ import annotations

import numpy as np
import pictures

import olympus
import olympus.numpy as jnp
from olympus import random

CHAINS, DRAWS, WARMUP, LEAPS, STEP = 64, 1500, 300, 24, 0.08


def potential(x):
    """Returns the negative logarithm of the density, up to a constant."""
    return 0.5 * x[0] ** 2 + 2.0 * (x[1] - 0.6 * (x[0] ** 2 - 1)) ** 2


force = olympus.grad(lambda x: -potential(x))


def leapfrog(x, momentum):
    """Returns position and momentum after a path of the particle."""

    def leap(state, _):
        x, momentum = state
        momentum = momentum + 0.5 * STEP * force(x)
        x = x + STEP * momentum
        return (x, momentum + 0.5 * STEP * force(x)), None

    return olympus.lax.scan(leap, (x, momentum), None, length=LEAPS)[0]


def move(x, key):
    """Returns the next draw of a chain, and whether the proposal was accepted."""
    momentum_key, accept_key = random.split(key)
    momentum = random.normal(momentum_key, x.shape)
    proposal, end = leapfrog(x, momentum)
    energy = potential(x) + 0.5 * momentum @ momentum
    change = potential(proposal) + 0.5 * end @ end - energy
    accepted = jnp.log(random.uniform(accept_key)) < -change
    return jnp.where(accepted, proposal, x), accepted


@olympus.jit
@olympus.vmap
def chain(key):
    """Returns the draws of a chain, and which were proposals."""
    start_key, moves_key = random.split(key)

    def step(x, key):
        x, accepted = move(x, key)
        return x, (x, accepted)

    start = random.normal(start_key, (2,))
    return olympus.lax.scan(step, start, random.split(moves_key, DRAWS))[1]


draws, accepted = chain(random.split(random.key(0), CHAINS))
draws = np.asarray(draws[:, WARMUP:])

grid = np.stack(np.meshgrid(np.linspace(-6, 6, 400), np.linspace(-4, 22, 800)), axis=-1)
density = np.exp(-np.asarray(olympus.vmap(olympus.vmap(potential))(jnp.asarray(grid))))
density /= density.sum()
mean = np.sum(density[..., None] * grid, axis=(0, 1))
variance = np.sum(density[..., None] * (grid - mean) ** 2, axis=(0, 1))

between = draws.mean(axis=1).var(axis=0, ddof=1)
within = draws.var(axis=1, ddof=1).mean(axis=0)
reduction = np.sqrt(1 + between / within)  # Gelman and Rubin: close to 1 when chains agree
print(f"accepted {accepted.mean():.0%}; mean {draws.mean((0, 1)).round(2)}, exact {mean.round(2)}")
print(f"variance {draws.var((0, 1)).round(2)}, exact {variance.round(2)}; {reduction.round(3)}")
assert np.allclose(draws.mean((0, 1)), mean, atol=0.05)
assert np.allclose(draws.var((0, 1)), variance, rtol=0.08)
assert (reduction < 1.05).all()

drawing, (left, right) = pictures.figure(columns=2, size=(8, 3.4))
left.contourf(*grid.transpose(2, 0, 1), density, levels=8, cmap="Blues")
left.plot(*draws[0, :60].T, ".-", color="C1", linewidth=0.6, markersize=4)
left.set(xlim=(-3.5, 3.5), ylim=(-2, 6), title="Sixty draws of one chain")
right.hist(draws[..., 1].ravel(), bins=100, range=(-2, 6), density=True, color="C1", alpha=0.5)
ys = grid[:, 0, 1]
right.plot(ys, density.sum(axis=1) / (ys[1] - ys[0]), color="C0")
right.set(xlim=(-2, 6), title="Second coordinate: draws, exact density")
pictures.save(drawing, "mcmc")
