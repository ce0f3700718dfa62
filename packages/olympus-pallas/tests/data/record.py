# SPDX-License-Identifier: Apache-2.0
"""Records results of kernels under JAX; run it with jax 0.10.2 installed."""

from __future__ import annotations

import hashlib
import json
import pathlib

import jax
import numpy as np
import samples
from jax import lax
from jax import numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu, triton

FOLDER = pathlib.Path(__file__).parent


def summary(value):
    value = np.asarray(value)
    return {
        "shape": value.shape,
        "dtype": str(value.dtype),
        "some": value.reshape(-1)[:: max(value.size // 16, 1)].tolist(),
        "sum": float(np.abs(value.astype(np.float64)).sum()),
    }


recorded = {}
for name, (call, arguments) in samples.kernels(
    pl, triton, tpu, lax, jnp, jax.ShapeDtypeStruct
).items():
    vmapped = jax.vmap(call)
    batch = [np.stack([argument, argument]) for argument in arguments]
    recorded[name] = {
        "value": summary(call(*arguments)),
        "program": str(jax.make_jaxpr(call)(*arguments)),
        "batched": hashlib.sha256(str(jax.make_jaxpr(vmapped)(*batch)).encode()).hexdigest(),
    }
(FOLDER / "recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")
