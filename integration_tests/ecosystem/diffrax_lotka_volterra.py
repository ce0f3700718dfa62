# SPDX-License-Identifier: Apache-2.0
"""An ODE of Diffrax: its solution, and its rates found again by gradients through the solver."""

import diffrax
import jax
import jax.numpy as jnp
import optax

times = jnp.linspace(0.0, 6.0, 25)
start = jnp.array([10.0, 5.0])


def field(t, y, rates):
    prey, predator = y
    alpha, beta, gamma, delta = rates
    return jnp.array(
        [alpha * prey - beta * prey * predator, delta * prey * predator - gamma * predator]
    )


def trajectory(rates):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=times[0],
        t1=times[-1],
        dt0=0.1,
        y0=start,
        args=rates,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
    ).ys


true_rates = jnp.array([0.8, 0.1, 0.9, 0.06])
observed = trajectory(true_rates)


def conserved(y):
    """The quantity that the equations leave unchanged."""
    alpha, beta, gamma, delta = true_rates
    return (
        delta * y[..., 0]
        - gamma * jnp.log(y[..., 0])
        + beta * y[..., 1]
        - alpha * jnp.log(y[..., 1])
    )


assert jnp.allclose(conserved(observed), conserved(start), atol=2e-3)


@jax.value_and_grad
def loss(log_rates):
    return jnp.mean((trajectory(jnp.exp(log_rates)) - observed) ** 2)


optimizer = optax.adam(2e-2)


@jax.jit
def step(log_rates, state):
    value, grads = loss(log_rates)
    updates, state = optimizer.update(grads, state)
    return value, optax.apply_updates(log_rates, updates), state


log_rates = jnp.log(true_rates * jnp.array([1.2, 0.85, 1.15, 0.9]))
state = optimizer.init(log_rates)
first, log_rates, state = step(log_rates, state)
for _ in range(150):
    last, log_rates, state = step(log_rates, state)
print(f"{first:.6f} {last:.6f}")
