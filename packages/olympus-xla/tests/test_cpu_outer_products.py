# SPDX-License-Identifier: Apache-2.0
"""Outer products with merged dimensions: the bits of XLA's products, under every transformation."""

import operator

import numpy as np
import pytest

from olympus_autodiff import grad, jvp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings.config_states import enable_x64
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit
from olympus_xla.compiling.lowering.cpu.products import outer

CALL = "separate_call"
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def every_size(cpu_limits):
    """Factors of all sizes are repeated."""
    cpu_limits(outer, SMALLEST=0, SHORTEST_ROW=0, _LARGEST_FACTORS=10)


def kron(a, b):
    """The Kronecker product, as users of arrays write it."""
    rank = a.ndim
    product = lax.bitwise_and if a.dtype == np.bool_ else lax.mul
    outer = product(
        lax.expand_dims(a, tuple(range(1, 2 * rank, 2))),
        lax.expand_dims(b, tuple(range(0, 2 * rank, 2))),
    )
    return lax.reshape(outer, tuple(map(operator.mul, a.shape, b.shape)))


def numbers(shape, dtype="float32"):
    return (RNG.normal(size=shape) * 10).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "bool", "complex64"])
@pytest.mark.parametrize(
    "shapes", [((3, 4), (5, 6)), ((4, 1), (1, 5)), ((1, 4), (5, 2)), ((2, 3, 4), (4, 3, 2))]
)
def test_bits_equal_xla(shapes, dtype, operations_of_xla):
    with enable_x64(True):
        a, b = (numbers(shape, dtype) for shape in shapes)
        lowered = jit(kron).lower(a, b)
        ours = np.asarray(lowered.compile()(a, b))
        with operations_of_xla():
            unchanged = jit(kron).lower(a, b)
            theirs = np.asarray(unchanged.compile()(a, b))
    assert CALL not in unchanged.as_text()
    assert ours.tobytes() == theirs.tobytes()
    assert np.array_equal(ours, np.kron(a, b))
    merged = shapes[0][-1] > 1 and shapes[1][-1] > 1
    assert (CALL in lowered.as_text()) == merged


def test_derivatives_and_batches():
    a, b, weights = numbers((3, 4)), numbers((5, 6)), numbers((15, 24))

    def weighted(a, b):
        product = kron(a, b)
        return lax.reduce_sum(lax.mul(lax.mul(product, product), weights), (0, 1))

    assert CALL in jit(grad(weighted, (0, 1))).lower(a, b).as_text()
    gradients = jit(grad(weighted, (0, 1)))(a, b)
    parts = 2 * (weights.astype(np.float64) * np.kron(a, b)).reshape(3, 5, 4, 6)
    np.testing.assert_allclose(gradients[0], np.einsum("ikjl,kl->ij", parts, b), rtol=1e-4, atol=1)
    np.testing.assert_allclose(gradients[1], np.einsum("ikjl,ij->kl", parts, a), rtol=1e-4, atol=1)
    _, tangent = jit(lambda a, b: jvp(kron, (a, b), (b[:3, :4], a[:1, :1] * 0 + b)))(a, b)
    np.testing.assert_allclose(tangent, np.kron(b[:3, :4], b) + np.kron(a, b), rtol=1e-5)
    rows = numbers((7, 3, 4))
    lowered = jit(vmap(kron, (0, None))).lower(rows, b)
    assert CALL in lowered.as_text()
    expected = np.stack([np.kron(row, b) for row in rows])
    assert np.array_equal(lowered.compile()(rows, b), expected)


def test_reused_product_and_donated_operands():
    def program(a, b):
        outer = lax.mul(lax.expand_dims(a, (1, 3)), lax.expand_dims(b, (0, 2)))
        return lax.reshape(outer, (15, 24)), lax.reduce_sum(outer, (0, 1))

    a, b = numbers((3, 4)), numbers((5, 6))
    merged, sums = jit(program)(a, b)
    assert np.array_equal(merged, np.kron(a, b))
    np.testing.assert_allclose(sums, np.einsum("ij,kl->jl", a, b), rtol=1e-4, atol=1e-2)
    wide = device_put(numbers((15, 24)))
    host = np.asarray(wide).copy()
    result = jit(lambda x, a, b: lax.add(x, kron(a, b)), donate_argnums=0)(wide, a, b)
    assert wide.is_deleted()
    np.testing.assert_allclose(result, host + np.kron(a, b), rtol=1e-4, atol=1e-4)


def test_other_reshapes_stay():
    a, b = numbers((3, 4)), numbers((5, 6))
    column, row = numbers((12, 1)), numbers((1, 30))

    def is_changed(function, *operands):
        return CALL in jit(function).lower(*operands).as_text()

    assert not is_changed(lambda x, y: lax.reshape(lax.mul(x, y), (360,)), column, row)
    assert not is_changed(lambda x, y: lax.reshape(lax.mul(x, y), (6, 60)), column, row)
    assert not is_changed(lambda x: lax.reshape(lax.mul(x, x), (2, 6)), a)
    assert not is_changed(lambda x: lax.reshape(x, (12,)), a)
    assert not is_changed(
        lambda a, b: lax.reshape(lax.add(a[:, None, :, None], b[None, :, None, :]), (15, 24)), a, b
    )


def test_small_factors_are_worth_repeating(cpu_limits):
    cpu_limits(outer, SMALLEST=1 << 15, SHORTEST_ROW=64, _LARGEST_FACTORS=0.75)

    def is_changed(left, right):
        return CALL in jit(kron).lower(np.zeros(left, "f"), np.zeros(right, "f")).as_text()

    assert is_changed((40, 40), (25, 25))
    assert not is_changed((12, 12), (12, 12))  # few elements
    assert not is_changed((1000, 4), (1000, 8))  # short rows
    assert not is_changed((2, 500), (1, 500))  # as many elements as the result


def test_programs_for_several_devices_or_platforms(mesh):
    a, b = numbers((4, 4)), numbers((5, 6))
    assert CALL not in jit(kron).lower(a, b, lowering_platforms=("cpu", "cuda")).as_text()
    sharded = device_put(a, NamedSharding(mesh, PartitionSpec("x")))
    assert CALL not in jit(kron).lower(sharded, b).as_text()
    assert np.array_equal(jit(kron)(sharded, b), np.kron(a, b))
