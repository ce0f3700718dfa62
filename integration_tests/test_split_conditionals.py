# SPDX-License-Identifier: Apache-2.0
"""`cond` under `vmap` with ``batch="split"``: equal to selection, and run on its own examples."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax

MATRIX = np.random.RandomState(0).randn(8, 8).astype(np.float32) / 3


def choose(x, w, batch):
    def rare(x):
        return jnp.tanh(MATRIX @ x) * w, x.sum()

    return lax.cond(x[0] > 1.0, rare, lambda x: (x, 2 * w), x, batch=batch)


@pytest.mark.parametrize("size", [1, 5, 200])
@pytest.mark.parametrize("shift", [-9.0, 0.0, 9.0])
def test_split_conditionals_equal_selection(size, shift):
    xs = np.random.RandomState(1).randn(size, 8).astype(np.float32) + np.float32(shift)

    def mapped(batch):
        return olympus.jit(olympus.vmap(lambda x: choose(x, 2.0, batch)))(xs)

    for one, other in zip(mapped("split"), mapped("select"), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("outer", [olympus.vmap, None], ids=["vmap of grad", "grad of vmap"])
def test_gradients_equal_those_of_selection(outer):
    xs = np.random.RandomState(1).randn(30, 8).astype(np.float32)

    def slope(batch):
        def loss(x, w):
            return sum(part.sum() for part in choose(x, w, batch))

        if outer is not None:
            return outer(olympus.grad(loss, (0, 1)), (0, None))
        return olympus.grad(lambda xs, w: olympus.vmap(loss, (0, None))(xs, w).sum(), (0, 1))

    found = olympus.jit(slope("split"))(xs, 2.0)
    for one, other in zip(found, slope("select")(xs, 2.0), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_rare_branch_needs_memory_of_one_batch():
    """The branch runs on a 64th of the examples at a time."""

    def expensive(x):
        y = jnp.sin(jnp.outer(x, x))
        return jnp.cos(y @ y).sum()

    def fun(x, batch):
        return lax.cond(x[0] > 3.0, expensive, lambda x: x.sum(), x, batch=batch)

    def memory(batch):
        mapped = olympus.jit(olympus.vmap(lambda x: fun(x, batch)))
        compiled = mapped.lower(jnp.ones((640, 32))).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert memory("split") < 0.1 * memory("select")


def test_collectives_see_all_examples():
    def fun(x):
        return lax.cond(x > 1.0, lambda x: x + lax.psum(x, "i"), lambda x: x, x, batch="split")

    found = olympus.vmap(fun, axis_name="i")(jnp.arange(4.0))
    np.testing.assert_allclose(found, [0, 1, 8, 9])
    with pytest.raises(ValueError, match="'select' or 'split'"):
        lax.cond(True, jnp.sin, jnp.cos, 1.0, batch="halves")


def test_shards_choose_branches_independently():
    xs = np.random.RandomState(1).randn(40, 8).astype(np.float32)
    mesh = olympus.make_mesh((4,), ("i",), axis_types=(olympus.sharding.AxisType.Auto,))
    part = olympus.P("i")

    def loss(batch):
        return lambda x, w: sum(y.sum() for y in choose(x, w + 0 * x[0], batch))

    def mapped(batch):
        return olympus.vmap(olympus.value_and_grad(loss(batch)), in_axes=(0, None))

    on_parts = olympus.shard_map(
        lambda x: mapped("split")(x, 2.0), mesh=mesh, in_specs=part, out_specs=part
    )
    for one, other in zip(olympus.jit(on_parts)(xs), mapped("select")(xs, 2.0), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
