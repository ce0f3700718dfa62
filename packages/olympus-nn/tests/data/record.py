# SPDX-License-Identifier: Apache-2.0
"""Records values and programs of JAX, with which the tests compare.

Run it with jax 0.10.2 on a CPU::

    python packages/olympus-nn/tests/data/record.py

It writes `recorded.json` beside itself. `samples.py` has the list of calls.
"""

from __future__ import annotations

import json
import pathlib

import jax
import numpy as np
import samples
from jax.example_libraries import optimizers, stax

FOLDER = pathlib.Path(__file__).parent


def numbers(x):
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return {"real": numbers(x.real), "imag": numbers(x.imag)}
    return {"dtype": x.dtype.name, "shape": list(x.shape), "values": x.ravel().tolist()}


def of_function(fun, *args):
    return {"value": numbers(fun(*args)), "program": str(jax.make_jaxpr(fun)(*args))}


def with_gradient(fun, *args):
    weighted = jax.grad(lambda *xs: (fun(*xs) ** 2).sum(), range(len(args)))
    return {**of_function(fun, *args), "gradient": [numbers(g) for g in weighted(*args)]}


def of_layer(layer, shape, key):
    init, apply = layer
    output_shape, params = init(key, shape)
    inputs = samples.normal(8, shape)
    return {
        "shape": [int(size) for size in output_shape],
        "params": [numbers(x) for x in jax.tree.leaves(params)],
        **with_gradient(lambda x: apply(params, x), inputs),
    }


def main() -> None:
    if jax.__version__ != "0.10.2":
        raise SystemExit(f"the values are those of jax 0.10.2; this is {jax.__version__}")
    key = jax.random.key(42)
    shape, params = samples.network(stax)[0](key, (-1, 2, 2))
    apply = samples.network(stax)[1]
    recorded = {
        "functions": {
            name: with_gradient(fun, samples.point_of(name))
            for name, fun in samples.functions(jax.nn).items()
        },
        "codes": {
            name: of_function(fun, samples.NUMBERS) for name, fun in samples.codes(jax.nn).items()
        },
        "attentions": {
            name: with_gradient(fun, samples.QUERY, samples.KEY, samples.VALUE)
            for name, fun in samples.attentions(jax.nn).items()
        },
        "initializations": {
            name: numbers(weights)
            for name, weights in samples.initializations(jax.nn.initializers, key).items()
        },
        "network": {
            "shape": list(shape),
            "params": [numbers(x) for x in jax.tree.leaves(params)],
            "value": numbers(apply(params, samples.INPUTS, rng=key)),
        },
        "layers": {
            name: of_layer(layer, shape, key)
            for name, (layer, shape) in samples.layers(stax).items()
        },
        "losses": samples.trained_losses(
            samples.residual_network(stax), optimizers.momentum(0.05, 0.9), jax.grad, key
        )[0],
        "optimizations": {
            name: [numbers(x) for x in jax.tree.leaves(samples.trained(optimizer))]
            for name, optimizer in samples.optimizations(optimizers).items()
        },
        "schedules": {
            name: [float(schedule(step)) for step in range(6)]
            for name, schedule in samples.schedules(optimizers).items()
        },
    }
    (FOLDER / "recorded.json").write_text(json.dumps(recorded, indent=0) + "\n")


if __name__ == "__main__":
    main()
