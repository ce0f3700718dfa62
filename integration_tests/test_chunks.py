# SPDX-License-Identifier: Apache-2.0
"""`vmap` and Jacobians in chunks: results equal those without chunks, with less memory."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax


def tree_equal(found, expected, **tolerance):
    assert olympus.tree.structure(found) == olympus.tree.structure(expected)
    for one, other in zip(olympus.tree.leaves(found), olympus.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


@pytest.mark.parametrize("chunk_size", [1, 3, 4, 5, 12, 50, "auto"])
@pytest.mark.parametrize("compile", [lambda f: f, olympus.jit], ids=["eager", "jit"])
def test_axes_of_trees(chunk_size, compile):
    def fun(tree, scale, *, shift):
        x, y = tree["x"], tree["y"]
        return {"a": x * scale + shift, "b": (jnp.outer(x, y), scale * 2)}

    options = {
        "in_axes": ({"x": 1, "y": -1}, None),
        "out_axes": {"a": -1, "b": (1, None)},
    }
    tree = {"x": np.random.randn(3, 12), "y": np.random.randn(2, 12)}
    shift = np.arange(12.0)
    whole = olympus.vmap(fun, **options)(tree, 2.0, shift=shift)
    chunked = compile(olympus.vmap(fun, **options, chunk_size=chunk_size))
    tree_equal(chunked(tree, 2.0, shift=shift), whole, rtol=1e-6)


def test_derivatives_and_nesting():
    def energy(x, y):
        return jnp.sin(x) @ y

    xs, ys = np.random.randn(7, 3), np.random.randn(5, 3)

    def total(chunk_size):
        rows = olympus.vmap(energy, (None, 0), chunk_size=chunk_size)
        table = olympus.vmap(rows, (0, None), chunk_size=chunk_size)
        return lambda xs: (table(xs, ys) ** 2).sum()

    tree_equal(olympus.grad(total(2))(xs), olympus.grad(total(None))(xs), rtol=1e-5)
    in_forward = olympus.jvp(total(3), (xs,), (xs,))
    tree_equal(in_forward, olympus.jvp(total(None), (xs,), (xs,)), rtol=1e-5)


def test_random_keys_and_static_arguments():
    keys = olympus.random.split(olympus.random.key(0), 10)
    draw = lambda key, name: olympus.random.normal(key, (2,)) * len(name)  # noqa: E731
    whole = olympus.vmap(draw, (0, None))(keys, "ab")
    tree_equal(olympus.vmap(draw, (0, None), chunk_size=3)(keys, "ab"), whole)


@pytest.mark.parametrize("chunk_size", [2, 5, "auto"])
def test_jacobians_in_chunks_equal_whole_ones(chunk_size):
    def fun(x, tree):
        return {"a": jnp.sin(x)[:, None] * tree["b"], "c": (x**2).sum()}

    args = np.arange(5.0) / 5, {"b": np.arange(3.0)}
    for jacobian in (olympus.jacfwd, olympus.jacrev, olympus.jacobian):
        whole = jacobian(fun, (0, 1))(*args)
        tree_equal(jacobian(fun, (0, 1), chunk_size=chunk_size)(*args), whole, rtol=1e-6)

    def scalar(x):
        return (jnp.sin(x) * x[::-1]).sum(), x

    whole = olympus.hessian(scalar, has_aux=True)(args[0])
    chunked = olympus.jit(olympus.hessian(scalar, has_aux=True, chunk_size=chunk_size))
    tree_equal(chunked(args[0]), whole, rtol=1e-5, atol=1e-6)


def test_peak_memory_shrinks_with_the_chunks():
    """At most 1.2 k / n of the memory of all examples at once."""
    matrix = np.random.randn(128, 128).astype(np.float32)

    def fun(x):
        y = jnp.outer(x, x)
        for _ in range(4):
            y = jnp.sin(y @ matrix)
        return y.sum()

    def peak(chunk_size):
        lowered = olympus.jit(olympus.vmap(fun, chunk_size=chunk_size)).lower(jnp.ones((200, 128)))
        return lowered.compile().memory_analysis().temp_size_in_bytes

    whole = peak(None)
    for chunk_size in (20, 30):
        assert peak(chunk_size) <= 1.2 * chunk_size / 200 * whole


def test_invalid_options_raise():
    for chunk_size in (0, -2, True, 1.5, "all"):
        with pytest.raises(ValueError, match="positive integer, 'auto' or None"):
            olympus.vmap(jnp.sin, chunk_size=chunk_size)
    with pytest.raises(ValueError, match="axis_name='i'"):
        olympus.vmap(lambda x: lax.psum(x, "i"), axis_name="i", chunk_size=2)
    with pytest.raises(ValueError, match="out_axes is None|out_axes"):
        olympus.vmap(jnp.sin, out_axes=None, chunk_size=2)(jnp.arange(4.0))
