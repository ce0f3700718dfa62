# SPDX-License-Identifier: Apache-2.0
"""Products of many small matrices in one loop: the sums of NumPy, under every transformation."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings.config_states import enable_x64
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit

RNG = np.random.default_rng(0)
MATRICES = (((2,), (1,)), ((0,), (0,)))


def product(left, right, numbers=MATRICES):
    return lax.dot_general(left, right, numbers)


def operands(*shapes, dtype="float32"):
    return [RNG.normal(size=shape).astype(dtype) for shape in shapes]


def in_one_loop(function, *args, **options):
    text = jit(function).lower(*args, **options).as_text()
    return "dot_general" not in text and "stablehlo.reduce" in text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("numbers", "formula", "shapes"),
    [
        (MATRICES, "nij,njk->nik", ((30, 4, 4), (30, 4, 4))),
        (MATRICES, "nij,njk->nik", ((9, 3, 1), (9, 1, 5))),
        ((((1,), (0,)), ((2,), (1,))), "ijn,jnk->nik", ((3, 4, 20), (4, 20, 2))),
        ((((1, 3), (2, 0)), ((0,), (1,))), "nibj,jnik->nbk", ((10, 2, 5, 3), (3, 10, 2, 4))),
        ((((2,), (2,)), ((1, 0), (0, 1))), "mnj,nmj->nm", ((5, 6, 4), (6, 5, 4))),
    ],
)
def test_values_equal_numpy(dtype, numbers, formula, shapes):
    with enable_x64(True):
        x, y = operands(*shapes, dtype=dtype)
        assert in_one_loop(lambda x, y: product(x, y, numbers), x, y)
        expected = np.einsum(formula, x.astype(np.float64), y.astype(np.float64))
        tolerance = 8 * np.finfo(dtype).eps
        assert np.allclose(jit(product, static_argnums=2)(x, y, numbers), expected, 0, tolerance)


def test_special_values_are_propagated():
    x, y = operands((8, 2, 2), (8, 2, 2))
    x[3, 0, 1], y[5, 1, 0] = np.nan, np.inf
    assert np.array_equal(np.isfinite(jit(product)(x, y)), np.isfinite(x @ y))


def test_derivatives_and_batches():
    x, y = operands((12, 4, 3), (12, 3, 4))
    left, right = jit(grad(lambda x, y: lax.reduce_sum(product(x, y), (0, 1, 2)), (0, 1)))(x, y)
    assert np.allclose(left, np.broadcast_to(y.sum(2)[:, None], x.shape), atol=1e-5)
    assert np.allclose(right, np.broadcast_to(x.sum(1)[:, :, None], y.shape), atol=1e-5)
    many = np.stack([y, 2 * y], axis=3)
    mapped = vmap(product, (None, 3))
    assert in_one_loop(mapped, x, many)
    assert np.allclose(jit(mapped)(x, many), np.stack([x @ y, 2 * (x @ y)]), atol=1e-5)


def test_donated_operands():
    x, y = operands((20, 4, 4), (20, 4, 4))
    given = device_put(x)
    result = jit(product, donate_argnums=0)(given, y)
    assert given.is_deleted()
    assert np.allclose(result, x @ y, atol=1e-5)


def test_other_products_are_unchanged(mesh):
    x, y = operands((16, 4, 4), (16, 4, 4))
    assert in_one_loop(product, x, y)
    assert not in_one_loop(product, x[:7], y[:7])
    assert not in_one_loop(product, *operands((16, 4, 40), (16, 40, 4)))
    assert not in_one_loop(product, x.astype(np.int32), y.astype(np.int32))
    assert not in_one_loop(product, x.astype(np.float16), y.astype(np.float16))
    assert not in_one_loop(product, x, y, lowering_platforms=("cpu", "cuda"))
    sharded = device_put(x, NamedSharding(mesh, PartitionSpec("x")))
    assert not in_one_loop(product, sharded, y)
    assert np.allclose(jit(product)(sharded, y), x @ y, atol=1e-5)
