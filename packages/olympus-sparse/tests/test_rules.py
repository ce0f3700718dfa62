# SPDX-License-Identifier: Apache-2.0
"""Rules of every primitive: derivatives against finite differences, batches against loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from sparse_layouts import dense, scattered

from olympus_autodiff import grad, jvp, jvp_rules, linear_transpose, transpose_rules, vjp
from olympus_batching import batching_rules, vmap
from olympus_ir import lax
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.trees.pytrees import tree_structure
from olympus_sparse import (
    BCSR,
    COO,
    CSR,
    SparseInfo,
    bcoo_dot_general_p,
    bcoo_dot_general_sampled_p,
    bcoo_extract_p,
    bcoo_fromdense_p,
    bcoo_sort_indices_p,
    bcoo_spdot_general_p,
    bcoo_sum_duplicates_p,
    bcoo_todense_p,
    bcoo_transpose_p,
    bcsr_dot_general_p,
    bcsr_extract_p,
    bcsr_fromdense_p,
    bcsr_todense_p,
    coo_fromdense_p,
    coo_matmat_p,
    coo_matvec_p,
    coo_todense_p,
    csr_fromdense_p,
    csr_matmat_p,
    csr_matvec_p,
    csr_todense_p,
    todense_p,
)
from olympus_sparse.core.primitives import sparse_primitives
from olympus_sparse.linalg import spsolve_p
from olympus_testing import assert_complete, check_grads, check_vmap


class Sample(NamedTuple):
    """Sample of a primitive: a function from seeds to operands, and parameters."""

    primitive: Any
    operands: Callable[[int], tuple]
    params: dict[str, Any]
    # The operands with respect to which to differentiate.
    smooth: tuple[int, ...]


def numbers(contract: Any, batch: Any = ((), ())) -> Any:
    return (contract, batch)


def of_coordinates(n_batch: int, n_dense: int, shape: Any = (2, 3, 4), **options: Any) -> Any:
    def operands(seed: int) -> tuple:
        return scattered(shape, n_batch, n_dense, seed=seed, **options)[0]._bufs

    return operands


def with_dense(buffers: Any, *shapes: Any) -> Any:
    def operands(seed: int) -> tuple:
        generator = np.random.default_rng(seed)
        rest = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
        return (*buffers(seed), *rest)

    return operands


def rearranged(operands: Any, *order: int) -> Any:
    return lambda seed: tuple(operands(seed)[place] for place in order)


def of_matrix(kind: Any, shape: Any = (3, 4)) -> Any:
    return lambda seed: kind.fromdense(dense(shape, seed), nse=8)._bufs


def solvable(seed: int) -> tuple:
    # No element is zero, so that the coordinates of entries are the same for all seeds.
    matrix = dense((4, 4), seed) + 9 * np.eye(4, dtype=np.float32) + 0.5
    b = np.random.default_rng(seed).standard_normal(4).astype(np.float32)
    return (*CSR.fromdense(matrix, nse=16)._bufs, b)


def samples() -> Iterator[Sample]:
    info = SparseInfo((2, 3, 4))
    for n_batch, n_dense in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2)):
        buffers = of_coordinates(n_batch, n_dense)
        yield Sample(bcoo_todense_p, buffers, {"spinfo": info}, (0,))
        params = {"nse": 5, "n_batch": n_batch, "n_dense": n_dense, "index_dtype": np.dtype("i4")}
        yield Sample(bcoo_fromdense_p, lambda seed: (dense((2, 3, 4), seed),), params, (0,))
        for unique in (True, False):
            places = rearranged(with_dense(buffers, (2, 3, 4)), 1, 2)
            yield Sample(bcoo_extract_p, places, {"assume_unique": unique}, (1,))
        yield Sample(bcoo_sort_indices_p, buffers, {"spinfo": info}, (0,))
        for nse in (3, 7):
            yield Sample(bcoo_sum_duplicates_p, buffers, {"spinfo": info, "nse": nse}, (0,))
        for pairs in (
            numbers(((2,), (1,))),
            numbers(((1, 2), (0, 1))),
            numbers(((0,), (2,))),
            numbers(((2,), (1,)), ((0,), (2,))),
            numbers(((), ()), ((1, 0), (0, 2))),
        ):
            yield Sample(
                bcoo_dot_general_p,
                with_dense(buffers, (3, 4, 2)),
                {
                    "dimension_numbers": pairs,
                    "preferred_element_type": np.dtype("f4"),
                    "lhs_spinfo": info,
                },
                (0, 2),
            )
    yield Sample(
        bcoo_transpose_p,
        of_coordinates(1, 0),
        {"permutation": (0, 2, 1), "spinfo": info},
        (0,),
    )
    yield Sample(
        bcoo_transpose_p,
        of_coordinates(0, 2),
        {"permutation": (0, 2, 1), "spinfo": info},
        (0,),
    )
    yield Sample(
        bcoo_dot_general_sampled_p,
        lambda seed: (
            *with_dense(lambda _: (), (2, 3, 4), (2, 4, 5))(seed),
            np.random.default_rng(seed).integers(0, 4, (2, 6, 2)).astype(np.int32),
        ),
        {"dimension_numbers": numbers(((2,), (1,)), ((0,), (0,)))},
        (0, 1),
    )
    for lhs_batch, rhs_batch, pairs in (
        (0, 0, numbers(((2,), (1,)))),
        (1, 1, numbers(((2,), (1,)), ((0,), (0,)))),
        (1, 0, numbers(((2,), (1,)))),
    ):
        one, two = of_coordinates(lhs_batch, 0), of_coordinates(rhs_batch, 0, (2, 4, 3))
        yield Sample(
            bcoo_spdot_general_p,
            lambda seed, one=one, two=two: (*one(seed), *two(seed + 7)),
            {
                "dimension_numbers": pairs,
                "lhs_spinfo": info,
                "preferred_element_type": np.dtype("f4"),
                "rhs_spinfo": SparseInfo((2, 4, 3)),
            },
            (0, 2),
        )
    rows = of_matrix(BCSR)
    matrix = SparseInfo((3, 4))
    yield Sample(bcsr_todense_p, rows, {"spinfo": matrix}, (0,))
    options = {"nse": 8, "n_batch": 0, "n_dense": 0, "index_dtype": np.dtype("i4")}
    yield Sample(bcsr_fromdense_p, lambda seed: (dense((3, 4), seed),), options, (0,))
    yield Sample(bcsr_extract_p, rearranged(with_dense(rows, (3, 4)), 1, 2, 3), {}, (2,))
    yield Sample(
        bcsr_dot_general_p,
        with_dense(rows, (4, 2)),
        {
            "dimension_numbers": numbers(((1,), (0,))),
            "preferred_element_type": np.dtype("f4"),
            "lhs_spinfo": matrix,
        },
        (0, 3),
    )
    fromdense = {"nse": 8, "index_dtype": np.dtype("i4")}
    for kind, known, primitives in (
        (COO, None, (coo_todense_p, coo_fromdense_p, coo_matvec_p, coo_matmat_p)),
        (CSR, {"shape": (3, 4)}, (csr_todense_p, csr_fromdense_p, csr_matvec_p, csr_matmat_p)),
    ):
        buffers = of_matrix(kind)
        known = known or {"spinfo": COO.fromdense(np.zeros((3, 4)))._info}
        yield Sample(primitives[0], buffers, known, (0,))
        yield Sample(primitives[1], lambda seed: (dense((3, 4), seed),), fromdense, (0,))
        for transpose, size in ((False, 4), (True, 3)):
            params = {**known, "transpose": transpose}
            yield Sample(primitives[2], with_dense(buffers, (size,)), params, (0, 3))
            yield Sample(primitives[3], with_dense(buffers, (size, 2)), params, (0, 3))
    tree = tree_structure(COO.fromdense(dense((3, 4))))
    yield Sample(todense_p, of_matrix(COO), {"tree": tree}, (0,))
    yield Sample(spsolve_p, solvable, {"tol": 1e-6, "reorder": 1}, (0, 3))


SAMPLES = list(samples())


def identify(sample: Sample) -> str:
    shapes = [np.shape(operand) for operand in sample.operands(0)]
    return f"{sample.primitive.name}-{shapes}"


each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=identify)


def run(sample: Sample) -> Callable[..., Any]:
    return lambda *operands: sample.primitive.bind(*operands, **sample.params)


def test_samples_are_complete():
    assert {sample.primitive for sample in SAMPLES} == set(sparse_primitives)


@pytest.mark.parametrize(
    "table", [batching_rules, jvp_rules, expansion_rules], ids=lambda t: t.name
)
def test_rule_tables_are_complete(table):
    assert_complete(table, sparse_primitives)


def test_linear_primitives_are_transposed():
    assert_complete(transpose_rules, [each for each in sparse_primitives if each.linear_in])


@each_sample
def test_inferred_types_equal_those_of_results(sample):
    operands = sample.operands(0)
    closed = make_olympuspr(run(sample))(*operands)
    (equation,) = closed.jaxpr.eqns
    assert equation.primitive is sample.primitive
    out = run(sample)(*operands)
    results = out if sample.primitive.multiple_results else [out]
    for result, aval in zip(results, closed.out_avals, strict=True):
        assert (result.shape, result.dtype) == (aval.shape, aval.dtype)
    compiled = jit(run(sample))(*operands)
    compiled = compiled if sample.primitive.multiple_results else [compiled]
    for result, again in zip(results, compiled, strict=True):
        np.testing.assert_allclose(result, again, rtol=1e-5, atol=1e-5)


def smooth_part(sample: Sample, seed: int) -> tuple[Callable[..., Any], list[Any]]:
    """Returns the inexact result as a function of the smooth operands, and these operands."""
    operands = sample.operands(seed)

    def fun(*values: Any) -> Any:
        full = list(operands)
        for place, value in zip(sample.smooth, values, strict=True):
            full[place] = value
        out = run(sample)(*full)
        return out[0] if sample.primitive.multiple_results else out

    return fun, [np.asarray(operands[place]) for place in sample.smooth]


@each_sample
def test_derivatives_are_finite_differences(sample):
    fun, primals = smooth_part(sample, 1)
    if "fromdense" in sample.primitive.name:
        # The coordinates of entries must not change with the step.
        primals = [np.where(primals[0] == 0, 0, primals[0] + 0.5).astype(np.float32)]
        kept = primals[0] != 0
        inner = fun
        fun = lambda mat: inner(mat * kept)  # noqa: E731
    check_grads(fun, primals, jvp=jvp, vjp=vjp)


@each_sample
def test_each_linear_operand_is_transposed(sample):
    fun, primals = smooth_part(sample, 2)
    if not sample.primitive.linear_in:
        return
    for place, primal in enumerate(primals):
        if sample.smooth[place] not in sample.primitive.linear_in:
            continue

        def alone(value: Any, place: int = place) -> Any:
            return fun(*primals[:place], value, *primals[place + 1 :])

        out = np.asarray(alone(primal))
        cotangent = np.random.default_rng(0).standard_normal(out.shape).astype(np.float32)
        (back,) = linear_transpose(alone, primal)(cotangent)
        assert back.shape == primal.shape
        # <c, A x> = <A^T c, x>
        np.testing.assert_allclose(
            np.vdot(cotangent, out), np.vdot(np.asarray(back), primal), rtol=1e-4, atol=1e-4
        )


@each_sample
def test_batches_are_loops(sample):
    examples = [sample.operands(seed) for seed in range(3)]
    check_vmap(run(sample), examples, vmap=vmap, rtol=1e-5, atol=1e-5)


@each_sample
def test_derivatives_of_batches(sample):
    pieces = [smooth_part(sample, seed) for seed in (1, 1)]
    fun, _ = pieces[0]
    stacked = [
        np.stack([one, 2 * two]) for one, two in zip(pieces[0][1], pieces[1][1], strict=True)
    ]

    def scalar(*values: Any) -> Any:
        out = fun(*values)
        return lax.reduce_sum(out * out, tuple(range(out.ndim)))

    if "fromdense" in sample.primitive.name:
        return
    gradients = vmap(grad(scalar))(*stacked)
    for row in range(2):
        expected = grad(scalar)(*(each[row] for each in stacked))
        np.testing.assert_allclose(gradients[row], expected, rtol=1e-4, atol=1e-4)


def test_derivatives_of_products_are_sparse():
    buffers = of_coordinates(0, 0, (3, 4))(0)
    rhs = np.ones((4, 2), np.float32)
    params = {
        "dimension_numbers": numbers(((1,), (0,))),
        "preferred_element_type": np.dtype("f4"),
        "lhs_spinfo": SparseInfo((3, 4)),
    }

    def loss(data: Any) -> Any:
        out = bcoo_dot_general_p.bind(data, buffers[1], rhs, **params)
        return lax.reduce_sum(out, (0, 1))

    text = str(make_olympuspr(grad(loss))(buffers[0]))
    assert "bcoo_dot_general_sampled" in text
    assert "bcoo_todense" not in text
