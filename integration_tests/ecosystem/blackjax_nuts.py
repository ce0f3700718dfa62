# SPDX-License-Identifier: Apache-2.0
"""A sampler of BlackJAX: its steps and masses are adapted, then it draws from a narrow valley."""

import blackjax
import jax
import jax.numpy as jnp
import jax.random as jr

scales = jnp.array([0.1, 2.0])
center = jnp.array([1.0, -3.0])


def log_density(position):
    return -0.5 * jnp.sum(((position["x"] - center) / scales) ** 2)


start = {"x": jnp.zeros(2)}
warmup_key, sampling_key = jr.split(jr.key(0))
warmup = blackjax.window_adaptation(blackjax.nuts, log_density)
(state, parameters), _ = warmup.run(warmup_key, start, num_steps=400)
kernel = blackjax.nuts(log_density, **parameters)


@jax.jit
def chain(key, state):
    def step(state, key):
        state, info = kernel.step(key, state)
        return state, (state.position["x"], info.acceptance_rate)

    return jax.lax.scan(step, state, jr.split(key, 1000))[1]


draws, acceptance = chain(sampling_key, state)
assert jnp.allclose(draws.mean(0), center, atol=4 * scales / 20)
assert jnp.allclose(draws.std(0), scales, rtol=0.25)
assert 0.5 < acceptance.mean() <= 1.0
print(f"{-log_density(start):.6f} {-log_density({'x': draws.mean(0)}):.6f}")
