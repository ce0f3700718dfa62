# SPDX-License-Identifier: Apache-2.0
"""The network of Optax's "getting started": which bits are set, learned under ``jit``."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH_SIZE, NUM_TRAIN_STEPS = 5, 1_000
RAW_TRAINING_DATA = np.random.RandomState(0).randint(255, size=(NUM_TRAIN_STEPS, BATCH_SIZE, 1))
TRAINING_DATA = np.unpackbits(RAW_TRAINING_DATA.astype(np.uint8), axis=-1)
LABELS = (
    jax.nn.one_hot(RAW_TRAINING_DATA % 2, 2)
    .astype(jnp.float32)
    .reshape(NUM_TRAIN_STEPS, BATCH_SIZE, 2)
)
initial_params = {
    "hidden": jax.random.normal(shape=[8, 32], key=jax.random.PRNGKey(0)),
    "output": jax.random.normal(shape=[32, 2], key=jax.random.PRNGKey(1)),
}


def net(x: jnp.ndarray, params: optax.Params) -> jnp.ndarray:
    x = jnp.dot(x, params["hidden"])
    x = jax.nn.relu(x)
    return jnp.dot(x, params["output"])


def loss(params: optax.Params, batch: jnp.ndarray, labels: jnp.ndarray) -> jnp.ndarray:
    y_hat = net(batch, params)
    loss_value = optax.sigmoid_binary_cross_entropy(y_hat, labels).sum(axis=-1)
    return loss_value.mean()


def fit(params: optax.Params, optimizer: optax.GradientTransformation) -> list[float]:
    opt_state = optimizer.init(params)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params, opt_state, batch, labels):
        loss_value, grads = jax.value_and_grad(loss)(params, batch, labels)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return params, opt_state, loss_value

    losses = []
    for batch, labels in zip(TRAINING_DATA, LABELS, strict=True):
        params, opt_state, loss_value = step(params, opt_state, batch, labels)
        losses.append(float(loss_value))
    return losses


schedule = optax.warmup_cosine_decay_schedule(
    init_value=0.0,
    peak_value=1.0,
    warmup_steps=50,
    decay_steps=1_000,
    end_value=0.0,
)
optimizer = optax.chain(
    optax.clip(1.0),
    optax.adamw(learning_rate=lambda count: 1e-2 * schedule(count)),
)
losses = fit(initial_params, optimizer)
print(f"{np.mean(losses[:20]):.6f} {np.mean(losses[-20:]):.6f}")
