# SPDX-License-Identifier: Apache-2.0
"""The first example of Optax's documentation: a linear model fitted with Adam."""

import jax
import jax.numpy as jnp
import optax

num_weights, learning_rate = 2, 0.1
xs = jax.random.normal(jax.random.key(0), (100, num_weights))
ys = xs @ jnp.array([2.0, -1.0])

optimizer = optax.adam(learning_rate)
params = {"w": jnp.ones((num_weights,))}
opt_state = optimizer.init(params)


def compute_loss(params, x, y):
    return jnp.mean(optax.l2_loss(x @ params["w"], y))


first = compute_loss(params, xs, ys)
for _ in range(200):
    grads = jax.grad(compute_loss)(params, xs, ys)
    updates, opt_state = optimizer.update(grads, opt_state)
    params = optax.apply_updates(params, updates)
last = compute_loss(params, xs, ys)
print(f"{first:.6f} {last:.6f}")
