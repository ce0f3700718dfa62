# SPDX-License-Identifier: Apache-2.0
"""Builtin types of errors, which programs catch, compared with those of jax 0.10.2."""

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax, nn, random

X, M = jnp.arange(4), jnp.ones((2, 2))
KEYS = random.split(random.key(0))

MESH = olympus.make_mesh((1,), ("i",))


def mapped(**options):
    P = olympus.P
    return olympus.shard_map(lambda x: x, in_specs=P(), out_specs=P(), **options)(jnp.ones(1))


ERRORS = [
    (lambda: jnp.delete(X, 4), ValueError),
    (lambda: jnp.delete(X, -5), ValueError),
    (lambda: jnp.delete(X, 1.5), ValueError),
    (lambda: jnp.delete(X, [1, 9]), TypeError),
    (lambda: jnp.delete(X, jnp.array([9])), IndexError),
    (lambda: jnp.array_split(X, 0), ZeroDivisionError),
    (lambda: jnp.array_split(X, 2, axis=1), IndexError),
    (lambda: jnp.split(X, 0), ZeroDivisionError),
    (lambda: jnp.split(X, 3), ValueError),
    (lambda: jnp.repeat(X, -1), TypeError),
    (lambda: jnp.moveaxis(M, (0, 0), (0, 1)), TypeError),
    (lambda: jnp.diagonal(M, axis1=0, axis2=0), TypeError),
    (lambda: jnp.swapaxes(M, 0, 2), IndexError),
    (lambda: jnp.expand_dims(X, 3), ValueError),
    (lambda: jnp.squeeze(X, 0), ValueError),
    (lambda: jnp.reshape(X, (-1, -1)), ValueError),
    (lambda: lax.slice_in_dim(X, 0, 2, axis=1), IndexError),
    (lambda: lax.index_in_dim(X, 0, axis=-2), IndexError),
    (lambda: lax.index_in_dim(X, 4), IndexError),
    (lambda: lax.dynamic_slice_in_dim(X, 0, 2, axis=1), IndexError),
    (lambda: lax.dynamic_update_slice_in_dim(X, X, 0, 1), IndexError),
    (lambda: nn.glu(jnp.ones(3)), AssertionError),
    (lambda: nn.glu(jnp.ones(4), axis=1), IndexError),
    (lambda: nn.standardize(X, axis=3), IndexError),
    (lambda: random.categorical(random.key(0), jnp.ones(2), axis=2), IndexError),
    (lambda: KEYS.astype("float32"), NotImplementedError),
    (lambda: KEYS.view("uint32"), NotImplementedError),
    (lambda: KEYS.sum(), NotImplementedError),
    (lambda: KEYS.real, NotImplementedError),
    (lambda: KEYS[0].item(), NotImplementedError),
    (lambda: float(KEYS[0]), TypeError),
    # options
    (lambda: olympus.checkpoint(jnp.sin, prevent_cse=3), TypeError),
    (lambda: olympus.checkpoint(jnp.sin, prevent_cse=None), TypeError),
    (lambda: olympus.checkpoint(jnp.sin, static_argnums=[0]), TypeError),
    (lambda: olympus.grad(olympus.checkpoint(jnp.sin, policy="all"))(1.0), TypeError),
    (lambda: olympus.grad(jnp.sin, argnums=())(1.0), ValueError),
    (lambda: olympus.linear_transpose(lambda x: x, "text"), TypeError),
    (lambda: mapped(mesh="mesh"), TypeError),
    (lambda: mapped(mesh=MESH, axis_names="i"), TypeError),
    (lambda: mapped(mesh=MESH, axis_names=["i"]), TypeError),
    (
        lambda: olympus.pure_callback(np.sin, jnp.float32(0), 1.0, sharding="cpu"),
        NotImplementedError,
    ),
]


@pytest.mark.parametrize(("call", "kind"), ERRORS)
def test_errors_have_the_types_of_jax(call, kind):
    with pytest.raises(kind):
        call()


def test_error_messages_match_patterns_for_jax():
    function = olympus.custom_vjp(lambda x, y: x, nondiff_argnums=(1,))
    function.defvjp(lambda x, y: x, lambda y, residuals, ct: (ct,))
    for call, words in (
        (lambda: jnp.sum(M, (0, 0)), r"duplicate value in 'axis': \(0, 0\)"),
        (lambda: jnp.fft.fft2(M, axes=(0,)), r"numpy.fft.fft2 only supports 2 axes. Got axes = "),
        (lambda: jnp.fft.fftn(M, axes=(0, 0)), "numpy.fft.fftn does not support repeated axes. "),
        (
            lambda: olympus.grad(lambda y: function(1.0, y))(1.0),
            "Tracer object passed as an argument to a custom_vjp function in a position",
        ),
        (
            lambda: olympus.grad(function)(1.0, 2.0),
            "where the first element represents the primal output",
        ),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            call()


def test_split_accepts_a_float_number_of_sections():
    assert [part.tolist() for part in jnp.split(X, 2.0)] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("name", ["block_until_ready", "copy_to_host_async"])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: olympus.jit(f)(jnp.ones(2)),
        lambda f: olympus.vmap(f)(jnp.ones((2, 2))),
        lambda f: olympus.grad(lambda x: f(x).sum())(jnp.ones(2)),
        lambda f: olympus.jvp(f, (jnp.ones(2),), (jnp.ones(2),)),
    ],
)
def test_traced_arrays_have_no_transfer_methods(name, transform):
    words = f"The '{name}' method is not available on traced array"
    with pytest.raises(AttributeError, match=words):
        transform(lambda x: getattr(x, name)())
    assert np.shape(transform(getattr(olympus, name))) is not None
