# SPDX-License-Identifier: Apache-2.0
"""A neural ordinary differential equation learns the motion of a pendulum with friction.

The right-hand side is a network; the trajectory is the solution of the equation. The gradient of
the solution comes from the adjoint equation, which `odeint` solves backward in time (Chen,
Rubanova, Bettencourt and Duvenaud, *Neural ordinary differential equations*, 2018).
"""

from __future__ import annotations

import numpy as np
import pictures

import olympus
import olympus.numpy as jnp
from olympus import random
from olympus.example_libraries import optimizers
from olympus.experimental.ode import odeint

TIMES = jnp.linspace(0.0, 6.0, 40)


def pendulum(state, time):
    """Returns the time derivative of angle and speed."""
    angle, speed = state
    return jnp.stack([speed, -2.0 * jnp.sin(angle) - 0.2 * speed])


def network(state, time, params):
    """Returns the time derivative that the network believes in."""
    (w1, b1), (w2, b2) = params
    return jnp.tanh(state @ w1 + b1) @ w2 + b2


def solve(params, first):
    """Returns the trajectory from a state, by the network."""
    return odeint(network, first, TIMES, params, rtol=1e-4, atol=1e-4)


starts = random.uniform(random.key(0), (16, 2), minval=-1.4, maxval=1.4)
observed = olympus.vmap(lambda first: odeint(pendulum, first, TIMES))(starts)
observed = observed + 0.02 * random.normal(random.key(1), observed.shape)


def loss(params, length):
    """Returns the mean squared distance from the observed trajectories, up to a time."""
    found = olympus.vmap(solve, in_axes=(None, 0))(params, starts)
    return jnp.mean((jnp.arange(40) < length)[:, None] * (found - observed) ** 2)


k1, k2 = random.split(random.key(2))
params = [
    (0.5 * random.normal(k1, (2, 48)), jnp.zeros(48)),
    (0.1 * random.normal(k2, (48, 2)), jnp.zeros(2)),
]
start, update, params_of = optimizers.adam(lambda step: 1e-2 * 0.997**step)
state, losses = start(params), []


@olympus.jit
def step(number, state, length):
    value, gradients = olympus.value_and_grad(loss)(params_of(state), length)
    return update(number, gradients, state), value


for number in range(500):
    length = min(40, 6 + number // 8)  # the first part of the way is learned first
    state, value = step(number, state, length)
    losses.append(float(value))

unseen = jnp.array([[1.6, 0.0], [-1.0, 1.3], [0.5, -0.8]])
truth = olympus.vmap(lambda first: odeint(pendulum, first, TIMES))(unseen)
learned = olympus.vmap(solve, in_axes=(None, 0))(params_of(state), unseen)
error = float(jnp.sqrt(jnp.mean((truth - learned) ** 2)))
print(f"loss {losses[0]:.3f}, at the end {losses[-1]:.5f}; error on unseen starts {error:.3f}")
assert losses[-1] < 0.005
assert error < 0.15

drawing, (left, right) = pictures.figure(columns=2, size=(8, 3.6))
left.plot(*np.asarray(truth).T, color="gray", linewidth=4, alpha=0.5)
left.plot(*np.asarray(learned).T, color="C1")
left.set(xlabel="angle", ylabel="speed", title="Unseen starts: truth gray, learned orange")
angles, speeds = np.meshgrid(np.linspace(-2, 2, 25), np.linspace(-3, 3, 25))
points = jnp.stack([angles.ravel(), speeds.ravel()], axis=1)
field = olympus.vmap(lambda x: network(x, 0.0, params_of(state)))(points)
right.streamplot(angles, speeds, *np.asarray(field).T.reshape(2, 25, 25), color="C0", linewidth=0.7)
right.set(xlabel="angle", title="The learned field")
pictures.save(drawing, "neural_ode")
