# SPDX-License-Identifier: Apache-2.0
"""A convolutional network of Flax (linen) with dropout and batch statistics, trained with Optax."""

import jax
import optax
from flax import linen as nn
from flax import serialization
from flax.training import train_state


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        for features in (8, 16):
            x = nn.Conv(features, (3, 3), use_bias=False)(x)
            x = nn.BatchNorm(use_running_average=not train)(x)
            x = nn.avg_pool(nn.relu(x), (2, 2), strides=(2, 2))
        x = nn.Dense(32)(x.reshape(x.shape[0], -1))
        x = nn.Dropout(0.1, deterministic=not train)(nn.relu(x))
        return nn.Dense(4)(x)


class State(train_state.TrainState):
    batch_stats: dict


# Images of a bright quarter, in noise; the class says which.
label_key, noise_key, init_key, dropout_key = jax.random.split(jax.random.key(0), 4)
labels = jax.random.randint(label_key, (64,), 0, 4)
quarters = jax.nn.one_hot(labels, 4).reshape(-1, 2, 2, 1)
images = jax.image.resize(quarters, (64, 8, 8, 1), "nearest")
images += 0.3 * jax.random.normal(noise_key, images.shape)

model = CNN()
variables = model.init(init_key, images, train=False)
state = State.create(
    apply_fn=model.apply,
    params=variables["params"],
    tx=optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3)),
    batch_stats=variables["batch_stats"],
)


@jax.jit
def train_step(state, images, labels):
    def loss_fn(params):
        logits, updates = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats},
            images,
            train=True,
            mutable=["batch_stats"],
            rngs={"dropout": jax.random.fold_in(dropout_key, state.step)},
        )
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return losses.mean(), updates["batch_stats"]

    (loss, batch_stats), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, batch_stats=batch_stats), loss


state, first = train_step(state, images, labels)
for _ in range(60):
    state, last = train_step(state, images, labels)

restored = serialization.from_bytes(state.params, serialization.to_bytes(state.params))
variables = {"params": restored, "batch_stats": state.batch_stats}
logits = model.apply(variables, images, train=False)
assert (logits.argmax(axis=-1) == labels).mean() > 0.95
assert "Conv_0" in nn.tabulate(model, jax.random.key(0))(images, train=False)
print(f"{first:.6f} {last:.6f}")
