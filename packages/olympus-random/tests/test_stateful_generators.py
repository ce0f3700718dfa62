# SPDX-License-Identifier: Apache-2.0
"""Stateful generators, compared with recorded numbers of JAX 0.10.2."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.trees import pytrees
from olympus_random import fold_in, key, key_data, split
from olympus_random.stateful import StatefulPRNG, stateful_rng


def test_each_call_returns_a_new_key():
    generator = stateful_rng(0)
    for count in range(3):
        np.testing.assert_array_equal(key_data(generator.key()), key_data(fold_in(key(0), count)))
    np.testing.assert_array_equal(
        key_data(stateful_rng(0).key((2,))), key_data(split(fold_in(key(0), 0), 2))
    )


def test_numbers_are_those_of_jax():
    first = [0.8423141, 0.18237865]
    np.testing.assert_allclose(stateful_rng(0).random((2,)), first, rtol=1e-6)
    np.testing.assert_allclose(stateful_rng(0).random(2), first, rtol=1e-6)
    generator = stateful_rng(0)
    generator.random(2)
    np.testing.assert_allclose(
        generator.random(size=(2,), dtype=np.float16), [0.012695, 0.1299], rtol=1e-3
    )
    np.testing.assert_allclose(
        generator.normal(1.0, 2.0, size=(3,)), [3.5912719, 3.710021, 0.18078887], rtol=1e-5
    )
    np.testing.assert_allclose(generator.uniform(2.0, 3.0, (2,)), [2.2669895, 2.7339501], rtol=1e-6)
    np.testing.assert_array_equal(generator.integers(5, dtype=np.int8, size=(2,)), [4, 0])
    np.testing.assert_array_equal(generator.integers(1, 6, (2,)), [4, 1])


def test_shapes_follow_parameters():
    generator = stateful_rng(0)
    assert generator.normal(np.zeros(3, np.float32)).shape == (3,)
    assert generator.uniform(np.zeros((2, 1), np.float32), np.ones(3, np.float32)).shape == (2, 3)
    assert generator.integers(np.arange(3), 9).shape == (3,)
    assert generator.random().shape == ()


def test_compiled_functions_advance_it():
    generator, twice = stateful_rng(0), stateful_rng(0)
    drawn = jit(lambda given: (given.random(), given.random()))
    expected = [float(twice.random()) for _ in range(4)]
    np.testing.assert_allclose([*drawn(generator), *drawn(generator)], expected, rtol=1e-6)
    closed_over = jit(lambda: generator.random())
    assert np.isclose(closed_over(), twice.random())


def test_split_is_for_vmap():
    found = vmap(lambda generator, x: x + generator.uniform())(
        stateful_rng(123).split(3), np.zeros(3, np.float32)
    )
    np.testing.assert_allclose(found, [0.35525954, 0.21937883, 0.5336956], rtol=1e-6)
    assert stateful_rng(0).split((2, 3))._counter.shape == (2, 3)
    with pytest.raises(ValueError, match="cannot operate on split stateful generator"):
        stateful_rng(0).split(3).key()


def test_spawned_generators_are_those_of_jax():
    children = stateful_rng(123).spawn(2)
    drawn = [np.asarray(child.integers(0, 10, 2)) for child in children]
    np.testing.assert_array_equal(drawn, [[4, 5], [2, 1]])
    assert stateful_rng(0).spawn(0) == []
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        stateful_rng(0).spawn(-1)


def test_derivatives_treat_numbers_as_constants():
    """Checks that derivatives treat the random numbers as constants."""
    expected = float(stateful_rng(7).random())
    generator = stateful_rng(7)
    assert np.isclose(grad(lambda x: lax.mul(x, generator.random()))(2.0), expected)


def test_it_is_a_pytree():
    generator = stateful_rng(5)
    leaves, tree = pytrees.tree_flatten(generator)
    assert len(leaves) == 2
    again = pytrees.tree_unflatten(tree, leaves)
    assert isinstance(again, StatefulPRNG) and again._counter is generator._counter


def test_seeds_and_generators_are_chosen_by_arguments():
    assert repr(stateful_rng(0, impl="rbg").key()).startswith("Array((), dtype=key<rbg>)")
    first, second = stateful_rng(), stateful_rng()
    assert not np.array_equal(key_data(first._base_key), key_data(second._base_key))
    with pytest.raises(TypeError, match="needs a seed in a traced function"):
        jit(lambda: stateful_rng().random())()
    with pytest.raises(TypeError, match="scalar seed"):
        stateful_rng(np.arange(2))
