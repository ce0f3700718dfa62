# SPDX-License-Identifier: Apache-2.0
"""The NumPy API under `vmap` and differentiation."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import grad, jvp
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_ir.programs.tracing import ensure_compile_time_eval

X = np.array([[0.5, 1.25, -2.0, 0.75], [3.0, -0.5, 1.5, 0.25], [0.1, 0.2, 0.3, -0.4]], np.float32)

FUNCTIONS = {
    "sum": jnp.sum,
    "mean": jnp.mean,
    "std": jnp.std,
    "max": jnp.max,
    "median": jnp.median,
    "quantile": lambda x: jnp.quantile(x, 0.3),
    "sort": jnp.sort,
    "argsort": jnp.argsort,
    "cumsum": jnp.cumsum,
    "softplus": lambda x: jnp.logaddexp(x, 0.0),
    "sinc": jnp.sinc,
    "where": lambda x: jnp.where(x > 0, x, 0.0),
    "clip": lambda x: jnp.clip(x, -1, 1),
    "row": lambda x: x[1],
    "slice": lambda x: x[::-2],
    "gather": lambda x: x[jnp.array([2, 0])],
    "set": lambda x: x.at[1].set(7.0),
    "add_at": lambda x: x.at[jnp.array([0, 0])].add(1.0),
    "outer": lambda x: jnp.outer(x, x),
    "dot": lambda x: jnp.dot(x, x),
    "einsum": lambda x: jnp.einsum("i,j->ij", x, x),
    "interp": lambda x: jnp.interp(x, jnp.array([-1.0, 0.0, 2.0]), jnp.array([0.0, 3.0, 1.0])),
    "searchsorted": lambda x: jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), x),
    "roll": lambda x: jnp.roll(x, 1),
    "flip": jnp.flip,
    "pad": lambda x: jnp.pad(x, 1, mode="reflect"),
    "diff": jnp.diff,
    "histogram": lambda x: jnp.histogram(x, bins=3, range=(-2, 2))[0],
    "norm": lambda x: jnp.linalg.norm(x),
    "unique": lambda x: jnp.unique(x, size=4),
    "nonzero": lambda x: jnp.nonzero(x > 0, size=4, fill_value=-1)[0],
    "polyval": lambda x: jnp.polyval(jnp.array([1.0, 2.0, 3.0]), x),
    "trapezoid": jnp.trapezoid,
    "convert": lambda x: x.astype(int),
    "floor_divide": lambda x: x // 0.3,
    "remainder": lambda x: x % 0.3,
    "power": lambda x: x**3,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batches_equal_a_loop_over_rows(name):
    function = FUNCTIONS[name]
    mapped = vmap(function)(X)
    rows = np.stack([np.asarray(function(jnp.asarray(row))) for row in X])
    np.testing.assert_allclose(np.asarray(mapped), rows, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(jit(vmap(function))(X)), rows, rtol=1e-5, atol=1e-6)


DIFFERENTIABLE = [
    name
    for name in FUNCTIONS
    if name
    not in {
        "argsort", "searchsorted", "histogram", "unique", "nonzero", "convert", "floor_divide",
        "remainder",
    }
]  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_equal_central_differences(name):
    """Compares both modes with central differences along a random direction."""
    function = FUNCTIONS[name]
    generator = np.random.default_rng(0)
    x = jnp.asarray(X[0])
    direction = jnp.asarray(generator.normal(size=4), np.float32)
    shape = function(x).shape
    weights = jnp.asarray(generator.normal(size=shape), np.float32)

    def scalar(x):
        return jnp.sum(function(x) * weights)

    step = 1e-2
    difference = (scalar(x + step * direction) - scalar(x - step * direction)) / (2 * step)
    _, forwards = jvp(scalar, (x,), (direction,))
    backwards = jnp.vdot(grad(scalar)(x), direction)
    np.testing.assert_allclose(np.asarray(forwards), np.asarray(difference), rtol=2e-2, atol=2e-3)
    np.testing.assert_allclose(np.asarray(backwards), np.asarray(forwards), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "x", "derivative"),
    [
        (jnp.sinc, 0.0, 0.0),
        (grad(jnp.sinc), 0.0, -(np.pi**2) / 3),
        (lambda x: jnp.logaddexp(x, -jnp.inf), 1.0, 1.0),
        (lambda x: jnp.logaddexp(x, x), 10.0, 1.0),
        (lambda x: jnp.logaddexp2(x, 0.0), 0.0, 0.5),
        (lambda x: jnp.where(x == 0, 1.0, x), 0.0, 0.0),
        (lambda x: jnp.maximum(x, 0.0), 0.0, 0.5),
        (jnp.abs, -2.0, -1.0),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: jnp.frexp(x)[0], 6.0, 0.125),
        (lambda x: jnp.hypot(x, 4.0), 3.0, 0.6),
        (lambda x: jnp.nan_to_num(x), 2.0, 1.0),
        (lambda x: jnp.arctan2(x, 1.0), 0.0, 1.0),
    ],
)
def test_derivatives_at_points(function, x, derivative):
    result = grad(function)(x)
    np.testing.assert_allclose(np.asarray(result), derivative, rtol=1e-5, atol=1e-6)


def test_integers_raised_to_traced_powers():
    assert grad(lambda x: jnp.power(x, jnp.array(3)))(2.0).item() == 12
    assert jit(lambda x: jnp.power(x, 3))(jnp.array(2)).item() == 8


def test_vectorize_follows_the_signature():
    signature = jnp.vectorize(lambda a, b: jnp.dot(a, b), signature="(n),(n)->()")
    result = signature(X, X[0])
    np.testing.assert_allclose(np.asarray(result), X @ X[0], rtol=1e-5)
    add = jnp.vectorize(lambda a, b: a + b)
    assert add(jnp.ones((2, 1)), jnp.ones(3)).shape == (2, 3)
    with pytest.raises(ValueError, match="signature"):
        jnp.vectorize(lambda a: a, signature="(n")(X)


def test_apply_along_and_over_axes():
    result = jnp.apply_along_axis(jnp.sum, 1, X)
    np.testing.assert_allclose(np.asarray(result), X.sum(1), rtol=1e-5)
    result = jnp.apply_over_axes(jnp.sum, X, [0, 1])
    np.testing.assert_allclose(np.asarray(result), [[X.sum()]], rtol=1e-5)


CONSTANTS = {
    "zeros": lambda: jnp.zeros(()),
    "ones": lambda: jnp.ones((), int),
    "full": lambda: jnp.full((), 2.0),
    "zeros_like": lambda: jnp.zeros_like(1.0),
    "full_like": lambda: jnp.full_like(np.ones(()), 3),
    "array": lambda: jnp.array(1.0),
    "broadcast_to": lambda: jnp.broadcast_to(np.ones(2), (2,)),
    "concatenate": lambda: jnp.concatenate([np.ones(2)]),
    "einsum": lambda: jnp.einsum("i->i", np.ones(2)),
    "real": lambda: jnp.real(1.0),
    "conj": lambda: jnp.conj(1.0),
    "positive": lambda: jnp.positive(1.0),
    "floor": lambda: jnp.floor(1),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_arrays_inside_transformations(name):
    seen = []

    def function(x):
        seen.append(CONSTANTS[name]())
        return x * seen[-1].sum()

    jit(function)(1.0)
    jvp(function, (1.0,), (1.0,))
    vmap(function)(np.ones(2, np.float32))
    grad(function)(1.0)
    assert len(seen) == 4
    for constant in seen:
        assert isinstance(constant, jnp.ndarray)


COMPILE_TIME = {
    "nonzero": (lambda x: jnp.nonzero(x, size=2)[0], lambda x: np.nonzero(x)[0]),
    "unique": (lambda x: jnp.unique(x, size=2), np.unique),
    "piecewise": (
        lambda x: jnp.piecewise(x, [x > 1], [1, 5]),
        lambda x: np.piecewise(x, [x > 1], [1, 5]),
    ),
    "zeros_like": (lambda x: jnp.zeros_like(x[0]), lambda x: np.zeros_like(x[0])),
}


@pytest.mark.parametrize("name", COMPILE_TIME)
def test_results_in_compile_time_evaluation_are_known(name):
    function, expected = COMPILE_TIME[name]
    rows = np.array([[2, 0, 2], [0, 3, 3]], np.int32)

    @jit
    def program(x):
        with ensure_compile_time_eval():
            np.testing.assert_array_equal(function(jnp.asarray(rows[0])), expected(rows[0]))
            batch = vmap(function)(rows)
            np.testing.assert_array_equal(batch, [expected(row) for row in rows])
        return x

    assert program(1.0) == 1.0
