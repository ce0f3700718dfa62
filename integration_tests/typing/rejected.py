# SPDX-License-Identifier: Apache-2.0
"""Mistakes that checkers find: one on each line marked "mistake". Checked, never run."""

from __future__ import annotations

import olympus
import olympus.numpy as jnp
from olympus import Array, grad, jit, random, vmap


def loss(weights: Array, scale: float) -> Array:
    """Returns a scalar."""
    return jnp.sum(weights) * scale


x = jnp.ones(3)
jnp.zeroes(3)  # mistake
print(olympus.foo)  # mistake
olympus.vamp(loss)  # mistake
random.gaussian(random.key(0))  # mistake
jnp.linalg.inverse(x)  # mistake
jnp.sin("x")  # mistake
jnp.ones(3, dtipe=jnp.int32)  # mistake
jnp.sum(x, axes=0)  # mistake
x.bakward()  # mistake
jnp.add(x)  # mistake
jnp.add.reduces(x)  # mistake
jnp.add.reduce(x, axes=0)  # mistake
jnp.moveaxis(x, "0", 1)  # mistake
jit(loss)(x)  # mistake
jit(loss)(x, "2")  # mistake
vmap(loss)(x, 1.0, 2.0)  # mistake
grad(loss)(scale=2.0)  # mistake
jit(loss, static_argnum=1)  # mistake
