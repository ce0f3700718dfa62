# SPDX-License-Identifier: Apache-2.0
"""Swings many pendulums at once: `vmap`, `lax.scan` and random numbers."""

from __future__ import annotations

import olympus.numpy as jnp
from olympus import jit, lax, random, vmap


def energy(angle, speed):
    """Returns the energy of a pendulum of length and mass one."""
    return speed**2 / 2 + 9.81 * (1 - jnp.cos(angle))


def swing(angle, speed, steps=2000, dt=1e-3):
    """Returns angle and speed after ``steps`` steps of the symplectic Euler method."""

    def step(state, _):
        angle, speed = state
        speed = speed - dt * 9.81 * jnp.sin(angle)
        return (angle + dt * speed, speed), None

    return lax.scan(step, (angle, speed), length=steps)[0]


def main() -> None:
    """Swings a thousand pendulums for two seconds."""
    angles = random.uniform(random.key(0), (1000,), minval=-2.0, maxval=2.0)
    speeds = jnp.zeros(1000)
    before = energy(angles, speeds)
    after = energy(*jit(vmap(swing))(angles, speeds))
    print(f"the largest change of energy is {float(jnp.max(jnp.abs(after - before))):.3f} J")
    print(f"of {float(jnp.max(before)):.1f} J")


if __name__ == "__main__":
    main()
