# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of Orbax: the state of a training is saved at intervals, and goes on where it was."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp

mesh = jax.make_mesh((len(jax.devices()),), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
along = jax.NamedSharding(mesh, jax.P("data"))
x = jnp.linspace(-1.0, 1.0, 32).reshape(16, 2)
optimizer = optax.adam(0.1)


@jax.jit
def train_step(state):
    def loss_fn(weights):
        return jnp.mean((x @ weights.reshape(8, 2).T - x[:, :1] ** 2) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state["weights"])
    updates, optimizer_state = optimizer.update(grads, state["optimizer"])
    weights = optax.apply_updates(state["weights"], updates)
    key, _ = jax.random.split(state["key"])
    step = state["step"] + 1
    return {"weights": weights, "optimizer": optimizer_state, "step": step, "key": key}, loss


weights = jax.device_put(jnp.ones(16), along)
state = {
    "weights": weights,
    "optimizer": optimizer.init(weights),
    "step": jnp.array(0),
    "key": jax.random.key(0),
}
folder = Path(tempfile.mkdtemp())
options = ocp.CheckpointManagerOptions(max_to_keep=2, save_interval_steps=10)
losses = []
with ocp.CheckpointManager(folder, options=options) as manager:
    for step in range(50):
        state, loss = train_step(state)
        losses.append(loss)
        manager.save(step, args=ocp.args.StandardSave(state))
    manager.wait_until_finished()
    assert list(manager.all_steps()) == [30, 40]
    shapes = jax.tree.map(ocp.utils.to_shape_dtype_struct, state)
    restored = manager.restore(40, args=ocp.args.StandardRestore(shapes))

assert restored["step"] == 41 and restored["weights"].sharding == state["weights"].sharding
for _ in range(9):
    restored, last = train_step(restored)
assert last == losses[-1]
restored["key"], state["key"] = map(jax.random.key_data, (restored["key"], state["key"]))
jax.tree.map(np.testing.assert_array_equal, restored, state)
print(f"{losses[0]:.6f} {last:.6f}")
