# SPDX-License-Identifier: Apache-2.0
"""Functions of dense arrays on sparse arrays: operations, calls, control flow, derivative rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sparse_layouts import dense, same, scattered

import olympus_numpy as jnp
from olympus_autodiff import checkpoint, custom_jvp, custom_vjp, grad, jvp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_sparse import BCOO, BCSR, SparseTracer, sparse_rules, sparsify, todense
from olympus_sparse import grad as sparse_grad

DENSE = dense((3, 4))
MATRIX = BCOO.fromdense(DENSE)
FACTOR = np.arange(12, dtype=np.float32).reshape(3, 4) + 1

both_ways = pytest.mark.parametrize("use_tracer", [False, True])

FUNCTIONS = {
    "abs": jnp.abs,
    "arcsin": lambda x: jnp.arcsin(x / 10),
    "cbrt": jnp.cbrt,
    "ceil": lambda x: jnp.ceil(x / 3),
    "round": lambda x: jnp.round(x / 3),
    "expm1": jnp.expm1,
    "log1p": lambda x: jnp.log1p(abs(x)),
    "sin": jnp.sin,
    "sqrt": lambda x: jnp.sqrt(abs(x)),
    "tanh": jnp.tanh,
    "sign": jnp.sign,
    "square": jnp.square,
    "erf": lax.erf,
    "power": lambda x: x**3,
    "relu": lambda x: jnp.maximum(x, 0),
    "clip": lambda x: jnp.clip(x, -1, 2),
    "conj": lambda x: jnp.conj(x * (1 + 1j)).imag,
    "astype": lambda x: x.astype(np.int32),
    "stop_gradient": lax.stop_gradient,
    "sum": jnp.sum,
    "mean": jnp.mean,
    "sum of rows": lambda x: x.sum(1),
    "norm": jnp.linalg.norm,
    "transpose": jnp.transpose,
    "reshape": lambda x: x.reshape(2, 6),
    "flip": jnp.flip,
    "roll": lambda x: jnp.roll(x, 1, axis=0),
    "concatenate": lambda x: jnp.concatenate([x, 2 * x]),
    "stack": lambda x: jnp.stack([x, -x], axis=1),
    "split": lambda x: jnp.split(x, 2, axis=1)[1],
    "pad": lambda x: jnp.pad(x, ((1, 2), (0, 3))),
    "index": lambda x: x[1],
    "slice": lambda x: x[1:, ::2],
    "gather": lambda x: x[np.array([2, 0])],
    "diagonal": jnp.diag,
    "scale": lambda x: x * 2 / 3,
    "times dense": lambda x: x * FACTOR,
    "over dense": lambda x: x / FACTOR,
    "plus dense": lambda x: x + FACTOR,
    "minus dense": lambda x: FACTOR - x,
    "dot": lambda x: jnp.dot(x, FACTOR.T),
    "einsum": lambda x: jnp.einsum("ij,kj->ik", x, FACTOR),
    "itself": lambda x: x @ x.T,
    "twice": lambda x: x + x,
    "squared": lambda x: x * x,
    "difference": lambda x: x - 2 * x.T.T,
    "where": lambda x: jnp.where(FACTOR > 6, x, 0),
    "convolve": lambda x: jnp.convolve(x[0], x[1]),
    "closure": lambda x: MATRIX.todense() + x,
    "dense in": todense,
}


@both_ways
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_equal_those_of_dense_arrays(name, use_tracer):
    fun = FUNCTIONS[name]
    same(sparsify(fun, use_tracer=use_tracer)(MATRIX), np.asarray(fun(DENSE)))
    repeated, expected = scattered((3, 4), nse=9)
    same(sparsify(fun, use_tracer=use_tracer)(repeated), np.asarray(fun(expected)))


@pytest.mark.parametrize("name", ["sin", "sum", "index", "itself", "times dense", "pad", "clip"])
def test_functions_are_compiled(name):
    fun = FUNCTIONS[name]
    same(jit(sparsify(fun))(MATRIX), np.asarray(fun(DENSE)))
    same(sparsify(jit(fun))(MATRIX), np.asarray(fun(DENSE)))


def test_dense_arguments_are_kept_dense():
    assert not isinstance(sparsify(jnp.cos)(DENSE), BCOO)
    same(sparsify(jnp.cos)(DENSE), np.cos(DENSE))


def test_trees_of_arguments_and_results():
    out = sparsify(lambda x, y=1: {"a": x["b"] * y, "c": (x["b"].sum(), 1)})({"b": MATRIX}, y=2)
    same(out["a"], 2 * DENSE)
    same(out["c"][0], DENSE.sum())
    assert out["c"][1] == 1


def test_dtypes_are_options():
    for dtype in (jnp.bfloat16, np.dtype(np.float16)):
        out = sparsify(jnp.concatenate)([MATRIX, MATRIX], dtype=dtype)
        assert out.dtype == dtype
        same(out, np.concatenate([DENSE, DENSE]).astype(dtype))


@pytest.mark.parametrize("fun", [jnp.cos, jnp.exp, lambda x: x == 0, lambda x: jnp.maximum(x, 1)])
def test_dense_results_are_refused(fun):
    with pytest.raises(NotImplementedError, match="would result in dense output"):
        sparsify(fun)(MATRIX)


def test_missing_rules_are_named():
    with pytest.raises(NotImplementedError, match=r"sparse rule for sort is not implemented\."):
        sparsify(jnp.sort)(MATRIX)
    with pytest.raises(NotImplementedError, match="Division by a sparse array"):
        sparsify(lambda x: 1 / x)(MATRIX)
    with pytest.raises(ValueError, match="expected operands to be a sequence of BCOO"):
        sparsify(lambda x: jnp.concatenate([x, DENSE]))(MATRIX)


def test_equal_indices_are_shared():
    assert sparsify(lambda x: x + x)(MATRIX).nse == MATRIX.nse
    assert sparsify(lambda x: x * jnp.sin(x))(MATRIX).nse == MATRIX.nse
    assert sparsify(lambda x, y: x + y)(MATRIX, MATRIX).nse == 2 * MATRIX.nse
    # Values with equal coordinates must be summed before they are multiplied.
    repeated, expected = scattered((3, 4), nse=9)
    same(sparsify(lambda x: x * x)(repeated), expected**2)


def test_programs_have_no_dense_operations():
    text = str(make_olympuspr(sparsify(lambda x: jnp.sin(x) @ FACTOR.T))(MATRIX))
    assert "bcoo_dot_general" in text and "sin" in text and "todense" not in text


# ---- calls, branches, loops ----


def test_calls_are_followed():
    @jit
    def inner(x):
        return jnp.sin(x) * 2

    same(sparsify(lambda x: inner(x) + inner(-x))(MATRIX), 0 * DENSE)
    same(sparsify(checkpoint(inner))(MATRIX), 2 * np.sin(DENSE))
    same(sparsify(lax.optimization_barrier)(MATRIX), DENSE)
    batched = BCOO.fromdense(dense((2, 3, 4)), n_batch=1)
    same(sparsify(vmap(lambda x: x * 2))(batched), 2 * dense((2, 3, 4)))


@pytest.mark.parametrize("index", [0, 1, 2])
def test_branches_are_followed(index):
    branches = [lambda x: x * 2, lambda x: -x, lambda x: x]
    out = sparsify(lambda x: lax.switch(index, branches, x))(MATRIX)
    assert isinstance(out, BCOO) and out.unique_indices
    same(out, branches[index](DENSE))
    same(
        jit(sparsify(lambda i, x: lax.switch(i, branches, x)))(index, MATRIX),
        branches[index](DENSE),
    )


def test_branches_with_entries_in_different_order():
    out = sparsify(lambda p, x: lax.cond(p, jnp.flip, lambda x: x, x))(True, MATRIX)
    assert not out.indices_sorted
    same(out, np.flip(DENSE))


def test_branches_with_dense_results():
    out = sparsify(lambda p, x: lax.cond(p, lambda x: x + FACTOR, lambda x: x, x))(False, MATRIX)
    same(out, DENSE)


def test_branches_with_different_numbers_of_entries():
    with pytest.raises(TypeError, match="must have equal"):
        sparsify(lambda p, x: lax.cond(p, lambda x: x + x.T.T, lambda x: x, x))(True, MATRIX)


def test_loops_are_followed():
    fun = lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x)  # noqa: E731
    same(sparsify(fun)(MATRIX), 8 * DENSE)
    fun = lambda x: lax.while_loop(lambda c: c[1].sum() < 100, lambda c: (c[0] + 1, c[1] * 2),  # noqa: E731
                                   (0, abs(x)))  # fmt: skip
    count, out = sparsify(fun)(MATRIX)
    expected_count, expected = fun(DENSE)
    assert count == expected_count
    same(out, expected)


def test_carries_reach_a_fixed_sparsity():
    # Entries are known to be sorted before the loop, but not after a step.
    out = sparsify(lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.flip(c), x))(MATRIX)
    same(out, np.flip(DENSE))
    # A carry that becomes dense is converted before the loop.
    out = sparsify(lambda x: lax.fori_loop(0, 3, lambda i, c: c + FACTOR, x))(MATRIX)
    same(out, DENSE + 3 * FACTOR)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n_batch", [0, 1])
def test_scans_are_followed(reverse, n_batch):
    rows = BCOO.fromdense(DENSE, n_batch=n_batch)

    def fun(x: Any, y: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            return carry * 2, (row * 3, carry.sum() + row.sum())

        return lax.scan(step, x, y, reverse=reverse)

    carry, (stacked, sums) = sparsify(fun)(MATRIX, rows)
    expected = fun(DENSE, DENSE)
    same(carry, expected[0])
    assert isinstance(stacked, BCOO)
    same(stacked, expected[1][0])
    same(sums, expected[1][1])


def test_scans_without_slices():
    fun = lambda x: lax.scan(lambda c, _: (c * 2, c.sum()), x, None, length=3)  # noqa: E731
    carry, sums = sparsify(fun)(MATRIX)
    same(carry, 8 * DENSE)
    same(sums, [DENSE.sum(), 2 * DENSE.sum(), 4 * DENSE.sum()])


# ---- derivatives ----


@custom_jvp
def doubled(x: Any) -> Any:
    return 2 * x


doubled.defjvp(lambda primals, tangents: (doubled(*primals), 5 * tangents[0]))


def test_rules_for_tangents_are_kept():
    same(sparsify(doubled)(MATRIX), 2 * DENSE)
    gradient = sparse_grad(lambda x: sparsify(lambda y: doubled(y).sum())(x))(MATRIX)
    same(gradient, np.where(DENSE != 0, 5, 0))


def test_rules_for_cotangents():
    @custom_vjp
    def fun(x):
        return 2 * x

    fun.defvjp(lambda x: (fun(x), None), lambda residual, g: (5 * g,))
    same(sparsify(fun)(MATRIX), 2 * DENSE)


def test_derivatives_inside_are_followed():
    ones = np.ones((4, 2), np.float32)
    out = sparsify(grad(lambda x: ((x @ ones) ** 2).sum()))(MATRIX)
    same(out, grad(lambda x: ((x @ ones) ** 2).sum())(DENSE))
    primal, tangent = sparsify(lambda x: jvp(lambda y: y @ ones, (x,), (2 * x,)))(MATRIX)
    same(primal, DENSE @ ones)
    same(tangent, 2 * DENSE @ ones)


# ---- compressed rows; tracers; user-defined rules ----


@pytest.mark.parametrize(
    "fun", [lambda x: x * 2, jnp.sin, lambda x: x @ FACTOR.T, lambda x: x[0], jnp.negative]
)
def test_compressed_rows_are_followed(fun):
    out = sparsify(fun)(BCSR.fromdense(DENSE))
    same(out.todense() if isinstance(out, BCSR) else out, np.asarray(fun(DENSE)))


def test_tracers_are_arrays():
    seen = []

    def fun(x):
        seen.append(x)
        return x.T * 2

    same(sparsify(fun, use_tracer=True)(MATRIX), 2 * DENSE.T)
    (tracer,) = seen
    assert isinstance(tracer, SparseTracer)
    assert (tracer.shape, tracer.dtype, tracer.ndim) == ((3, 4), np.float32, 2)
    assert tracer.full_lower() is tracer


def test_rules_can_be_added():
    assert lax.sort_p not in sparse_rules
    sparse_rules.define(lax.sort_p, lambda x, **params: [x])
    try:
        same(sparsify(jnp.sort)(MATRIX), DENSE)
    finally:
        sparse_rules.pop(lax.sort_p)
