# SPDX-License-Identifier: Apache-2.0
"""Optimal control: a weak motor swings a pendulum up, to stop at the top.

The motor cannot lift the pendulum in one go, so it has to swing. The torques of 150 moments are
optimized together: the cost is a function of the whole path, and its gradient comes back through
all steps of the simulation (direct single shooting).
"""

from __future__ import annotations

import numpy as np
import pictures

import olympus
import olympus.numpy as jnp
from olympus.example_libraries import optimizers

STEPS, DT, STRONGEST = 150, 0.05, 3.0  # gravity alone needs a torque of 9.8 to be overcome


def advance(state, torque):
    """Returns angle and speed a moment later; the angle is zero where the pendulum hangs."""
    angle, speed = state
    speed = speed + DT * (torque - 9.8 * jnp.sin(angle) - 0.1 * speed)
    return jnp.stack([angle + DT * speed, speed])


def path(plan):
    """Returns the states and the torques of a plan, which is a list of free numbers."""
    torques = STRONGEST * jnp.tanh(plan)

    def step(state, torque):
        state = advance(state, torque)
        return state, state

    return olympus.lax.scan(step, jnp.zeros(2), torques)[1], torques


def cost(plan):
    """Returns what a plan costs: distance from the top, speed there, and torque."""
    (angle, speed), torques = path(plan)[0].T, path(plan)[1]
    late = jnp.linspace(0, 1, STEPS) ** 6
    height = 1 + jnp.cos(angle)  # zero at the top
    missed = 10 * height + speed**2
    return jnp.mean(late * missed) + missed[-1] + 1e-3 * jnp.mean(torques**2)


start, update, plan_of = optimizers.adam(0.05)


@olympus.jit
@olympus.vmap
def optimize(plan):
    """Returns a plan that costs less, and the cost in the course of the search."""

    def step(state, number):
        value, gradient = olympus.value_and_grad(cost)(plan_of(state))
        return update(number, gradient, state), value

    state, costs = olympus.lax.scan(step, start(plan), jnp.arange(2500))
    return plan_of(state), costs


# Sixteen plans, which swing at different paces, are improved at once; the best is taken.
paces = jnp.linspace(1.5, 4.0, 16)[:, None]
plans, costs = optimize(jnp.sin(paces * DT * jnp.arange(STEPS)))
best = int(jnp.argmin(costs[:, -1]))
states, torques = path(plans[best])
angle, speed = states.T
end = float(jnp.abs(jnp.cos(angle[-5:]) + 1).max())
print(f"cost {costs[best, 0]:.2f}, at the end {costs[best, -1]:.3f}; off the top by {end:.4f}")
assert costs[best, -1] < 0.2 * costs[best, 0]
assert end < 0.05 and jnp.abs(speed[-1]) < 1.0
assert jnp.abs(torques).max() <= STRONGEST

drawing, (left, right) = pictures.figure(columns=2, size=(8, 3.4))
times = DT * jnp.arange(STEPS)
left.plot(times, angle / jnp.pi, label="angle, in half turns")
left.plot(times, torques / STRONGEST, label="torque, of the strongest")
left.axhline(np.round(angle[-1] / np.pi), color="gray", linestyle=":")
left.set(xlabel="time")
left.legend(fontsize=8)
for moment in range(0, STEPS, 3):
    tip = [0, float(jnp.sin(angle[moment]))], [0, -float(jnp.cos(angle[moment]))]
    right.plot(*tip, color=pictures.plt.cm.viridis(moment / STEPS), linewidth=1)
right.set(title="Dark first, bright last", aspect="equal", xticks=[], yticks=[])
pictures.save(drawing, "optimal_control")
