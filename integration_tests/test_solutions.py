# SPDX-License-Identifier: Apache-2.0
"""Derivatives of roots, fixed points and minimizers; curvature; Taylor coefficients; estimates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import olympus
import olympus.numpy as jnp
from olympus.scipy.sparse.linalg import gmres
from olympus.testing import check_complex_step

A = np.array([4.0, 9.0])
START = {"u": np.ones(2), "v": np.ones(2)}


@pytest.fixture(autouse=True)
def _double():
    with olympus.enable_x64(True):
        yield


def system(x, a):
    """A system with the roots u = sqrt(a) and v = 1 / u."""
    return {"u": x["u"] ** 2 - a, "v": x["v"] * x["u"] - 1}


def inverse_root(a, **options):
    return jnp.sum(olympus.root(system, START, a, **options)["v"])


@pytest.mark.thorough("unrolled")
@pytest.mark.parametrize("how", ["implicit", "unrolled", "truncated"])
def test_roots_of_pytree_systems(how):
    def f(a):
        return inverse_root(a, differentiate=how)

    np.testing.assert_allclose(f(A), np.sum(A**-0.5), rtol=1e-12)
    for derivative in (olympus.grad(f), olympus.jacfwd(f), olympus.jit(olympus.grad(f))):
        np.testing.assert_allclose(derivative(A), -0.5 * A**-1.5, rtol=1e-10)
    batched = olympus.vmap(olympus.grad(f))(np.stack([A, 2 * A]))
    np.testing.assert_allclose(batched[1], -0.5 * (2 * A) ** -1.5, rtol=1e-10)


def test_second_derivatives_of_roots():
    np.testing.assert_allclose(
        olympus.hessian(inverse_root)(A), np.diag(0.75 * A**-2.5), rtol=1e-9, atol=1e-12
    )


def test_any_solver_and_any_linear_solver():
    calls = []

    def solver(f, start):
        calls.append(start)
        return olympus.lax.fori_loop(0, 60, lambda _, x: x - f(x) / 8, start)

    def f(a):
        return olympus.root(lambda x, a: x**2 - a, 1.5, a, solver=solver)

    np.testing.assert_allclose(olympus.grad(f)(4.0), 0.25, rtol=1e-10)
    assert len(calls) >= 1

    def iterative(a):
        return inverse_root(a, linear_solve=lambda apply, b: gmres(apply, b, tol=1e-12)[0])

    np.testing.assert_allclose(olympus.grad(iterative)(A), -0.5 * A**-1.5, rtol=1e-8)


def test_fixed_points_have_derivatives_of_solution():
    def f(a):
        return olympus.fixed_point(lambda x, a: jnp.cos(a * x), 0.5, a)

    x = float(f(1.0))
    slope = -x * np.sin(x) / (1 + np.sin(x))
    np.testing.assert_allclose(np.cos(x), x, rtol=1e-12)
    np.testing.assert_allclose(olympus.grad(f)(1.0), slope, rtol=1e-10)
    np.testing.assert_allclose(olympus.jvp(f, (1.0,), (1.0,))[1], slope, rtol=1e-10)


def test_minimizers_have_the_derivatives_of_the_solution():
    matrix = np.array([[3.0, 1.0], [1.0, 2.0]])

    def f(b):
        return olympus.argmin(lambda x, b: x @ matrix @ x / 2 - b @ x, np.zeros(2), b)

    np.testing.assert_allclose(f(A), np.linalg.solve(matrix, A), rtol=1e-12)
    for jacobian in (olympus.jacfwd, olympus.jacrev):
        np.testing.assert_allclose(jacobian(f)(A), np.linalg.inv(matrix), rtol=1e-12)


def test_unknown_differentiate_option_raises():
    with pytest.raises(ValueError, match="`differentiate` must be one of 'implicit'"):
        olympus.root(lambda x: x, 1.0, differentiate="exact")


def test_products_with_curvature_matrices():
    rng = np.random.default_rng(0)
    inputs, x, v = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3)

    def model(x):
        return jnp.tanh(inputs @ x)

    def loss(y):
        return jnp.sum(y**4)

    jacobian, inner = olympus.jacfwd(model)(x), olympus.hessian(loss)(model(x))
    np.testing.assert_allclose(
        olympus.gauss_newton_product(model, loss, x, v), jacobian.T @ inner @ jacobian @ v
    )
    np.testing.assert_allclose(
        olympus.fisher_product(model, lambda y: -jnp.sum(y**2) / 2, x, v),
        jacobian.T @ jacobian @ v,
    )
    whole = olympus.hessian(lambda x: loss(model(x)))(x)
    np.testing.assert_allclose(
        olympus.hessian_product(lambda x: loss(model(x)), x, v), whole @ v, rtol=1e-10
    )


def test_diagonals_of_hessians():
    def f(x):
        return jnp.sum(x**3) + x[0] * x[1] ** 2

    x = np.array([1.0, 2.0, 3.0])
    diagonal = np.diag(olympus.hessian(f)(x))
    np.testing.assert_allclose(olympus.hessian_diagonal(f, x), diagonal, rtol=1e-12)
    signs = np.array([[1.0, 1, 1], [1, -1, 1], [1, 1, -1], [1, -1, -1]])  # orthogonal
    np.testing.assert_allclose(olympus.hessian_diagonal(f, x, signs), diagonal, rtol=1e-12)


def test_taylor_coefficients_have_known_values():
    np.testing.assert_allclose(
        np.array(olympus.taylor(jnp.exp, 0.0, 4)), [1, 1, 1 / 2, 1 / 6, 1 / 24], rtol=1e-12
    )
    out = olympus.taylor(lambda t: {"p": t["a"] * t["b"]}, {"a": 2.0, "b": 3.0}, 2)
    assert [float(each["p"]) for each in out] == [6, 5, 1]
    along = olympus.taylor(
        lambda x: x[0] ** 2 * x[1], np.array([1.0, 2.0]), 3, np.array([1.0, 0.0])
    )
    np.testing.assert_allclose(np.array(along), [2, 4, 2, 0], atol=1e-12)
    with pytest.raises(ValueError, match="`order` must not be negative"):
        olympus.taylor(jnp.sin, 0.0, -1)


# ---- diagonals of other curvature matrices ----


def _logits(x):
    return jnp.tanh(MATRIX @ x["w"]) + x["b"]


def _cross_entropy(y):
    return jnp.log(jnp.sum(jnp.exp(y))) - y[1]


MATRIX = np.array([[1.0, -2.0], [0.5, 3.0], [1.5, 0.2]])
POINT = {"b": np.array([0.1, -0.3, 0.2]), "w": np.array([0.2, 0.4])}


def _exact_gauss_newton():
    """Returns the diagonal of J^T H J for the cross entropy by NumPy."""
    y = np.tanh(MATRIX @ POINT["w"]) + POINT["b"]
    p = np.exp(y) / np.exp(y).sum()
    inner = np.diag(p) - np.outer(p, p)
    by_w = (1 - np.tanh(MATRIX @ POINT["w"]) ** 2)[:, None] * MATRIX
    return {"b": np.diag(inner), "w": np.diag(by_w.T @ inner @ by_w)}


def _fisher_diagonal(x, probes=None):
    return olympus.fisher_diagonal(_logits, lambda y: -_cross_entropy(y), x, probes)


def _gauss_newton_diagonal(x, probes=None):
    return olympus.gauss_newton_diagonal(_logits, _cross_entropy, x, probes)


@pytest.mark.parametrize("diagonal", [_gauss_newton_diagonal, _fisher_diagonal])
def test_diagonals_of_gauss_newton_and_fisher_matrices(diagonal):
    expected = _exact_gauss_newton()
    for found in (diagonal(POINT), olympus.jit(diagonal)(POINT)):
        np.testing.assert_allclose(found["b"], expected["b"], rtol=1e-12)
        np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-12)
    # The columns of an orthogonal matrix of signs give the diagonal without noise.
    signs = scipy.linalg.hadamard(8).astype(float)
    found = diagonal(POINT, {"b": signs[:, :3], "w": signs[:, 3:5]})
    np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-12)
    keys = olympus.random.split(olympus.random.key(1))
    probes = {
        name: olympus.random.rademacher(key, (4000, *POINT[name].shape), float)
        for name, key in zip(("b", "w"), keys, strict=True)
    }
    found = diagonal(POINT, probes)
    # The variance of an element is the sum of the squares of the other elements of its row, at most
    # the squared norm of the row; that is at most the trace squared for these matrices.
    deviation = sum(np.sum(each) for each in expected.values())
    for name in POINT:
        np.testing.assert_allclose(found[name], expected[name], atol=5 * deviation / 4000**0.5)


def test_diagonals_of_pytree_hessians_and_invalid_probes():
    def f(x):
        return jnp.sum(x["a"] ** 3) * x["b"]

    found = olympus.hessian_diagonal(f, {"a": A, "b": 2.0})
    np.testing.assert_allclose(found["a"], 12 * A, rtol=1e-12)
    np.testing.assert_allclose(found["b"], 0.0, atol=1e-12)
    with pytest.raises(ValueError, match=r"`probes` must have the shapes.*\(2,\).*\(4, 3\)"):
        olympus.hessian_diagonal(jnp.sum, A, np.ones((4, 3)))
    with pytest.raises(ValueError, match="`probes` must have the structure"):
        olympus.hessian_diagonal(jnp.sum, A, [np.ones((4, 2))])


# ---- gradients stopped by path ----

TREE = {"mlp/~/linear": {"w": 2.0, "b": 3.0}, "head": [{"w": 5.0}, {"w": 7.0}]}
NAMES = ["head/0/w", "head/1/w", "mlp/~/linear/b", "mlp/~/linear/w"]


def _stopped(where):
    """Returns the paths of the leaves whose gradient is stopped."""
    slopes = olympus.grad(
        lambda tree: sum(olympus.tree.leaves(olympus.stop_gradient_at(tree, where)))
    )(TREE)
    values = [float(leaf) for leaf in olympus.tree.leaves(slopes)]
    assert set(values) <= {0.0, 1.0}
    return [name for name, value in zip(NAMES, values, strict=True) if value == 0]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("head", NAMES[:2]),
        ("head/*", NAMES[:2]),
        ("head/**", NAMES[:2]),
        ("head/1", NAMES[1:2]),
        ("**/w", [NAMES[0], NAMES[1], NAMES[3]]),
        ("mlp/~/linear/[a-c]", NAMES[2:3]),
        ("mlp/**/w", NAMES[3:]),
        (["head/0", "**/b"], [NAMES[0], NAMES[2]]),
        ("*", NAMES),
        ([], []),
        (lambda path, leaf: olympus.tree_util.DictKey("b") in path, NAMES[2:3]),
    ],
)
def test_gradients_stopped_by_path(where, expected):
    assert _stopped(where) == expected


def test_stopped_trees_keep_values_and_refuse_unknown_paths():
    assert olympus.stop_gradient_at(TREE, "head") == TREE
    with pytest.raises(ValueError, match="'tail' matches no leaf; the paths are 'head/0/w'"):
        olympus.stop_gradient_at(TREE, ["head", "tail"])
    with pytest.raises(TypeError, match="`where` must be a pattern"):
        olympus.stop_gradient_at(TREE, 3)


# ---- estimated derivatives and complex steps under their public names ----


def test_public_names_of_estimators():
    key = olympus.random.key(0)
    rounded = olympus.smoothed(jnp.round, key, scale=1.0, samples=20_000)
    assert abs(float(olympus.grad(rounded)(0.2)) - 1.0) < 0.1
    expectation = olympus.random.score_function(
        olympus.random.poisson, olympus.scipy.stats.poisson.logpmf, samples=20_000
    )
    slope = olympus.jit(olympus.grad(lambda rate: expectation(key, lambda k: k**2, rate)))(2.0)
    assert abs(float(slope) - 5.0) < 0.5
    hard = olympus.random.gumbel_softmax(key, jnp.zeros((5, 4)), 0.3, hard=True)
    np.testing.assert_array_equal(np.sort(hard, axis=1), [[0, 0, 0, 1]] * 5)
    assert {"gumbel_softmax", "pathwise"} <= set(dir(olympus.random))


@pytest.mark.parametrize(
    "f",
    [
        jnp.sin,
        lambda x: jnp.exp(-(x**2)) / (1 + x**4),
        lambda x: {"a": jnp.sqrt(x) * jnp.log(x), "b": jnp.cumsum(x) @ x},
        lambda x: jnp.linalg.solve(jnp.diag(x) + 0.1, x),
    ],
)
def test_derivatives_equal_complex_steps(f):
    check_complex_step(f, np.array([0.4, 1.3, 2.1]))
    check_complex_step(olympus.jit(f), np.array([0.4, 1.3, 2.1], np.float32))


def test_complex_step_check_detects_a_wrong_rule():
    wrong = olympus.custom_jvp(jnp.sin)

    @wrong.defjvp
    def _(primals, tangents):
        return jnp.sin(*primals), 0.999 * jnp.cos(*primals) * tangents[0]

    with pytest.raises(AssertionError, match="jvp and complex step"):
        check_complex_step(wrong, 0.5)


@pytest.mark.thorough("unrolled")
@pytest.mark.parametrize("how", ["implicit", "unrolled", "truncated"])
def test_solutions_in_shard_map(how):
    mesh = olympus.make_mesh((2,), ("i",), axis_types=(olympus.sharding.AxisType.Auto,))
    part = olympus.P("i")

    def solutions(a):
        root = inverse_root(a, differentiate=how)
        cosine = olympus.fixed_point(
            lambda y, a: a * jnp.cos(y) / 9, 1.0, a.sum(), differentiate=how
        )
        least = olympus.argmin(
            lambda y, a: jnp.sum((y - a) ** 2 + y**4), jnp.zeros(2), a, differentiate=how
        )
        return root + cosine + least.sum()

    of_rows = olympus.vmap(olympus.value_and_grad(solutions))
    on_parts = olympus.shard_map(of_rows, mesh=mesh, in_specs=part, out_specs=part)
    rows = np.stack([A, A + 1, A / 2, 3 * A])
    for found, expected in zip(on_parts(rows), of_rows(rows), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("how", ["implicit", "unrolled", "truncated"])
def test_solutions_that_close_over_shards(how):
    mesh = olympus.make_mesh((2,), ("i",), axis_types=(olympus.sharding.AxisType.Auto,))
    part = olympus.P("i")

    def solutions(a):
        return (
            olympus.root(lambda y: y * y - a, jnp.ones(1), differentiate=how),
            olympus.fixed_point(lambda y: (y + a / y) / 2, jnp.ones(1), differentiate=how),
            olympus.argmin(lambda y: jnp.sum((y - a**0.5) ** 2), jnp.ones(1), differentiate=how),
        )

    a = np.array([4.0, 9.0])
    for found in olympus.shard_map(solutions, mesh=mesh, in_specs=part, out_specs=part)(a):
        np.testing.assert_allclose(found, np.sqrt(a), rtol=1e-10)
