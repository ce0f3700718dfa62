# SPDX-License-Identifier: Apache-2.0
"""Trains a network so that the job can be killed at any time and started again.

Every few steps the whole state is written to a folder of its own: parameters, momentum, step and
random key. A folder counts only when it is complete. After a start the job goes on from the newest
complete folder, and ends with the same parameters as a job that was never killed.

Run it, kill it with Ctrl-C or ``kill -9``, and run it again::

    python examples/restart.py /tmp/job

With several processes, start one for each on the same command line and the same folder::

    python examples/restart.py /tmp/job --coordinator localhost:1234 --processes 2 --process 0
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import random
from olympus.experimental.array_serialization import pytree_serialization
from olympus.experimental.multihost_utils import sync_global_devices
from olympus.sharding import Mesh, NamedSharding, PartitionSpec

WIDTHS = (8, 64, 64, 1)
COMPLETE = "pytreedef.json"  # the last file that is written


def first_state(seed):
    """Returns all that the next step depends on, at the start."""
    key, *keys = random.split(random.key(seed), len(WIDTHS))
    layers = [
        random.normal(key, (width, following)) / np.sqrt(width)
        for key, width, following in zip(keys, WIDTHS, WIDTHS[1:], strict=False)
    ]
    momentum = [jnp.zeros_like(weights) for weights in layers]
    return {
        "layers": layers,
        "momentum": momentum,
        "key": random.key_data(key),
        "step": jnp.array(0),
    }


def loss(layers, x):
    y = x
    for weights in layers[:-1]:
        y = jnp.tanh(y @ weights)
    return jnp.mean((y @ layers[-1] - jnp.sin(x.sum(1, keepdims=True))) ** 2)


@olympus.jit
def train(state):
    """Returns the state after one step, and the loss."""
    key, used = random.split(random.wrap_key_data(state["key"]))
    x = random.uniform(used, (128, WIDTHS[0]), minval=-1.0)
    value, gradient = olympus.value_and_grad(loss)(state["layers"], x)
    momentum = olympus.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], gradient)
    layers = olympus.tree.map(lambda w, m: w - 0.01 * m, state["layers"], momentum)
    following = {
        "layers": layers,
        "momentum": momentum,
        "key": random.key_data(key),
        "step": state["step"] + 1,
    }
    return following, value


def checkpoints(folder):
    """Returns the steps of the complete checkpoints in a folder, and the others."""
    found = {int(path.name.removeprefix("step_")): path for path in folder.glob("step_*")}
    complete = sorted(step for step, path in found.items() if (path / COMPLETE).exists())
    return complete, sorted(set(found) - set(complete))


def path_of(folder, step):
    return folder / f"step_{step}"


def clean(folder, kept):
    """Removes checkpoints that are not complete, and all but the newest complete ones."""
    complete, unfinished = checkpoints(folder)
    for step in [*complete[:-kept], *unfinished]:
        shutil.rmtree(path_of(folder, step), ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every", type=int, default=100, help="steps between checkpoints")
    parser.add_argument("--keep", type=int, default=2, help="checkpoints that are kept")
    parser.add_argument("--coordinator", help="address of the first of several processes")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--process", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.coordinator:
        olympus.distributed.initialize(
            arguments.coordinator,
            arguments.processes,
            arguments.process,
            heartbeat_timeout_seconds=10,
        )
    is_first = olympus.process_index() == 0
    replicated = NamedSharding(Mesh(np.array(olympus.devices()), ("data",)), PartitionSpec())
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)

    complete, _ = checkpoints(folder)
    if complete:
        state = pytree_serialization.load(path_of(folder, complete[-1]), replicated)
        print(f"goes on at step {complete[-1]}", flush=True)
    else:
        state = olympus.jit(first_state, out_shardings=replicated)(0)
    sync_global_devices("the checkpoint is chosen")
    if is_first:
        clean(folder, arguments.keep)
    sync_global_devices("the folder is clean")

    step = int(state["step"])
    while step < arguments.steps:
        state, value = train(state)
        step += 1
        if step % arguments.every == 0 or step == arguments.steps:
            pytree_serialization.save(state, path_of(folder, step))
            if is_first:
                clean(folder, arguments.keep)
                print(f"committed step {step}, loss {float(value):.6f}", flush=True)
    if is_first:
        checksum = sum(float(np.abs(weights).sum()) for weights in state["layers"])
        print(f"done {checksum!r}", flush=True)


if __name__ == "__main__":
    main()
