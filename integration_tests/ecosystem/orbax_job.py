# SPDX-License-Identifier: Apache-2.0
"""A job whose checkpoints Orbax writes in the background; it can be killed and started again."""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--steps", type=int)
parser.add_argument("--every", type=int)
arguments = parser.parse_args()


@jax.jit
def train(state):
    key, used = jax.random.split(jax.random.wrap_key_data(state["key"]))
    x = jax.random.normal(used, (64, 8))
    gradient = jax.grad(lambda w: jnp.mean((x @ w - jnp.sin(x)) ** 2))(state["weights"])
    weights = state["weights"] - 0.1 * gradient
    return {"weights": weights, "key": jax.random.key_data(key), "step": state["step"] + 1}


state = {
    "weights": jnp.zeros((8, 8)),
    "key": jax.random.key_data(jax.random.key(0)),
    "step": jnp.array(0),
}
options = ocp.CheckpointManagerOptions(max_to_keep=2)
with ocp.CheckpointManager(arguments.folder.resolve(), options=options) as manager:
    newest = manager.latest_step()
    if newest is not None:
        shapes = jax.tree.map(ocp.utils.to_shape_dtype_struct, state)
        state = manager.restore(newest, args=ocp.args.StandardRestore(shapes))
        print(f"goes on at step {newest}", flush=True)
    step, started = int(state["step"]), None
    while step < arguments.steps:
        state = train(state)
        step += 1
        if step % arguments.every == 0:
            manager.wait_until_finished()  # of the checkpoint before
            if started is not None:
                print(f"committed step {started}", flush=True)
            manager.save(step, args=ocp.args.StandardSave(state))
            started = step
print(f"done {float(jnp.abs(state['weights']).sum())!r}", flush=True)
