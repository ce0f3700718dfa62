# SPDX-License-Identifier: Apache-2.0
"""Stacks and concatenations with a narrow last dimension: the same elements, other loops."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings.config_states import enable_x64
from olympus_ir.types import dtypes
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_testing import assert_close, cases
from olympus_xla import device_put, jit
from olympus_xla.calls import eager
from olympus_xla.compiling.lowering.cpu.moves import joins

RNG = np.random.default_rng(0)
DTYPES = "bool int8 uint16 int32 uint64 float16 bfloat16 float32 float64 complex64".split()


def numbers(shape, dtype=np.float32):
    x = np.asarray(RNG.normal(size=shape) * 9)
    return x.astype(getattr(dtypes, dtype) if dtype == "bfloat16" else dtype)


def is_transposed(function, *args, **options):
    return "stablehlo.transpose" in jit(function).lower(*args, **options).as_text()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("widths", [(1, 1), (3, 1), (1, 0, 2), (2,) * 8])
def test_concatenations_equal_numpy(dtype, widths):
    with enable_x64(True):
        parts = [numbers((40, 300, width), dtype) for width in widths]
        joined = jit(lambda *parts: lax.concatenate(parts, 2))(*parts)
        assert joined.dtype == parts[0].dtype
        assert np.asarray(joined).tobytes() == np.concatenate(parts, 2).tobytes()


@pytest.mark.parametrize("shape", [(9000,), (50, 400), (3, 4, 5, 300)])
@pytest.mark.parametrize("count", [2, 3, 8])
def test_stacks_of_computed_parts_equal_numpy(shape, count):
    parts = [numbers(shape) for _ in range(count)]
    parts[0].flat[:4] = np.nan, -0.0, np.inf, -np.inf

    def stacked(*parts):
        return lax.stack([lax.neg(part) for part in parts], len(shape))

    assert is_transposed(stacked, *parts)
    expected = np.stack([-part for part in parts], -1)
    assert np.asarray(jit(stacked)(*parts)).tobytes() == expected.tobytes()


def test_derivatives_and_batches():
    x, y = numbers((90, 200)), numbers((90, 200))
    weights = numbers((90, 200, 2))

    def weighted(x, y, weights):
        return lax.reduce_sum(lax.mul(lax.stack([x, y], x.ndim), weights), (0, 1))

    gradients = jit(vmap(grad(weighted, (0, 1))))(x, y, weights)
    assert np.array_equal(gradients[0], weights[..., 0])
    assert np.array_equal(gradients[1], weights[..., 1])
    columns = jit(vmap(lambda x, y: lax.stack([x, y], 1), (1, 0), 2))(x, y.T)
    assert np.array_equal(columns, np.stack([x, y.T.T], 1).transpose(0, 1, 2))


@pytest.fixture
def every_size(cpu_limits):
    cpu_limits(joins, SMALLEST=0)


@pytest.mark.parametrize(
    "case",
    [case for case in cases() if case.primitive in (lax.concatenate_p, lax.stack_p)],
    ids=str,
)
def test_samples_agree_with_the_reference(case, every_size):
    with case.context():
        expected = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        actual = eager.evaluate(case.primitive, case.args, dict(case.params))
        assert_close(actual, expected)


def test_donated_parts_are_read_before_reuse():
    f = jit(lambda x, y: (lax.stack([x, y], 1), lax.add(x, y)), donate_argnums=0)
    for _ in range(3):
        hosts = numbers(20_000), numbers(20_000)
        parts = [device_put(host) for host in hosts]
        stacked, total = f(*parts)
        assert np.array_equal(stacked, np.stack(hosts, 1))
        assert np.array_equal(total, hosts[0] + hosts[1])
        assert parts[0].is_deleted()


def test_xla_keeps_other_programs(mesh):
    def stacked(*parts):
        return lax.stack(parts, parts[0].ndim)

    x = numbers((20_000,))
    assert is_transposed(stacked, x, x)
    assert not is_transposed(stacked, x[:100], x[:100])
    assert not is_transposed(stacked, *[x] * 9)
    assert not is_transposed(stacked, x, x, lowering_platforms=("cpu", "cuda"))
    sharded = device_put(x, NamedSharding(mesh, PartitionSpec("x")))
    assert not is_transposed(stacked, sharded, sharded)
    assert np.array_equal(jit(stacked)(sharded, sharded), np.stack([x, x], 1))
