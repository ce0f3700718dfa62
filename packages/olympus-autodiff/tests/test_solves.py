# SPDX-License-Identifier: Apache-2.0
"""Derivatives of linear solves and roots by implicit differentiation."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import custom_linear_solve, custom_root, grad, jvp, linear_transpose, vjp
from olympus_autodiff.custom.solves import FactoredSolve
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.settings import config
from olympus_testing import assert_close, check_grads, check_vmap

MATRIX = np.array([[3.0, 1.0, 0.5], [0.2, 2.0, 0.1], [0.3, 0.7, 4.0]])
VECTOR = np.array([1.0, -2.0, 0.5])


@pytest.fixture(autouse=True)
def _double_precision():
    with config.enable_x64(True):
        yield


def dot(matrix, vector):
    return lax.dot_general(matrix, vector, (((1,), (0,)), ((), ())))


def jacobi(matrix):
    """A solver for a diagonally dominant matrix, by iteration."""
    diagonal = np.diag(np.asarray(MATRIX))

    def solve(matvec, b):
        def refine(_, x):
            return lax.add(x, lax.div(lax.sub(b, matvec(x)), diagonal))

        return lax.while_loop(
            lambda carry: lax.lt(carry[0], 100),
            lambda carry: (lax.add(carry[0], 1), refine(carry[0], carry[1])),
            (0, lax.full_like(b, 0.0)),
        )[1]

    return solve


def solved(matrix, b):
    solve = jacobi(matrix)
    return custom_linear_solve(lambda x: dot(matrix, x), b, solve, solve)


def test_solutions_equal_numpy():
    assert_close(solved(MATRIX, VECTOR), np.linalg.solve(MATRIX, VECTOR), rtol=1e-9)


def test_derivatives_of_linear_solves():
    """A while loop has no reverse derivative; the solution has."""
    check_grads(solved, (MATRIX, VECTOR), order=2, jvp=jvp, vjp=vjp, rtol=1e-4)


def test_batches_equal_a_loop():
    examples = [(MATRIX + 0.1 * i, VECTOR * (i + 1)) for i in range(3)]
    check_vmap(solved, examples, vmap=vmap, rtol=1e-9)


def test_gradients_of_batches():
    right_hand_sides = np.stack([VECTOR, 2 * VECTOR])
    batched = grad(lambda b: lax.reduce_sum(vmap(lambda b: solved(MATRIX, b))(b), (0, 1)))
    expected = np.linalg.solve(MATRIX.T, np.ones(3))
    assert_close(batched(right_hand_sides), np.stack([expected, expected]), rtol=1e-9)


def test_compiled_solutions_equal_eager_ones():
    assert_close(jit(solved)(MATRIX, VECTOR), solved(MATRIX, VECTOR))


def test_symmetric_solves_need_no_transposed_solver():
    matrix = MATRIX + MATRIX.T

    def symmetric(b):
        return custom_linear_solve(
            lambda x: dot(matrix, x),
            b,
            lambda matvec, b: dot(np.linalg.inv(matrix), b),
            symmetric=True,
        )

    check_grads(symmetric, (VECTOR,), order=2, jvp=jvp, vjp=vjp)
    (transposed,) = linear_transpose(symmetric, VECTOR)(VECTOR)
    assert_close(transposed, symmetric(VECTOR))


def test_pytrees_and_auxiliary_results():
    def fun(b):
        def solve(matvec, b):
            return {name: lax.div(value, 2.0) for name, value in b.items()}, 7

        return custom_linear_solve(
            lambda x: {name: lax.mul(2.0, value) for name, value in x.items()},
            b,
            solve,
            symmetric=True,
            has_aux=True,
        )

    x, aux = fun({"u": VECTOR, "v": 2.0})
    assert_close(x, {"u": VECTOR / 2, "v": np.float64(1.0)})
    assert aux == 7
    (gradient,) = vjp(lambda b: fun(b)[0], {"u": VECTOR, "v": 2.0})[1](x)
    assert_close(gradient, {"u": VECTOR / 4, "v": np.float64(0.5)})
    with pytest.raises(NotImplementedError, match="auxiliary results"):
        linear_transpose(
            lambda b: custom_linear_solve(
                lambda x: x, b, lambda m, b: (b, b), symmetric=True, has_aux=True
            ),
            VECTOR,
        )((VECTOR, VECTOR))


def test_the_primitive_shows_its_programs():
    text = str(make_olympuspr(solved)(MATRIX, VECTOR))
    assert "custom_linear_solve[" in text
    assert "const_lengths=_LinearSolveTuple(matvec=1, vecmat=1, solve=" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((lambda x: lax.slice(x, (0,), (2,)), VECTOR, lambda m, b: b), r"matvec\(\) output shapes"),
        (
            (lambda x: x, VECTOR, lambda m, b: (b, b)),
            r"solve\(\) output pytree structure must match b",
        ),
        (
            (lambda x: x, VECTOR, lambda m, b: b, lambda m, b: (b, b)),
            r"transpose_solve\(\) output pytree structure must match",
        ),
        ((lambda x: x, VECTOR, lambda m, b: b, None, False, True), "must return a pair"),
    ],
)
def test_inconsistent_linear_solve_functions_raise(arguments, message):
    error = TypeError if "structure" in message else ValueError
    with pytest.raises(error, match=message):
        custom_linear_solve(*arguments)


def test_reverse_mode_needs_a_transposed_solver():
    def fun(b):
        return lax.reduce_sum(custom_linear_solve(lambda x: x, b, lambda m, b: b), (0,))

    with pytest.raises(TypeError, match="transpose_solve required"):
        grad(fun)(VECTOR)


# ---- roots ----


def newton(f, x):
    def step(carry):
        count, x = carry
        value, slope = jvp(f, (x,), (lax.full_like(x, 1.0),))
        return lax.add(count, 1), lax.sub(x, lax.div(value, slope))

    return lax.while_loop(lambda carry: lax.lt(carry[0], 30), step, (0, x))[1]


def cube_root(a):
    return custom_root(
        lambda x: lax.sub(lax.integer_pow(x, 3), a),
        lax.full_like(a, 1.0),
        newton,
        lambda derivative, y: lax.div(y, derivative(lax.full_like(y, 1.0))),
    )


def test_a_root_and_its_derivatives():
    assert_close(cube_root(np.float64(8.0)), np.float64(2.0))
    check_grads(cube_root, (np.float64(8.0),), order=2, jvp=jvp, vjp=vjp)
    assert_close(jit(grad(cube_root))(np.float64(8.0)), np.float64(1 / 12))


def test_a_batch_of_roots():
    check_vmap(cube_root, [(np.float64(a),) for a in (1.0, 8.0, 27.0)], vmap=vmap)


def test_a_root_with_auxiliary_results():
    def fun(a):
        return custom_root(
            lambda x: lax.sub(lax.mul(x, x), a),
            1.0,
            lambda f, x: (newton(f, x), lax.mul(a, 2.0)),
            lambda derivative, y: lax.div(y, derivative(1.0)),
            has_aux=True,
        )

    (root, aux), (tangent, aux_tangent) = jvp(fun, (4.0,), (1.0,))
    assert_close([root, tangent, aux, aux_tangent], [2.0, 0.25, 8.0, 0.0], check_dtypes=False)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ((lambda x: (x, x), lambda f, x: x, lambda g, y: y), r"f\(\) output pytree structure"),
        ((lambda x: x, lambda f, x: (x, x), lambda g, y: y), r"solve\(\) output pytree structure"),
        ((lambda x: x, lambda f, x: x, lambda g, y: (y, y)), r"tangent_solve\(\) output pytree"),
    ],
)
def test_inconsistent_root_structures_raise(functions, message):
    f, solve, tangent_solve = functions
    with pytest.raises(TypeError, match=message):
        custom_root(f, VECTOR, solve, tangent_solve)


# ---- factored matrices ----


def substitute(transposed):
    def solve(factor, b):
        column = lax.expand_dims(b, (1,))
        options = {"left_side": True, "lower": True, "transpose_a": transposed}
        return lax.squeeze(lax.linalg.triangular_solve(factor, column, **options), (1,))

    return solve


def test_factor_based_solve_is_differentiated_through_matrix():
    """The derivatives go through the matrix; the factors have none."""
    factored = FactoredSolve(dot, substitute(False), substitute(True))

    def solve(matrix, b):
        return factored(matrix, (lax.stop_gradient(matrix),), b)

    lower = np.tril(MATRIX)
    assert_close(solve(lower, VECTOR), np.linalg.solve(lower, VECTOR), rtol=1e-9)
    actual = vjp(solve, lower, VECTOR)[1](np.ones(3))
    expected_b = np.linalg.solve(lower.T, np.ones(3))
    assert_close(actual[1], expected_b, rtol=1e-9)
    assert_close(actual[0], -np.outer(expected_b, solve(lower, VECTOR)), rtol=1e-9)
    assert_close(
        vmap(solve, in_axes=(None, 0))(lower, np.stack([VECTOR, 2 * VECTOR]))[1],
        2 * np.linalg.solve(lower, VECTOR),
        rtol=1e-9,
    )
