# SPDX-License-Identifier: Apache-2.0
"""Gamma samples on one CPU device: one proposal for all samples, and repetitions of a few."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import olympus
from olympus.sharding import NamedSharding, PartitionSpec
from olympus_ir.programs.expansion import cpu_expansion_rules, expansion_rules
from olympus_random import random_gamma_p

KEY = olympus.random.key(3)
FIRST = [1.102542, 1.2449834, 0.72785676, 3.2122676]
LAST = [0.17605476, 1.3963021, 2.7295339, 0.033876952]
# Parameters below one need a correction; others have no samples.
SPECIAL = [0.0, np.inf, np.nan, -0.5, -1.0, 1e-7, 6e4]


def parameters() -> np.ndarray:
    values = np.random.default_rng(0).uniform(0, 5, 20_000).astype(np.float32)
    values[: len(SPECIAL)] = SPECIAL
    return values


def in_both_ways(sample, *operands):
    """Returns samples of one proposal and repetitions, and samples of the loop over all.

    Args:
      sample: a function of the expansion of the primitive and of the operands.
      *operands: arrays.
    """
    many, loop = (table[random_gamma_p] for table in (cpu_expansion_rules, expansion_rules))
    return [
        np.asarray(olympus.jit(lambda *xs, rule=rule: sample(rule, *xs))(*operands))
        for rule in (many, loop)
    ]


@pytest.mark.parametrize("log_space", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_samples_have_the_bits_of_the_loop(log_space, dtype):
    sample = lambda rule, key, a: rule(key, a, log_space=log_space)  # noqa: E731
    np.testing.assert_array_equal(*in_both_ways(sample, KEY, parameters().astype(dtype)))


@pytest.mark.parametrize("alpha", [0.3, 30.0])
def test_constant_parameters(alpha):
    constant = np.full(20_000, alpha, np.float32)
    sample = lambda rule, key: rule(key, constant, log_space=False)  # noqa: E731
    np.testing.assert_array_equal(*in_both_ways(sample, KEY))


def test_a_batch_of_keys():
    keys, alpha = olympus.random.split(KEY, 4), parameters()[:18_000].reshape(4, 4500)
    sample = lambda rule, keys, a: rule(keys, a, log_space=False)  # noqa: E731
    np.testing.assert_array_equal(*in_both_ways(sample, keys, alpha))


def test_the_derivative():
    """Compares with differences of quantiles, which are those of the derivative's samples."""
    alpha = parameters()[len(SPECIAL) :] + 1
    slope = olympus.jit(olympus.grad(lambda a: olympus.random.gamma(KEY, a).sum()))(alpha)
    samples = np.asarray(olympus.random.gamma(KEY, alpha), np.float64)
    step = 1e-4
    probability = scipy.special.gammainc(alpha.astype(np.float64), samples)
    above, below = (
        scipy.special.gammaincinv(alpha + sign * step, probability) for sign in (1.0, -1.0)
    )
    np.testing.assert_allclose(slope, (above - below) / (2 * step), rtol=2e-2)


def test_samples_of_jax():
    """Compares the first and the last samples with those of JAX 0.10.2."""
    samples = np.asarray(olympus.random.gamma(olympus.random.key(0), np.float32(1.5), (16_384,)))
    np.testing.assert_allclose(samples[:4], FIRST, rtol=1e-5)
    np.testing.assert_allclose(samples[-4:], LAST, rtol=1e-5)


def test_only_programs_for_one_cpu_device_with_many_samples_are_changed():
    def program(count, sharding=None):
        draw = lambda key, a: olympus.random.gamma(key, a)  # noqa: E731
        compiled = olympus.jit(draw, out_shardings=sharding)
        return compiled.lower(KEY, np.ones(count, np.float32)).as_text()

    mesh = olympus.make_mesh((2,), ("x",))
    assert "scatter" in program(16_384)
    assert "scatter" not in program(16_383)
    assert "scatter" not in program(16_384, NamedSharding(mesh, PartitionSpec("x")))
