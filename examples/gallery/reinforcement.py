# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning: a policy learns to balance a pole on a cart.

The environment is written in OLYMPUS, so 64 of them run at once, and whole training, with all
environments in it, is one compiled program. The method is advantage actor-critic: the policy's
gradient, with a learned value as the baseline and generalized advantages (Schulman et al., 2016).
The cart is that of Barto, Sutton and Anderson (1983).
"""

from __future__ import annotations

import numpy as np
import pictures

import olympus
import olympus.numpy as jnp
from olympus import nn, random
from olympus.example_libraries import optimizers

CARTS, LENGTH, UPDATES = 64, 64, 600
FRESH = 0.05  # how far a new cart is from its balance


def physics(state, push):
    """Returns position, speed, angle and angular speed after 20 milliseconds."""
    _, speed, angle, turn = state
    force = jnp.where(push == 1, 10.0, -10.0)
    common = (force + 0.05 * turn**2 * jnp.sin(angle)) / 1.1
    turning = 9.8 * jnp.sin(angle) - jnp.cos(angle) * common
    turning = turning / (0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / 1.1))
    moving = common - 0.05 * turning * jnp.cos(angle) / 1.1
    rates = jnp.stack([speed, moving, turn, turning])
    return state + 0.02 * rates


def fallen(state):
    """Returns whether the pole has fallen or the cart has left the track."""
    return (jnp.abs(state[0]) > 2.4) | (jnp.abs(state[2]) > 0.21)


def network(params, state):
    """Returns the logits of both pushes, and the value of a state."""
    (w1, b1), (w2, b2) = params
    hidden = jnp.tanh(state * jnp.array([0.5, 0.5, 5.0, 0.5]) @ w1 + b1)
    out = hidden @ w2 + b2
    return out[:2], 10 * out[2]


def act(params, carry, key):
    """Lets one cart take one step; one that falls starts anew."""
    state, age = carry
    push_key, fresh_key = random.split(key)
    push = random.categorical(push_key, network(params, state)[0])
    after = physics(state, push)
    down = fallen(after) | (age >= 500)
    fresh = random.uniform(fresh_key, (4,), minval=-FRESH, maxval=FRESH)
    record = {"state": state, "push": push, "down": down, "age": age + 1}
    return (jnp.where(down, fresh, after), jnp.where(down, 0, age + 1)), record


def loss(params, played, last):
    """Returns the loss of policy and value on what the carts did."""
    of_carts = olympus.vmap(network, in_axes=(None, 0))
    logits, values = olympus.vmap(of_carts, in_axes=(None, 0))(params, played["state"])
    _, bootstrap = of_carts(params, last)
    following = jnp.concatenate([values[1:], bootstrap[None]])
    goes_on = 1.0 - played["down"]
    errors = 1 + 0.98 * goes_on * following - values

    def backward(advantage, step):
        error, goes_on = step
        advantage = error + 0.98 * 0.95 * goes_on * advantage
        return advantage, advantage

    _, advantages = olympus.lax.scan(backward, jnp.zeros(CARTS), (errors, goes_on), reverse=True)
    advantages = olympus.lax.stop_gradient(advantages)
    targets = olympus.lax.stop_gradient(values) + advantages
    scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
    logs = nn.log_softmax(logits)
    taken = jnp.take_along_axis(logs, played["push"][..., None], axis=-1)[..., 0]
    entropy = -jnp.mean(jnp.sum(jnp.exp(logs) * logs, axis=-1))
    return jnp.mean(-scaled * taken) + 0.005 * jnp.mean((values - targets) ** 2) - 0.003 * entropy


start, update, params_of = optimizers.adam(lambda step: 7e-3 * (1 - step / UPDATES))


@olympus.jit
def train(params, key):
    """Returns trained parameters, and the mean age of carts that fell, for each update."""

    def learn(carry, number):
        carts, state = carry
        params = params_of(state)

        def step(carts, key):
            keys = random.split(key, CARTS)
            return olympus.vmap(act, in_axes=(None, 0, 0))(params, carts, keys)

        keys = random.split(random.fold_in(key, number), LENGTH)
        carts, played = olympus.lax.scan(step, carts, keys)
        gradients = olympus.grad(loss)(params, played, carts[0])
        fell = jnp.sum(played["down"])
        age = jnp.sum(played["age"] * played["down"]) / jnp.maximum(fell, 1)
        return (carts, update(number, gradients, state)), jnp.where(fell > 0, age, jnp.nan)

    fresh = random.uniform(key, (CARTS, 4), minval=-FRESH, maxval=FRESH)
    first = (fresh, jnp.zeros(CARTS, jnp.int32)), start(params)
    (_, state), ages = olympus.lax.scan(learn, first, jnp.arange(UPDATES))
    return params_of(state), ages


@olympus.jit
def balance(params, state):
    """Returns the states of a cart in 500 steps with the likelier push each, and its age."""

    def step(carry, _):
        state, standing = carry
        after = physics(state, jnp.argmax(network(params, state)[0]))
        standing = standing & ~fallen(after)
        return (after, standing), (after, standing)

    _, (states, standing) = olympus.lax.scan(step, (state, True), None, length=500)
    return states, jnp.sum(standing)


k1, k2, k3, k4 = random.split(random.key(0), 4)
untrained = [
    (random.normal(k1, (4, 32)), jnp.zeros(32)),
    (0.1 * random.normal(k2, (32, 3)), jnp.zeros(3)),
]
params, ages = train(untrained, k3)
tests = random.uniform(k4, (50, 4), minval=-FRESH, maxval=FRESH)
states, reached = olympus.vmap(balance, in_axes=(None, 0))(params, tests)
_, before = olympus.vmap(balance, in_axes=(None, 0))(untrained, tests)
print(f"untrained carts stand for {before.mean():.0f} steps, trained ones for {reached.mean():.0f}")
assert before.mean() < 100
assert reached.mean() > 450

drawing, (left, right) = pictures.figure(columns=2, size=(8, 3.4))
left.plot(np.asarray(ages), ".", markersize=2)
left.set(xlabel="update", ylabel="age of carts that end, in steps", title="Training")
right.plot(0.02 * np.arange(500), np.asarray(states[:8, :, 2]).T * 180 / np.pi, linewidth=0.7)
right.set(xlabel="seconds", ylabel="angle of the pole, in degrees", title="Eight carts, trained")
pictures.save(drawing, "reinforcement")
