# SPDX-License-Identifier: Apache-2.0
"""A multilayer perceptron of Flax (nnx), trained with Optax through `nnx.jit` and `nnx.scan`."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Block(nnx.Module):
    def __init__(self, features, rngs):
        self.linear = nnx.Linear(features, features, rngs=rngs)
        self.norm = nnx.LayerNorm(features, rngs=rngs)
        self.dropout = nnx.Dropout(0.05, rngs=rngs)

    def __call__(self, x):
        return x + self.dropout(nnx.gelu(self.norm(self.linear(x))))


class MLP(nnx.Module):
    def __init__(self, features, layers, rngs):
        @nnx.split_rngs(splits=layers)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def blocks(rngs):
            return Block(features, rngs)

        self.first = nnx.Linear(2, features, rngs=rngs)
        self.blocks = blocks(rngs)
        self.last = nnx.Linear(features, 1, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))

    def __call__(self, x):
        self.calls[...] += 1

        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        def through(x, block):
            return block(x)

        return self.last(through(self.first(x), self.blocks))


model = MLP(16, 2, nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(1), (128, 2))
y = jnp.sin(x[:, :1]) * x[:, 1:]


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


model.train()
first = train_step(model, optimizer, x, y)
for _ in range(150):
    last = train_step(model, optimizer, x, y)
assert model.calls[...] == 151

model.eval()
last = jnp.mean((model(x) - y) ** 2)
graph, state = nnx.split(model)
assert jnp.allclose(nnx.merge(graph, state)(x), model(x))
print(f"{first:.6f} {last:.6f}")
