# SPDX-License-Identifier: Apache-2.0
"""Bodies under gravity: three on the figure eight, and a star cluster of 256.

Forces are the gradient of the potential energy. The integrator is the fourth-order symplectic one
of Yoshida (*Construction of higher order symplectic integrators*, 1990), so energy does not
drift. The orbit is that of Chenciner and Montgomery (*A remarkable periodic solution of the
three-body problem*, 2000): all bodies follow one curve, and return after 6.3259 units of time.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pictures

import olympus
import olympus.numpy as jnp
from olympus import random

olympus.config.update("olympus_enable_x64", True)
PERIOD = 6.32591398


def potential(x, masses, softening):
    """Returns the potential energy of bodies at the rows of ``x``."""
    i, j = np.triu_indices(len(masses), 1)
    squares = jnp.sum((x[i] - x[j]) ** 2, axis=1)
    return -jnp.sum(masses[i] * masses[j] / jnp.sqrt(squares + softening**2))


def energy(x, v, masses, softening):
    """Returns the total energy."""
    return 0.5 * jnp.sum(masses[:, None] * v**2) + potential(x, masses, softening)


@partial(olympus.jit, static_argnames=("steps", "every"))
def simulate(x, v, masses, softening, dt, steps, every):
    """Returns positions and velocities after each ``every`` steps."""
    force = olympus.grad(lambda x: -potential(x, masses, softening))
    outer = 1 / (2 - 2 ** (1 / 3))

    def leap(state, dt):
        x, v = state
        x = x + 0.5 * dt * v
        v = v + dt * force(x) / masses[:, None]
        return x + 0.5 * dt * v, v

    def step(_, state):
        for part in (outer, 1 - 2 * outer, outer):
            state = leap(state, part * dt)
        return state

    def frame(state, _):
        state = olympus.lax.fori_loop(0, every, step, state)
        return state, state

    return olympus.lax.scan(frame, (x, v), None, length=steps // every)[1]


one, two = np.array([0.97000436, -0.24308753]), np.array([-0.93240737, -0.86473146])
x, v = jnp.array([one, -one, 0 * one]), jnp.array([-two / 2, -two / 2, two])
masses = jnp.ones(3)
eight, speeds = simulate(x, v, masses, 0.0, PERIOD / 1000, 1000, 5)
returned = float(jnp.abs(eight[-1] - x).max())
before, after = energy(x, v, masses, 0.0), energy(eight[-1], speeds[-1], masses, 0.0)
print(f"after one period: off by {returned:.1e}, energy changed by {abs(after - before):.1e}")
assert returned < 1e-5
assert abs(after - before) < 1e-9

stars, softening = 256, 0.05
place, speed = random.split(random.key(0))
x = random.normal(place, (stars, 2)) * jnp.array([1.5, 0.7])
v = 0.3 * random.normal(speed, (stars, 2)) + 0.5 * jnp.stack([-x[:, 1], x[:, 0]], axis=1)
masses = jnp.full(stars, 1 / stars)
cluster, speeds = simulate(x, v, masses, softening, 0.01, 400, 40)
before = energy(x, v, masses, softening)
after = energy(cluster[-1], speeds[-1], masses, softening)
print(f"cluster: energy changed by {abs((after - before) / before):.1e} of itself")
assert abs(after - before) < 1e-4 * abs(before)

drawing, (left, right) = pictures.figure(columns=2, size=(8, 3.6))
for body in range(3):
    left.plot(*np.asarray(eight[:, body]).T, linewidth=1, color="gray")
    left.plot(*np.asarray(eight[20, body]), "o", markersize=10)
left.set(title="The figure eight", aspect="equal")
right.plot(*np.asarray(x).T, ".", color="lightgrey", markersize=4)
right.plot(*np.asarray(cluster[-1]).T, ".", color="C0", markersize=4)
right.set(title="256 stars: before gray, after blue", aspect="equal", xlim=(-4, 4), ylim=(-3, 3))
pictures.save(drawing, "n_body")
