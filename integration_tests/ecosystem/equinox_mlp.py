# SPDX-License-Identifier: Apache-2.0
"""A multilayer perceptron of Equinox, trained with Optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax

model_key, data_key = jr.split(jr.PRNGKey(0))
model = eqx.nn.MLP(in_size=2, out_size=1, width_size=32, depth=2, key=model_key)
x = jr.normal(data_key, (256, 2))
y = jnp.sin(x[:, :1]) * x[:, 1:]


@eqx.filter_value_and_grad
def compute_loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def make_step(model, state, x, y):
    loss, grads = compute_loss(model, x, y)
    updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_array))
    return loss, eqx.apply_updates(model, updates), state


first, model, state = make_step(model, state, x, y)
for _ in range(300):
    last, model, state = make_step(model, state, x, y)
assert isinstance(last, jax.Array)
assert jnp.allclose(eqx.filter_jit(model)(x[0]), model(x[0]), atol=1e-6)
print(f"{first:.6f} {last:.6f}")
