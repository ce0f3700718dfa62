# SPDX-License-Identifier: Apache-2.0
"""Products of a matrix and a vector in parts: the same bits, under every transformation."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_ir.settings.config_states import enable_x64
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit
from olympus_xla.compiling.lowering.cpu.products import vectors as products

RNG = np.random.default_rng(0)
BATCHED = "batching_dims = [0]"
# The width of vectors decides in which order products are added.
SAME_VECTORS = {"xla_cpu_prefer_vector_width": 256}


@pytest.fixture(autouse=True)
def three_threads(monkeypatch, without_cache):
    monkeypatch.setattr(products, "threads", lambda: 3)


def product(matrix, vector):
    return lax.dot_general(matrix, vector, (((1,), (0,)), ((), ())))


def operands(dtype="float32", rows=600, columns=700):
    return RNG.normal(size=(rows, columns)).astype(dtype), RNG.normal(size=columns).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_equal_xla(dtype):
    with enable_x64(True):
        x, y = operands(dtype)
        lowered = jit(product).lower(x, y)
        assert BATCHED in lowered.as_text()
        ours = lowered.compile(SAME_VECTORS)(x, y)
        cpu_lowerings.update(False)
        try:
            theirs = jit(product).lower(x, y).compile(SAME_VECTORS)(x, y)
        finally:
            cpu_lowerings.update(True)
    assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
    assert np.allclose(ours, x.astype(np.float64) @ y, atol=1e-3)


def test_derivatives_and_batches():
    x, y = operands()
    gradients = jit(grad(lambda x, y: lax.reduce_sum(product(x, y), (0,)), (0, 1)))(x, y)
    assert np.allclose(gradients[0], np.broadcast_to(y, x.shape))
    assert np.allclose(gradients[1], x.sum(0), atol=1e-3)
    many = np.stack([y, 2 * y])
    assert np.allclose(jit(vmap(product, (None, 0)))(x, many), many @ x.T, atol=1e-3)


def test_row_counts_not_divisible_by_the_threads():
    for rows, parts in ((601, 1), (602, 2)):
        x, y = operands(rows=rows)
        lowered = jit(product).lower(x, y)
        assert (BATCHED in lowered.as_text()) is (parts > 1)
        assert np.allclose(lowered.compile()(x, y), x @ y, atol=1e-3)


def test_other_products_are_unchanged(mesh):
    x, y = operands()

    def lowered(*args, **options):
        return jit(product).lower(*args, **options).as_text()

    assert BATCHED not in lowered(x[:30], y)
    assert BATCHED not in lowered(x, y[:, None])
    assert BATCHED not in lowered(x, y, lowering_platforms=("cpu", "cuda"))
    assert BATCHED not in lowered(x.astype(np.int32), y.astype(np.int32))
    sharded = device_put(x, NamedSharding(mesh, PartitionSpec("x")))
    assert BATCHED not in lowered(sharded, y)
    assert np.allclose(jit(product)(sharded, y), x @ y, atol=1e-3)
