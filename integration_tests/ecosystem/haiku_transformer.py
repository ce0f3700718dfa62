# SPDX-License-Identifier: Apache-2.0
"""A causal transformer of Haiku, which learns to repeat a word of letters; batches by Chex."""

import chex
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

LETTERS, LENGTH, WIDTH = 8, 12, 32


@chex.dataclass(frozen=True)
class Batch:
    inputs: chex.Array
    targets: chex.Array


class Layer(hk.Module):
    def __call__(self, x):
        norm = hk.LayerNorm(axis=-1, create_scale=True, create_offset=True)
        attention = hk.MultiHeadAttention(
            num_heads=2, key_size=16, model_size=WIDTH, w_init=hk.initializers.VarianceScaling(1.0)
        )
        mask = jnp.tril(jnp.ones((1, 1, LENGTH, LENGTH)))
        h = norm(x)
        x = x + attention(h, h, h, mask=mask)
        return x + hk.nets.MLP([64, WIDTH], activation=jax.nn.gelu)(hk.LayerNorm(-1, True, True)(x))


def network(letters, training):
    chex.assert_shape(letters, (None, LENGTH))
    places = hk.get_parameter("places", (LENGTH, WIDTH), init=hk.initializers.TruncatedNormal(0.1))
    x = hk.Embed(LETTERS, WIDTH)(letters) + places
    for _ in range(2):
        x = hk.remat(Layer())(x)
    if training:
        x = hk.dropout(hk.next_rng_key(), 0.05, x)
    return hk.Linear(LETTERS)(x)


def make_batch(generator):
    words = np.tile(generator.integers(0, LETTERS, (16, 4)), (1, 4))[:, : LENGTH + 1]
    return Batch(inputs=words[:, :-1], targets=words[:, 1:])


model = hk.transform(network)
optimizer = optax.adamw(optax.warmup_cosine_decay_schedule(1e-3, 1e-2, 20, 200))
generator = np.random.default_rng(0)
params = model.init(jax.random.PRNGKey(0), make_batch(generator).inputs, True)
state = optimizer.init(params)


@jax.jit
@chex.assert_max_traces(n=1)
def train_step(params, state, key, batch):
    def loss_fn(params):
        logits = model.apply(params, key, batch.inputs, True)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.targets)
        return losses[:, 4:].mean()  # where the word comes again

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


losses = []
for key in jax.random.split(jax.random.PRNGKey(1), 130):
    params, state, loss = train_step(params, state, key, make_batch(generator))
    losses.append(loss)
chex.assert_tree_all_finite(params)
print(f"{losses[0]:.6f} {losses[-1]:.6f}")
