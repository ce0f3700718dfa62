# SPDX-License-Identifier: Apache-2.0
"""Smooth expressions of eigenvalues and singular values have derivatives where values are equal.

The values are those of NumPy, the derivatives are compared with central differences of them. At
distinct values they are compared with the derivatives of the factors, which are used without the
flag.
"""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax

RNG = np.random.default_rng(5)
N = 3
SYMMETRIC = RNG.normal(size=(N, N))
SYMMETRIC = SYMMETRIC + SYMMETRIC.T
HERMITIAN = RNG.normal(size=(N, N)) + 1j * RNG.normal(size=(N, N))
HERMITIAN = HERMITIAN + HERMITIAN.conj().T
WEIGHT = RNG.normal(size=(N, N))
B = RNG.normal(size=(N, 2))
STEP = RNG.normal(size=(N, N))


@pytest.fixture(autouse=True)
def double_precision():
    with olympus.enable_x64(True):
        yield


def of_eigh(function):
    """Returns a function of a matrix that is written with `eigh`; np is NumPy or olympus.numpy."""
    return lambda np, a: function(np, *np.linalg.eigh(a))


def of_svd(function):
    return lambda np, a: function(np, *np.linalg.svd(a, full_matrices=False))


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


EXPRESSIONS = {
    "product": of_eigh(lambda np, w, v: (v * np.exp(w)) @ adjoint(v)),
    "diagonal": of_eigh(lambda np, w, v: v @ np.diag(np.exp(w)) @ adjoint(v)),
    "einsum": of_eigh(lambda np, w, v: np.einsum("ik,k,jk->ij", v, np.exp(w), v.conj())),
    "matmul and scale": of_eigh(lambda np, w, v: v @ (np.exp(w)[:, None] * adjoint(v))),
    "applied": of_eigh(lambda np, w, v: v @ (np.exp(w)[:, None] * (adjoint(v) @ B))),
    "applied to a vector": of_eigh(lambda np, w, v: v @ (np.sin(w) * (adjoint(v) @ B[:, 0]))),
    "applied from the left": of_eigh(lambda np, w, v: (B.T @ v * np.exp(w)) @ adjoint(v)),
    "divided": of_eigh(lambda np, w, v: (v / (5.0 + w**2)) @ adjoint(v)),
    "numbers": of_eigh(lambda np, w, v: (v * (1 - 2 * w + np.sqrt(w + 9.0))) @ adjoint(v)),
    "twice": of_eigh(lambda np, w, v: (v * np.cos(w)) @ adjoint(v * np.exp(w))),
    "where": of_eigh(lambda np, w, v: (v * np.where(w > -9, w**3, 1 / w)) @ adjoint(v)),
    "two": of_eigh(lambda np, w, v: (v * w**2) @ adjoint(v) + (v * np.exp(w)) @ adjoint(v)),
    "sum": lambda np, a: np.sum(np.linalg.eigvalsh(a) ** 3),
    "mean": lambda np, a: np.mean(np.exp(np.linalg.eigvalsh(a))),
    "square of a sum": lambda np, a: np.sum(np.linalg.eigvalsh(a) ** 2) ** 2,
    "dot": of_eigh(lambda np, w, v: np.dot(w, np.exp(w))),
    "left and right": of_svd(lambda np, u, s, vh: u @ vh),
    "function of singular values": of_svd(lambda np, u, s, vh: (u * np.sqrt(s)) @ vh),
    "inverse": of_svd(lambda np, u, s, vh: adjoint(vh) @ np.diag(1 / s) @ adjoint(u)),
    "solution": of_svd(lambda np, u, s, vh: adjoint(vh) @ ((adjoint(u) @ B) / s[:, None])),
    "left alone": of_svd(lambda np, u, s, vh: (u * s) @ adjoint(u)),
    "right alone": of_svd(lambda np, u, s, vh: (adjoint(vh) * s**3) @ vh),
    "sum of singular values": lambda np, a: np.linalg.svd(a, compute_uv=False).sum(),
    "nuclear norm": lambda np, a: np.linalg.norm(a, "nuc"),
    "general eigenvalues": lambda np, a: np.sum(np.linalg.eigvals(a) ** 3).real,
}
OF_SINGULAR = {name for name in EXPRESSIONS if "singular" in name} | {
    *("left and right", "inverse", "solution", "left alone", "right alone", "nuclear norm"),
}
GENERAL = {*OF_SINGULAR, "general eigenvalues"}


def along(expression, start, step):
    """Returns a scalar function of a number: a weighted expression along a line of matrices."""

    def of_number(np, t):
        value = expression(np, start + t * step)
        weight = np.resize(WEIGHT, value.shape)
        return np.sum((weight * value).real)

    return of_number


def differences(function):
    """Returns first and second derivative at zero by central differences of NumPy's values."""
    h = 1e-2
    nodes = np.arange(-4, 5)
    values = np.array([function(np, k * h) for k in nodes])
    # The weights of nine points are exact for polynomials of degree eight.
    powers = nodes[None, :] ** np.arange(9)[:, None]
    first, second = (np.linalg.solve(powers, rhs) for rhs in np.eye(9)[1:3] * [[1.0], [2.0]])
    return values @ first / h, values @ second / h**2


def derivatives(function, flag):
    """Returns the first derivative in forward and reverse mode, and the second in both."""

    @olympus.jit
    def compute(t):
        of_number = olympus.jit(lambda t: function(jnp, t))
        slope = olympus.grad(lambda t: function(jnp, t))
        second, forward = olympus.jvp(olympus.jacfwd(of_number), (t,), (1.0,))[::-1]
        reverse, again = olympus.value_and_grad(slope)(t)
        return forward, reverse, second, again

    with olympus.strong_zeros(flag):
        return compute(0.0)


def start_of(name, kind):
    if kind == "equal":
        return 2.0 * np.eye(N)
    return np.diag([1.0, 3.0, 3.0])


@pytest.mark.parametrize(
    "name, kind",
    [
        *((name, "equal") for name in EXPRESSIONS),
        *((name, "pair") for name in ("product", "sum", "left and right", "left alone")),
    ],
)
def test_derivatives_match_finite_differences_of_numpy(name, kind):
    step = STEP if name in GENERAL else SYMMETRIC
    function = along(EXPRESSIONS[name], start_of(name, kind), step)
    slope, bend = differences(function)
    forward, reverse, second, again = derivatives(function, True)
    np.testing.assert_allclose([forward, reverse], slope, rtol=1e-6)
    np.testing.assert_allclose([second, again], bend, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["product", "diagonal", "einsum", "applied", "sum"])
def test_derivatives_at_hermitian_matrices_equal_differences(name):
    function = along(EXPRESSIONS[name], 2.0 * np.eye(N), HERMITIAN)
    slope, bend = differences(function)
    forward, reverse, second, again = derivatives(function, True)
    np.testing.assert_allclose([forward, reverse], slope, rtol=1e-6)
    np.testing.assert_allclose([second, again], bend, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "name, shape",
    [
        *(("left and right", (4, 2)), ("inverse", (2, 4)), ("nuclear norm", (4, 2))),
        *(("left alone", (2, 4)), ("right alone", (4, 2))),
    ],
)
def test_derivatives_at_rectangular_matrices_equal_differences(name, shape):
    start = np.eye(*shape) * 2.0
    function = along(EXPRESSIONS[name], start, np.resize(STEP, shape))
    slope, bend = differences(function)
    forward, reverse, second, again = derivatives(function, True)
    np.testing.assert_allclose([forward, reverse], slope, rtol=1e-6)
    np.testing.assert_allclose([second, again], bend, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["product", "einsum", "nuclear norm"])
def test_stacks_of_matrices(name):
    step = STEP if name in GENERAL else SYMMETRIC
    starts = np.stack([start_of(name, kind) for kind in ("equal", "pair")])

    def total(t):
        return sum(along(EXPRESSIONS[name], start, step)(jnp, t) for start in starts)

    def mapped(t):
        def of_start(start):
            return along(EXPRESSIONS[name], start, step)(jnp, t)

        return jnp.sum(olympus.vmap(of_start)(starts))

    with olympus.strong_zeros(True):
        expected = olympus.jit(olympus.grad(total))
        found = olympus.jit(olympus.grad(mapped))(0.0)
        np.testing.assert_allclose(found, expected(0.0), rtol=1e-9)
        directions = olympus.jit(olympus.vmap(olympus.grad(total)))(jnp.array([0.0, 0.1]))
        np.testing.assert_allclose(directions[1], expected(0.1), rtol=1e-9)


def test_smooth_functions_at_zero_singular_values():
    # (u * s**2) @ u.T is a @ a.T, and (u * s**3) @ vh is a @ a.T @ a.
    a = np.diag([2.0, 0.0, 0.0])

    def composed(t):
        u, s, vh = jnp.linalg.svd(a + t * STEP)
        return jnp.sum(WEIGHT * ((u * s**2) @ u.T + (u * s**3) @ vh))

    def plain(t):
        m = a + t * STEP
        return jnp.sum(WEIGHT * (m @ m.T + m @ m.T @ m))

    with olympus.strong_zeros(True):
        for derivative in (olympus.grad, olympus.hessian):
            found, expected = (olympus.jit(derivative(f))(0.0) for f in (composed, plain))
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_gradient_with_respect_to_the_matrix():
    def energy(a):
        w, v = jnp.linalg.eigh(a)
        return jnp.sum(WEIGHT * ((v * jnp.exp(w)) @ v.T))

    with olympus.strong_zeros(True):
        gradient = olympus.grad(energy)(2.0 * jnp.eye(N))
        hessian = olympus.hessian(energy)(2.0 * jnp.eye(N)).reshape(N * N, N * N)
    # exp(2 I + E) = e^2 (I + E + E^2 / 2 + ...)
    np.testing.assert_allclose(gradient, np.exp(2) * (WEIGHT + WEIGHT.T) / 2, rtol=1e-12)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
    e = (SYMMETRIC / 2).ravel()
    square = SYMMETRIC @ SYMMETRIC / 4
    np.testing.assert_allclose(e @ hessian @ e, np.exp(2) * np.sum(WEIGHT * square), rtol=1e-12)


def test_factors_used_elsewhere_keep_their_values():
    def smallest(a):
        w, v = jnp.linalg.eigh(a)
        if w[0] > 0:  # values are known while a derivative is computed
            return w[0] + jnp.sum(lax.stop_gradient(v) ** 2)
        return float("nan")

    a = jnp.diag(jnp.array([1.0, 2.0, 4.0]))
    with olympus.strong_zeros(True):
        value, gradient = olympus.value_and_grad(smallest)(a)
        w, tangent = olympus.jvp(jnp.linalg.eigvalsh, (a,), (SYMMETRIC,))
        pair = olympus.value_and_grad(
            lambda a: (w := jnp.linalg.eigvalsh(a))[0] * w[1], has_aux=False
        )
        (_, kept) = olympus.value_and_grad(
            lambda a: (lambda w: (w[0], w))(jnp.linalg.eigvalsh(a)), has_aux=True
        )(a)[0]
        product = pair(a)[1]
    assert value == 4.0
    np.testing.assert_allclose(gradient, np.diag([1.0, 0, 0]), atol=1e-12)
    np.testing.assert_allclose(w, [1, 2, 4])
    np.testing.assert_allclose(kept, [1, 2, 4])
    np.testing.assert_allclose(tangent, np.diag(SYMMETRIC), rtol=1e-12)
    np.testing.assert_allclose(product, np.diag([2.0, 1.0, 0]), atol=1e-12)


def test_loops_and_custom_rules_get_plain_values():
    @olympus.custom_jvp
    def doubled(x):
        return 2 * x

    doubled.defjvp(lambda primals, tangents: (doubled(*primals), 2 * tangents[0]))

    def looped(a):
        w = jnp.linalg.eigvalsh(a)
        total, _ = lax.scan(lambda carry, each: (carry + each**2, None), 0.0, w)
        return total + jnp.sum(doubled(w)) + jnp.sum(jnp.sort(w))

    a = np.diag([1.0, 2.0, 4.0])
    with olympus.strong_zeros(True):
        np.testing.assert_allclose(
            olympus.grad(looped)(a), np.diag([2.0, 4.0, 8.0]) + 3 * np.eye(3), atol=1e-12
        )


def test_functions_of_a_differentiated_scalar():
    def scaled(t):
        w, v = jnp.linalg.eigh(jnp.asarray(np.diag([1.0, 2.0, 4.0])) + t * SYMMETRIC)
        return jnp.sum(WEIGHT * ((v * jnp.exp(t * w)) @ v.T))

    def plain(t):
        a = np.diag([1.0, 2.0, 4.0]) + t * SYMMETRIC
        return np.sum(WEIGHT * olympus.scipy.linalg.expm(t * a))

    with olympus.strong_zeros(True):
        for derivative in (olympus.grad, olympus.hessian):
            found, expected = (olympus.jit(derivative(f))(0.3) for f in (scaled, plain))
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_without_the_flag_factors_are_differentiated():
    function = along(EXPRESSIONS["product"], np.diag([1.0, 2.0, 4.0]), SYMMETRIC)
    np.testing.assert_allclose(derivatives(function, True), derivatives(function, False), rtol=1e-9)
    function = along(EXPRESSIONS["product"], 2.0 * np.eye(N), SYMMETRIC)
    assert np.isnan(derivatives(function, False)).all()
