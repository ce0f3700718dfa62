# SPDX-License-Identifier: Apache-2.0
"""Comparison of sparse Jacobians and Hessians with dense ones, and their numbers of products."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import olympus_autodiff as autodiff
import olympus_numpy as jnp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import ShapeDtypeStruct, make_olympuspr
from olympus_ir.settings import config_states
from olympus_ir.trees import pytrees
from olympus_sparse import BCOO, BCSR, CSR, plan, sparse_hessian, sparse_jacobian
from olympus_sparse.jacobians.coloring import color_columns, color_symmetric, recovery_of_symmetric
from olympus_sparse.jacobians.substitution import color_acyclic

rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _double():
    with config_states.enable_x64(True):
        yield


def point(*shape):
    return rng.uniform(0.5, 1.5, shape)


def neighbors(x):
    return x[1:-1] ** 2 - x[:-2] * x[2:]


def laplacian(u):
    total = -2 * u.ndim * u
    for axis in range(u.ndim):
        padded = jnp.pad(u, [(1, 1) if a == axis else (0, 0) for a in range(u.ndim)])
        total = total + lax.slice_in_dim(padded, 0, -2, axis=axis)
        total = total + lax.slice_in_dim(padded, 2, None, axis=axis)
    return total + jnp.exp(u)


RANDOM = scipy.sparse.random_array((40, 30), density=0.06, rng=np.random.default_rng(3))
ROWS, COLUMNS = RANDOM.coords
ELEMENTS = np.stack([np.arange(20), np.arange(1, 21)], 1)  # a rod of two-node elements
TRIANGLES = np.array(
    [(6 * i + j + a, 6 * i + j + b, 6 * i + j + c)
     for i in range(4) for j in range(5)
     for a, b, c in ((0, 1, 6), (1, 7, 6))]
)  # fmt: skip


def finite_elements(elements, count):
    def residual(u):
        local = u[elements]  # [element, node]
        force = local**2 - jnp.mean(local, axis=1, keepdims=True) ** 3
        return jnp.zeros(count, u.dtype).at[elements].add(force)

    return residual


def collocation(y):  # trapezoidal steps of a pendulum; y is [step, (angle, speed)]
    slope = jnp.stack([y[:, 1], -jnp.sin(y[:, 0])], axis=1)
    steps = y[1:] - y[:-1] - 0.05 * (slope[1:] + slope[:-1])
    return jnp.concatenate([y[:1] - 0.3, steps])


def arrow(x):
    return jnp.concatenate([jnp.sum(x**2)[None], x[1:] * x[0]])


def blocks(x):
    return (x.reshape(6, 4) ** 2 @ np.ones((4, 4))).ravel()


def cumulative_scan(x):
    return lax.scan(lambda c, a: (a * a, c * a), x[0], x)[1]


def counted_loop(x):
    return lax.fori_loop(0, 8, lambda i, y: y.at[i].set(y[i] * x[i + 1]), x[:-1])


def chosen(x):
    return lax.cond(x[0] > 0, lambda x: x[:-1] ** 2, lambda x: x[1:] ** 3, x)


@jit
def compiled(x):
    return jnp.diff(jnp.sin(x))


@autodiff.custom_jvp
def straight_through(x):
    return jnp.round(x)


straight_through.defjvps(lambda t, out, x: 2.0 * t)


def solve_each(x):
    matrices = x.reshape(5, 2, 2) + 3 * np.eye(2)
    return jnp.linalg.solve(matrices, np.ones((5, 2, 1)))


# For each name a function, a point, and the largest number of products.
CASES = {
    "diagonal": (lambda x: jnp.sin(x) * x, point(30), 1),
    "bidiagonal": (lambda x: jnp.diff(x) ** 2, point(30), 2),
    "tridiagonal": (neighbors, point(30), 3),
    "pentadiagonal": (lambda x: jnp.convolve(x**2, np.ones(5)), point(30), 5),
    "dilated band": (lambda x: x[4:] * x[:-4], point(30), 2),
    "arrow": (arrow, point(30), 3),
    "dense row": (lambda x: jnp.append(x**2, jnp.prod(x)), point(20), 2),
    "blocks": (blocks, point(24), 4),
    "grid in one dimension": (laplacian, point(24), 3),
    "grid in two dimensions": (laplacian, point(6, 7), 5),
    "grid in three dimensions": (laplacian, point(4, 3, 4), 7),
    "random": (
        lambda x: jnp.zeros(40).at[ROWS].add(RANDOM.data * x[COLUMNS] ** 2),
        point(30),
        8,
    ),
    "constant matrix": (lambda x: jnp.tanh(RANDOM.toarray() @ x), point(30), 8),
    "rod of elements": (finite_elements(ELEMENTS, 21), point(21), 3),
    "triangles": (finite_elements(TRIANGLES, 30), point(30), 9),
    "collocation": (collocation, point(12, 2), 5),
    "images": (
        lambda x: lax.conv(x, np.ones((2, 1, 3, 3)) * np.eye(3), (1, 1), "SAME"),
        point(1, 1, 6, 5),
        3,
    ),
    "windows": (
        lambda x: lax.reduce_window(x**2, 0.0, lax.add, (3,), (2,), "VALID"),
        point(21),
        3,
    ),
    "permutation": (lambda x: x[::-1].reshape(4, 5).T ** 2, point(20), 1),
    "choice by constants": (
        lambda x: jnp.where(np.arange(20) % 2 == 0, x, jnp.roll(x, 1)) ** 2,
        point(20),
        2,
    ),
    "scan": (cumulative_scan, point(15), 2),
    "loop with indices": (counted_loop, point(9), 2),
    "branches": (chosen, point(12), 2),
    "compiled function": (compiled, point(12), 2),
    "custom derivative": (straight_through, point(12), 1),
    "batched products": (
        lambda x: x.reshape(4, 2, 3) @ x.reshape(4, 3, 2),
        point(24),
        6,
    ),
    "batched solutions": (solve_each, point(20), 4),
    "map": (lambda x: lax.map(lambda row: jnp.cumsum(row) ** 2, x.reshape(6, 3)), point(18), 3),
    "few results": (lambda x: x.reshape(2, 15).sum(axis=1) ** 2, point(30), 1),
    "unknown indices": (lambda x: jnp.sort(x) * 2, point(6), 6),
    "unused argument": (lambda x: jnp.ones(4) * 2, point(6), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_to_the_dense_jacobian(name):
    fun, x, most = CASES[name]
    made = plan(fun, x)
    assert made.colors <= most
    dense = np.asarray(autodiff.jacfwd(fun)(x))
    np.testing.assert_allclose(np.asarray(made(x).todense()), dense, rtol=1e-12, atol=1e-13)
    flat = dense.reshape(made.shape)
    assert not np.any(flat[made.pattern.toarray() == 0])


# Cases whose programs have loops, branches, solutions or long contractions.
BY_PRODUCTS = {
    *("scan", "loop with indices", "branches", "batched solutions", "map"),
    "unknown indices",
}
MORE_CASES = {
    "sum over rows": (lambda x: x.sum(axis=1) * x[:, 0], point(5, 40)),
    "mean of few": (lambda x: x - x.mean(axis=1, keepdims=True) ** 2, point(6, 3)),
    "padding inside": (lambda x: lax.pad(x, 0.0, [(-1, 2, 1)]) ** 2, point(9)),
    "repeated rows": (lambda x: jnp.repeat(x, 3) * jnp.tile(x, 3), point(7)),
    "repeated sums": (lambda x: jnp.repeat(x.reshape(2, 40).sum(axis=1), 2), point(80)),
    "choice by values": (lambda x: jnp.where(x > 1, x**2, jnp.roll(x, 1)), point(11)),
    "indices out of bounds": (
        lambda x: x.at[np.array([0, 9, 2])].get(mode="fill", fill_value=0) ** 2,
        point(5),
    ),
    "repeated indices": (lambda x: jnp.zeros(3).at[np.array([0, 1, 0, 7])].add(x**2), point(4)),
    "several results": (lambda x: (x[:3] ** 2, {"a": x[::-1] * x}), point(6)),
    "stacks and splits": (lambda x: jnp.stack(jnp.split(x**2, 3))[1:], point(9)),
    "two channels": (
        lambda x: lax.conv(x**2, np.arange(36.0).reshape(2, 2, 3, 3), (2, 1), "VALID"),
        point(2, 2, 6, 5),
    ),
    "windows of two dimensions": (
        lambda x: lax.reduce_window(x**2, 0.0, lax.add, (2, 3), (1, 2), "SAME"),
        point(4, 6),
    ),
    "zero weights": (lambda x: jnp.dot(np.diag([1.0, 0, 2]), x.reshape(3, 4)) ** 2, point(12)),
    "quotient": (lambda x: x[1:] / (1 + x[:-1]), point(8)),
    "single precision inside": (lambda x: x.astype(np.float32) ** 2, point(5)),
    "constant of zero": (lambda x: x[1:] * np.array([1.0, 0, 2]), point(4)),
    "scalars": (lambda x: x**2, point()),
    "no elements": (lambda x: x[:0], point(3)),
}


@pytest.mark.parametrize("name", [*CASES, *MORE_CASES])
def test_terms_and_products_give_the_same_entries(name):
    fun, x, *_ = (CASES | MORE_CASES)[name]
    made = plan(fun, x)
    assert made.evaluation == ("products" if name in BY_PRODUCTS else "terms")
    by_products = made._products.entries([x], [])
    np.testing.assert_allclose(made._entries([x], []), by_products, rtol=1e-6, atol=1e-12)
    dense = autodiff.jacfwd(fun)(x)
    pytrees.tree_map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12),
        made(x, format="dense"),
        dense,
    )


def test_long_programs_are_evaluated_by_products():
    def fun(x):
        for _ in range(20):
            x = jnp.sin(x[1:-1] * x[2:] - x[:-2])
        return x

    made = plan(fun, point(100))
    assert made.evaluation == "products"
    assert plan(lambda x: fun(x)[:0], point(100)).pattern.nnz == 0


def test_other_arguments_of_new_types():
    def fun(x, y):
        return x[1:] * y + x[:-1]

    x = point(5)
    made = plan(fun, x, 2.0)
    assert made.evaluation == "terms"
    for y in (3.0, np.float32(3), point(4)):
        np.testing.assert_allclose(made(x, y).todense(), autodiff.jacfwd(fun)(x, y), rtol=1e-6)


def test_entries_are_computed_without_products():
    x = point(1000)
    text = str(make_olympuspr(lambda x: plan(neighbors, x)(x).data)(x))
    assert "gather" not in text
    assert "f64[3,1000]" not in text


@pytest.mark.parametrize("name", ["tridiagonal", "arrow", "grid in two dimensions", "few results"])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_each_mode_gives_the_dense_jacobian(name, mode):
    fun, x, _ = CASES[name]
    made = plan(fun, x, mode=mode)
    assert (made.vjps if mode == "forward" else made.jvps) == 0
    np.testing.assert_allclose(
        np.asarray(made(x).todense()), np.asarray(autodiff.jacrev(fun)(x)), rtol=1e-12
    )


def test_custom_vjp_is_differentiated_in_reverse_mode():
    fun = autodiff.custom_vjp(lambda x: x**2)
    fun.defvjp(lambda x: (x**2, x), lambda x, ct: (5.0 * x * ct,))
    x = point(6)
    out = sparse_jacobian(fun, mode="reverse", format="scipy")(x)
    np.testing.assert_allclose(out.toarray(), np.diag(5 * x))


HESSIANS = {
    "chain": (lambda x: jnp.sum(jnp.diff(x) ** 3), point(20), 3),
    "Rosenbrock": (
        lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        point(20),
        3,
    ),
    "arrow": (lambda x: jnp.sum(x[0] * x[1:] ** 2), point(20), 2),
    "separable": (lambda x: jnp.sum(x**4), point(20), 1),
    "grid": (
        lambda u: jnp.sum(jnp.diff(u, axis=0) ** 4) + jnp.sum(jnp.diff(u) ** 4),
        point(5, 5),
        6,
    ),
    "elements": (lambda u: jnp.sum(jnp.prod(u[TRIANGLES], axis=1)), point(30), 9),
    "dense": (lambda x: jnp.sum(x) ** 3, point(7), 7),
    "linear": (lambda x: jnp.sum(x), point(7), 1),
}


@pytest.mark.parametrize("name", HESSIANS)
def test_equal_to_the_dense_hessian(name):
    fun, x, most = HESSIANS[name]
    made = plan(fun, x, kind="hessian")
    assert made.colors <= most
    dense = np.asarray(autodiff.hessian(fun)(x))
    np.testing.assert_allclose(np.asarray(made(x).todense()), dense, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.asarray(sparse_hessian(fun)(x).todense()), dense, atol=1e-10)


# The numbers of products that an acyclic coloring takes.
ACYCLIC = {
    **{"chain": 2, "Rosenbrock": 2, "arrow": 2, "separable": 1, "grid": 4},
    **{"elements": 8, "dense": 7, "linear": 1},
}


@pytest.mark.parametrize("name", HESSIANS)
def test_recovery_by_substitution(name):
    fun, x, _ = HESSIANS[name]
    made = plan(fun, x, kind="hessian", coloring="acyclic")
    assert made.colors <= ACYCLIC[name]
    dense = np.asarray(autodiff.hessian(fun)(x))
    np.testing.assert_allclose(np.asarray(made(x).todense()), dense, rtol=1e-10, atol=1e-11)
    found = jit(lambda x: sparse_hessian(fun, coloring="acyclic")(x).todense())(x)
    np.testing.assert_allclose(np.asarray(found), dense, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("density", [0.03, 0.1, 0.3])
def test_acyclic_colorings_have_no_cycle_of_two_colors(density):
    pattern = scipy.sparse.random(60, 60, density, random_state=1, format="csr")
    pattern = (pattern + pattern.T + scipy.sparse.eye_array(60)).astype(bool).tocsr()
    pattern.sort_indices()
    colors = color_acyclic(pattern)
    rows, columns = (
        part[pattern.nonzero()[0] != pattern.nonzero()[1]] for part in pattern.nonzero()
    )
    assert (colors[rows] != colors[columns]).all()
    assert colors.max() <= color_symmetric(pattern).max()
    for first in range(colors.max() + 1):
        for second in range(first):
            kept = np.flatnonzero((colors == first) | (colors == second))
            part = pattern[kept][:, kept]
            trees, _ = scipy.sparse.csgraph.connected_components(part, directed=False)
            edges = (part.nnz - kept.size) // 2
            assert edges == kept.size - trees  # a forest


def test_an_unknown_coloring():
    with pytest.raises(
        ValueError, match=r"`coloring` must be one of 'star', 'acyclic', got 'tree'"
    ):
        plan(lambda x: jnp.sum(x), point(3), kind="hessian", coloring="tree")
    with pytest.raises(ValueError, match="`coloring` must be one of"):
        sparse_hessian(lambda x: jnp.sum(x), coloring="tree")


def test_a_long_scan_unites_its_carry():
    x = point(9000)
    fun = lambda x: lax.map(lambda a: jnp.sin(a) * a + a**2, x)  # noqa: E731
    assert plan(fun, x).colors == 1
    shifted = lambda x: lax.scan(lambda c, a: (c, a * jnp.sin(a) * jnp.cos(c)), x[0], x)[1]  # noqa: E731
    made = plan(shifted, x)
    assert made.colors == 2
    assert made.pattern.nnz == 2 * 9000 - 1


def test_large_tridiagonal_matrix():
    made = plan(neighbors, ShapeDtypeStruct((100_000,), np.float64))
    assert (made.jvps, made.vjps, made.pattern.nnz) == (3, 0, 3 * 99_998)


def test_matrices_of_a_plan_share_their_indices():
    made = plan(neighbors, point(9))
    first, second = made(point(9)), made(point(9))
    assert first.indices is second.indices
    matrix = made(point(9), format="scipy")
    matrix.indices[:] = 0
    assert made(point(9), format="scipy").indices.max() > 0


def test_formats_hold_the_same_matrix():
    x = point(8)
    dense = np.asarray(autodiff.jacfwd(neighbors)(x))
    types = {"bcoo": BCOO, "csr": CSR, "bcsr": BCSR, "scipy": scipy.sparse.csr_array}
    for name, expected in types.items():
        out = sparse_jacobian(neighbors, format=name)(x)
        assert isinstance(out, expected)
        np.testing.assert_allclose(np.asarray(out.todense()), dense)
    np.testing.assert_allclose(np.asarray(sparse_jacobian(neighbors, format="dense")(x)), dense)


def test_plans_can_be_transformed():
    x = point(3, 8)
    made = plan(neighbors, x[0])
    dense = autodiff.jacfwd(neighbors)
    np.testing.assert_allclose(
        np.asarray(jit(lambda x: made(x).todense())(x[0])), np.asarray(dense(x[0]))
    )
    mapped = vmap(lambda x: made(x).todense())(x)
    np.testing.assert_allclose(np.asarray(mapped), np.asarray(vmap(dense)(x)))
    grown = autodiff.grad(lambda x: jnp.sum(made(x).data ** 2))(x[0])
    expected = autodiff.grad(lambda x: jnp.sum(dense(x) ** 2))(x[0])
    np.testing.assert_allclose(np.asarray(grown), np.asarray(expected), rtol=1e-12)
    planned_inside = jit(lambda x: sparse_jacobian(neighbors)(x).todense())(x[0])
    np.testing.assert_allclose(np.asarray(planned_inside), np.asarray(dense(x[0])))


def test_trees_and_other_arguments():
    def fun(scale, tree):
        return {"product": scale * tree["a"][:, None] * tree["b"], "sum": tree["a"] + 1.0}

    tree = {"a": point(3), "b": point(3, 2)}
    out = sparse_jacobian(fun, argnums=1)(2.0, tree)
    dense = autodiff.jacfwd(fun, argnums=1)(2.0, tree)
    for result in ("product", "sum"):
        for name in ("a", "b"):
            np.testing.assert_allclose(
                np.asarray(out[result][name].todense()), np.asarray(dense[result][name])
            )
    assert plan(fun, 2.0, tree, argnums=1).colors == 2


def test_function_is_traced_once_for_its_types():
    calls = []

    def fun(x):
        calls.append(x.shape)
        return jnp.diff(x)

    jacobian = sparse_jacobian(fun)
    jacobian(point(5))
    first = len(calls)
    jacobian(point(5))
    sparse_jacobian(fun, format="csr")(point(5))
    assert len(calls) == first
    jacobian(point(6))
    assert len(calls) > first


def test_colorings_of_random_patterns():
    generator = np.random.default_rng(1)
    for size in (1, 5, 40):
        for density in (0.02, 0.1, 0.5):
            dense = generator.random((size, size)) < density
            pattern = scipy.sparse.csr_array(dense)
            colors = color_columns(pattern)
            for row in dense:
                assert len(set(colors[row])) == row.sum()
            symmetric = scipy.sparse.csr_array(dense | dense.T | np.eye(size, dtype=bool))
            colors = color_symmetric(symmetric)
            assert recovery_of_symmetric(symmetric, colors)[2].all()
            assert colors.max() <= color_columns(symmetric).max()


def test_invalid_options_raise():
    with pytest.raises(ValueError, match="`format` must be one of 'bcoo'"):
        sparse_jacobian(neighbors, format="coo")
    with pytest.raises(ValueError, match="`mode` must be one of 'auto'"):
        sparse_jacobian(neighbors, mode="both")
    with pytest.raises(ValueError, match="`kind` must be"):
        plan(neighbors, point(4), kind="gradient")
    with pytest.raises(TypeError, match=r"real floating-point numbers, got .*int64\[4\]"):
        sparse_jacobian(neighbors)(np.arange(4))
    with pytest.raises(ValueError, match="make another plan"):
        plan(neighbors, point(4))(point(5))
    with pytest.raises(TypeError, match="traced function"):
        jit(lambda x: sparse_jacobian(neighbors, format="scipy")(x).data)(point(4))
