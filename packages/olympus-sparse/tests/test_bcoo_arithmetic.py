# SPDX-License-Identifier: Apache-2.0
"""Comparison of arithmetic of BCOO in all layouts with that of the dense arrays."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sparse_layouts import dense, layouts, same, scattered

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_sparse import (
    BCOO,
    bcoo_conv_general_dilated,
    bcoo_dot_general,
    bcoo_dot_general_sampled,
    bcoo_extract,
    bcoo_fromdense,
    bcoo_multiply_dense,
    bcoo_multiply_sparse,
    bcoo_reduce_sum,
)

SHAPE = (2, 3, 4)
LAYOUTS = list(layouts(3))
ids = {"ids": str}


# ---- arithmetic ----


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
@pytest.mark.parametrize(
    "axes", [axes for n in range(4) for axes in itertools.combinations(range(3), n)], **ids
)
def test_sums_along_axes(n_batch, n_dense, shared, axes):
    mat, expected = scattered(SHAPE, n_batch, n_dense, shared=shared)
    same(bcoo_reduce_sum(mat, axes=axes), expected.sum(axes))
    if axes:
        same(mat.sum(axes), expected.sum(axes))
        same(mat.sum(axes, keepdims=True), expected.sum(axes, keepdims=True))


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
@pytest.mark.parametrize("shape", [(), (4,), (3, 1), (2, 1, 4), (2, 3, 4), (1, 1, 1)], **ids)
def test_products_with_dense_arrays(n_batch, n_dense, shared, shape):
    mat, expected = scattered(SHAPE, n_batch, n_dense, shared=shared)
    factor = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    same(mat._with_data(bcoo_multiply_dense(mat, factor)), expected * factor)
    same(mat * factor, expected * factor)
    same(jnp.asarray(factor) * mat, expected * factor)
    same(factor * mat, expected * factor)
    same(mat / (factor + 5), expected / (factor + 5))


@pytest.mark.parametrize("left", LAYOUTS, **ids)
@pytest.mark.parametrize("right", [(0, 0, (False, False)), (1, 1, (False, False))], **ids)
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 1, 4), (1, 3, 1)], **ids)
def test_products_of_sparse_arrays(left, right, shape):
    one, first = scattered(SHAPE, *left[:2], shared=left[2])
    two, second = scattered(shape, *right[:2], seed=1)
    same(bcoo_multiply_sparse(one, two), first * second)


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
def test_operators_equal_dense_ones(n_batch, n_dense, shared):
    mat, expected = scattered(SHAPE, n_batch, n_dense, shared=shared)
    same(-mat, -expected)
    same(+mat, expected)
    same(abs(mat), abs(expected))
    same(mat + mat, 2 * expected)
    same(mat - 3 * mat, -2 * expected)
    same(mat * mat, expected**2)
    same(mat**2, expected**2)
    same(mat / 2, expected / 2)
    same(mat + expected, 2 * expected)
    same(expected - mat, 0 * expected)
    same(mat - expected, 0 * expected)
    same(mat.astype(np.int32), expected.astype(np.int32))
    assert mat.astype(np.int32).dtype == np.int32


@pytest.mark.parametrize(
    "fun, message",
    [
        (lambda x: x + 1, "silent densification"),
        (lambda x: 1 / x, "Division by a sparse array"),
        (lambda x: x**0, "non-positive exponent 0"),
        (lambda x: x**-1, "non-positive exponent -1"),
        (lambda x: x == x, "rule for eq is not implemented because it would result in dense"),
        (lambda x: x < 1, "rule for lt is not implemented because it would result in dense"),
        (lambda x: x * np.ones((5, 3, 4)), "output shape matches the sparse matrix shape"),
    ],
)
def test_operations_with_dense_results_raise(fun, message):
    with pytest.raises(NotImplementedError, match=message):
        fun(scattered((3, 4))[0])


# ---- extraction ----


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
def test_extraction_takes_the_stored_positions(n_batch, n_dense, shared):
    mat, _ = scattered(SHAPE, n_batch, n_dense, nse=9, shared=shared)
    ones = mat._with_data(jnp.ones_like(mat.data))
    values = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    places = np.asarray(ones.todense()) != 0
    # Of entries with equal coordinates, the first has the value.
    same(bcoo_extract(mat, values, assume_unique=False), np.where(places, values, 0))
    all_of_them = bcoo_extract(mat, values, assume_unique=True)
    same(all_of_them, np.asarray(ones.todense()) * values)


def test_extraction_checks_its_arguments():
    mat, expected = scattered((3, 4))
    with pytest.raises(ValueError, match="shape mismatch"):
        bcoo_extract(mat, expected.T)
    with pytest.raises(TypeError, match="should be a BCOO array"):
        bcoo_extract(expected, expected)


# ---- products ----


def contractions(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> list[Any]:
    """Yields all dimension numbers with at most two pairs of dimensions."""
    pairs = [(l, r) for l in range(len(lhs)) for r in range(len(rhs)) if lhs[l] == rhs[r]]
    found = []
    for count in range(3):
        for chosen in itertools.combinations(pairs, count):
            if any(len(set(side)) < count for side in zip(*chosen, strict=True)):
                continue
            for kinds in itertools.product((True, False), repeat=count):
                contract = [p for p, kind in zip(chosen, kinds, strict=True) if kind]
                batch = [p for p, kind in zip(chosen, kinds, strict=True) if not kind]
                found.append((sides(contract), sides(batch)))
    return found


def sides(pairs: list[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(l for l, _ in pairs), tuple(r for _, r in pairs)


NUMBERS = contractions((2, 3, 2), (2, 3, 2))


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
def test_contractions_with_dense_arrays(n_batch, n_dense, shared):
    mat, lhs = scattered((2, 3, 2), n_batch, n_dense, shared=shared)
    rhs = np.random.default_rng(1).standard_normal((2, 3, 2)).astype(np.float32)
    for numbers in NUMBERS[::3]:
        out = bcoo_dot_general(mat, rhs, dimension_numbers=numbers)
        same(out, lax.dot_general(lhs, rhs, numbers))
    for numbers in NUMBERS[1::7]:
        out = bcoo_dot_general(rhs, mat, dimension_numbers=numbers)
        same(out, lax.dot_general(rhs, lhs, numbers))


@pytest.mark.parametrize("n_batch", range(3))
@pytest.mark.parametrize("rhs_batch", range(3))
def test_contractions_of_sparse_arrays(n_batch, rhs_batch):
    one, lhs = scattered((2, 3, 2), n_batch)
    two, rhs = scattered((2, 3, 2), rhs_batch, seed=1)
    count = 0
    for numbers in NUMBERS:
        lhs_dims, rhs_dims = numbers[1]
        if all(dim < n_batch for dim in lhs_dims) and all(dim < rhs_batch for dim in rhs_dims):
            count += 1
            if count % 2:
                out = bcoo_dot_general(one, two, dimension_numbers=numbers)
                assert isinstance(out, BCOO)
                same(out, lax.dot_general(lhs, rhs, numbers))


@pytest.mark.parametrize("lhs", [(4,), (3, 4), (2, 3, 4)], **ids)
@pytest.mark.parametrize("rhs", [(4,), (4, 5), (2, 4, 5)], **ids)
def test_matrix_products_equal_dense_ones(lhs, rhs):
    one, first = scattered(lhs, nse=7)
    two, second = scattered(rhs, nse=7, seed=1)
    same(one @ second, first @ second)
    same(first @ two, first @ second)
    same(jnp.asarray(first) @ two, first @ second)
    if len(lhs) < 3 and len(rhs) < 3:
        same(one @ two, first @ second)
        assert (one @ two).nse <= np.prod(np.shape(first @ second), dtype=int)


@pytest.mark.parametrize("lhs_batch, rhs_batch", [(0, 0), (0, 2), (2, 0), (1, 0)])
def test_batch_dimensions_of_size_one_may_be_sparse(lhs_batch, rhs_batch):
    one, lhs = scattered((1, 3, 2), lhs_batch)
    two, rhs = scattered((1, 2, 4), rhs_batch, seed=1)
    same(one @ two, lhs @ rhs)
    numbers = (((1,), (2,)), ((0,), (0,)))
    out = bcoo_dot_general(two, one, dimension_numbers=numbers)
    same(out, lax.dot_general(rhs, lhs, numbers))


def test_sparse_batch_dimensions_larger_than_one_raise():
    mat, _ = scattered((2, 3, 3))
    with pytest.raises(NotImplementedError, match=r"got \(0,\) with n_batch=0"):
        mat @ mat


def test_products_promote_dtypes():
    mat, expected = scattered((3, 4), dtype=np.int32)
    assert (mat @ np.ones(4, np.float32)).dtype == np.float32
    assert (mat @ np.ones(4, np.int32)).dtype == np.int32
    flags = expected != 0
    out = BCOO.fromdense(flags) @ np.ones(4, bool)
    assert out.dtype == bool
    np.testing.assert_array_equal(out, flags.any(1))
    wide = bcoo_dot_general(
        mat.astype(np.int8),
        np.full(4, 100, np.int8),
        dimension_numbers=(([1], [0]), ([], [])),
        preferred_element_type=np.int32,
    )
    np.testing.assert_array_equal(wide, expected @ np.full(4, 100))


@pytest.mark.parametrize(("dtype", "narrow"), [("int32", "int8"), ("int32", "float16")])
def test_integer_products_keep_their_bits(dtype, narrow):
    mat, _ = scattered((4, 4), dtype=dtype)
    for other in (mat, np.ones((4, 4), dtype)):
        with pytest.raises(TypeError, match="must not be narrower than the original type"):
            bcoo_dot_general(
                mat,
                other,
                dimension_numbers=(([1], [0]), ([], [])),
                preferred_element_type=np.dtype(narrow),
            )


def test_products_check_shapes():
    mat, _ = scattered((3, 4))
    with pytest.raises(TypeError, match="contracting dimensions to have the same shape"):
        mat @ np.ones(3)
    with pytest.raises(TypeError, match="contracting dimensions to have the same shape"):
        mat @ mat


@pytest.mark.parametrize("n_batch, n_sparse", [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (0, 3)])
def test_sampled_products_equal_dense_ones(n_batch, n_sparse):
    generator = np.random.default_rng(0)
    lhs = generator.standard_normal((2, 3, 4)).astype(np.float32)
    rhs = generator.standard_normal((2, 4, 5)).astype(np.float32)
    for numbers in ((([2], [1]), ([0], [0])), (([2], [1]), ([], [])), (([], []), ([0], [0]))):
        product = np.asarray(lax.dot_general(lhs, rhs, numbers))
        sizes = product.shape[n_batch : n_batch + n_sparse]
        shape = (*product.shape[:n_batch], 6, n_sparse)
        indices = generator.integers(0, np.array(sizes) + 1, shape)
        out = bcoo_dot_general_sampled(lhs, rhs, indices, dimension_numbers=numbers)
        mat = BCOO((np.zeros((*shape[:-1], *product.shape[n_batch + n_sparse :])), indices),
                   shape=product.shape)  # fmt: skip
        np.testing.assert_allclose(
            out, bcoo_extract(mat, product, assume_unique=True).data, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(0, 0)], [(2, 1)], [(-1, 2)]], **ids)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1), (1, 3)], **ids)
def test_convolutions_equal_dense_ones(padding, stride, dilation):
    lhs, rhs = dense((1, 1, 9)), dense((1, 1, 3), seed=4)
    options = {
        "window_strides": (stride,),
        "padding": padding,
        "lhs_dilation": dilation[:1],
        "rhs_dilation": dilation[1:],
    }
    one, two = BCOO.fromdense(lhs), BCOO.fromdense(rhs)
    if isinstance(padding, str) and dilation[0] != 1:
        with pytest.raises(ValueError, match="give the numbers of zeros"):
            bcoo_conv_general_dilated(one, two, **options)
        return
    out = bcoo_conv_general_dilated(one, two, **options)
    same(out, lax.conv_general_dilated(lhs, rhs, **options))


def test_convolutions_of_dense_arrays_are_refused():
    signal = BCOO.fromdense(np.ones((1, 1, 5), np.float32))
    with pytest.raises(ValueError, match="both operands must be BCOO"):
        bcoo_conv_general_dilated(signal, np.ones((1, 1, 2)), window_strides=(1,), padding="SAME")


@pytest.mark.parametrize(
    ("dtype", "widened"), [(np.int8, np.int32), (np.uint8, np.uint32), (np.bool_, np.int32)]
)
def test_sums_of_narrow_integers_are_wide(dtype, widened):
    mat = bcoo_fromdense(np.ones((200, 2), dtype))
    total = bcoo_reduce_sum(mat, axes=(0,))
    assert total.dtype == widened
    np.testing.assert_array_equal(total.todense(), [200, 200])
