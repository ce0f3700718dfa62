# SPDX-License-Identifier: Apache-2.0
"""Linear algebra that a platform computes in loops, sharded over devices."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, grad, jit, lax, random, shard_map
from olympus.sharding import AxisType

RNG = np.random.default_rng(0)
A = RNG.normal(size=(8, 3, 3)).astype(np.float32) + 3 * np.eye(3, dtype=np.float32)
B = RNG.normal(size=(8, 3, 1)).astype(np.float32)

FUNCTIONS = {
    "lu": lambda a: lax.linalg.lu(a)[0],
    "solve": lambda a: jnp.linalg.solve(a, a[..., :1]),
    "eigvalsh": lambda a: jnp.linalg.eigvalsh(a @ a.mT),
    "svdvals": jnp.linalg.svdvals,
    "igamma": lambda a: lax.igamma(jnp.abs(a), jnp.abs(a) + 1),
    "gamma": lambda a: random.gamma(random.key(0), jnp.abs(a[:1])),
    "sort": lambda a: jnp.sort(a, 1),
    "fft": lambda a: jnp.abs(jnp.fft.fft(a)),
}


@pytest.fixture
def mesh(eight_devices):
    return olympus.make_mesh((8,), ("x",), (AxisType.Auto,))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shard_map_of_linalg_equals_unsharded_result(mesh, name):
    function = FUNCTIONS[name]
    parts = jit(shard_map(function, mesh=mesh, in_specs=P("x"), out_specs=P("x")))(A)
    expected = np.concatenate([np.asarray(function(A[i : i + 1])) for i in range(8)])
    np.testing.assert_allclose(parts, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("same", [False, True], ids=["parts", "same"])
def test_gradients_of_linear_systems(mesh, same):
    """Includes a replicated right-hand side with a sharded matrix."""
    specs = (P("x"), P() if same else P("x"))
    solve = shard_map(jnp.linalg.solve, mesh=mesh, in_specs=specs, out_specs=P("x"))
    b = B[:1] if same else B
    found = grad(lambda a, b: jnp.sum(solve(a, b) ** 2), (0, 1))(A, b)
    whole = grad(
        lambda a, b: jnp.sum(jnp.linalg.solve(a, jnp.broadcast_to(b, B.shape)) ** 2), (0, 1)
    )(A, b)
    for ours, expected in zip(found, whole, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=2e-3, atol=1e-4)
