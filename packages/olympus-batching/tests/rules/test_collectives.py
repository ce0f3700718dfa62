# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.programs.make import make_olympuspr

X = np.arange(24, dtype=np.float32).reshape(4, 3, 2)


def mapped(fun, **options):
    return np.asarray(vmap(fun, axis_name="i", **options)(X))


def test_reductions_over_the_mapped_axis():
    np.testing.assert_array_equal(mapped(lambda x: lax.psum(x, "i"))[2], X.sum(0))
    np.testing.assert_array_equal(mapped(lambda x: lax.psum(x, "i"), out_axes=None), X.sum(0))
    np.testing.assert_array_equal(mapped(lambda x: lax.pmax(x, "i"))[0], X.max(0))
    np.testing.assert_array_equal(mapped(lambda x: lax.pmin(x, "i"))[0], X.min(0))
    np.testing.assert_array_equal(mapped(lambda x: lax.pmean(x, "i"))[0], X.mean(0))


def test_reductions_of_unbatched_values():
    ones = np.ones(2, np.float32)
    np.testing.assert_array_equal(mapped(lambda x: lax.psum(ones, "i"), out_axes=None), [4, 4])
    np.testing.assert_array_equal(mapped(lambda x: lax.pmax(ones, "i"), out_axes=None), [1, 1])
    assert int(mapped(lambda x: lax.psum(1, "i"), out_axes=None)) == 4


def test_reductions_over_named_and_positional_axes():
    np.testing.assert_array_equal(
        mapped(lambda x: lax.psum(x, ("i", 1)), out_axes=None), X.sum((0, 2))
    )
    np.testing.assert_allclose(mapped(lambda x: lax.pmean(x, ("i", 0)))[1], X.mean((0, 1)))
    np.testing.assert_allclose(mapped(lambda x: lax.pmean(x, 1)), X.mean(2))


def test_sums_of_unbatched_numbers_keep_weak_types():
    number = convert_dtype(2.0, weak_type=True)
    for reduce, value in ((lax.psum, 8.0), (lax.pmean, 2.0), (lax.pmax, 2.0)):
        fun = vmap(lambda x, reduce=reduce: reduce(number, "i"), axis_name="i", out_axes=None)
        (aval,) = make_olympuspr(fun)(X).out_avals
        assert aval.weak_type and float(fun(X)) == value


def test_axis_index_counts_the_examples():
    np.testing.assert_array_equal(mapped(lambda x: lax.axis_index("i")), np.arange(4))
    nested = vmap(
        lambda x: vmap(lambda y: lax.axis_index(("i", "j")), axis_name="j")(x), axis_name="i"
    )
    np.testing.assert_array_equal(nested(X[:, :, 0]), np.arange(12).reshape(4, 3))


def test_reduction_over_two_axes():
    nested = vmap(
        lambda x: vmap(lambda y: lax.psum(y, ("i", "j")), axis_name="j")(x), axis_name="i"
    )
    np.testing.assert_array_equal(np.asarray(nested(X))[1, 1], X.sum((0, 1)))


@pytest.mark.parametrize("inner_axis", ["i", "j"])
def test_reduction_over_one_of_two_axes(inner_axis):
    fun = vmap(
        vmap(lambda x: lax.psum(x, inner_axis), axis_name="j"), axis_name="i", in_axes=1, out_axes=1
    )
    summed = X.sum(1 if inner_axis == "i" else 0, keepdims=True)
    np.testing.assert_array_equal(fun(X), np.broadcast_to(summed, X.shape))


def test_all_gather_stacks_the_examples():
    for axis in range(3):
        gathered = mapped(lambda x, axis=axis: lax.all_gather(x, "i", axis=axis))
        np.testing.assert_array_equal(gathered[1], np.stack(list(X), axis))
    for axis in range(2):
        gathered = mapped(lambda x, axis=axis: lax.all_gather(x, "i", axis=axis, tiled=True))
        np.testing.assert_array_equal(gathered[1], np.concatenate(list(X), axis))


@pytest.mark.parametrize("tiled", [False, True])
def test_all_gather_over_two_axes(tiled):
    nested = vmap(
        vmap(lambda x: lax.all_gather(x, ("i", "j"), tiled=tiled), axis_name="j"), axis_name="i"
    )
    expected = X.reshape(-1) if tiled else X.reshape(12, 2)
    np.testing.assert_array_equal(np.asarray(nested(X))[3, 2], expected)


def test_gathering_over_the_outer_axis():
    outer = vmap(vmap(lambda x: lax.all_gather(x, "i"), axis_name="j"), axis_name="i")
    np.testing.assert_array_equal(np.asarray(outer(X))[2], X.swapaxes(0, 1))
    tiled = vmap(
        vmap(lambda x: lax.all_gather(x, "i", tiled=True), axis_name="j", in_axes=-1),
        axis_name="i",
    )
    np.testing.assert_array_equal(np.asarray(tiled(X))[1, 0], X[..., 0].ravel())
    square = np.arange(4 * 3 * 4, dtype=np.float32).reshape(4, 3, 4)
    scatter = vmap(vmap(lambda x: lax.psum_scatter(x, "i")), axis_name="i")
    np.testing.assert_array_equal(scatter(square), square.sum(0).T)
    exchange = vmap(vmap(lambda x: lax.all_to_all(x, "i", 0, 0)), axis_name="i")
    np.testing.assert_array_equal(exchange(square), square.transpose(2, 1, 0))
    shifted = vmap(vmap(lambda x: lax.pshuffle(x, "i", [1, 0, 3, 2])), axis_name="i")
    np.testing.assert_array_equal(shifted(X), X[[1, 0, 3, 2]])


def test_psum_scatter_splits_the_sum():
    square = np.arange(4 * 3 * 4, dtype=np.float32).reshape(4, 3, 4)
    scatter = vmap(lambda x: lax.psum_scatter(x, "i", scatter_dimension=1), axis_name="i")
    np.testing.assert_array_equal(scatter(square), square.sum(0).T)
    wide = np.arange(4 * 8, dtype=np.float32).reshape(4, 8)
    tiled = vmap(lambda x: lax.psum_scatter(x, "i", tiled=True), axis_name="i")
    np.testing.assert_array_equal(tiled(wide), wide.sum(0).reshape(4, 2))


def test_ppermute_moves_examples_along_the_axis():
    shifted = mapped(lambda x: lax.ppermute(x, "i", [(k, (k + 1) % 4) for k in range(4)]))
    np.testing.assert_array_equal(shifted, np.roll(X, 1, 0))
    partly = mapped(lambda x: lax.ppermute(x, "i", [(0, 3), (3, 1)]))
    np.testing.assert_array_equal(partly, np.stack([X[0] * 0, X[3], X[0] * 0, X[0]]))


def test_pshuffle_and_pbroadcast():
    np.testing.assert_array_equal(
        mapped(lambda x: lax.pshuffle(x, "i", [2, 0, 3, 1])), X[[2, 0, 3, 1]]
    )
    np.testing.assert_array_equal(mapped(lambda x: lax.pbroadcast(x, "i", 2), out_axes=None), X[2])


def test_all_to_all():
    square = np.arange(3 * 3 * 2, dtype=np.float32).reshape(3, 3, 2)
    exchange = vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")
    np.testing.assert_array_equal(exchange(square), square.swapaxes(0, 1))
    to_the_end = vmap(lambda x: lax.all_to_all(x, "i", 0, 1), axis_name="i")
    np.testing.assert_array_equal(to_the_end(square), square.transpose(1, 2, 0))


def test_all_to_all_tiled():
    wide = np.arange(3 * 6 * 2, dtype=np.float32).reshape(3, 6, 2)
    exchange = vmap(lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True), axis_name="i")
    expected = np.stack([np.concatenate(list(wide[:, 2 * k : 2 * k + 2]), 1) for k in range(3)])
    np.testing.assert_array_equal(exchange(wide), expected)


def test_groups_of_indices():
    groups = [[0, 3], [1, 2]]
    summed = mapped(lambda x: lax.psum(x, "i", axis_index_groups=groups))
    np.testing.assert_array_equal(summed, np.stack([X[0] + X[3], X[1] + X[2]] * 2)[[0, 1, 1, 0]])
    gathered = mapped(lambda x: lax.all_gather(x, "i", axis_index_groups=groups))
    np.testing.assert_array_equal(gathered[3], X[[0, 3]])


def test_unbound_axis_raises():
    with pytest.raises(NameError, match="unbound axis name: j"):
        vmap(lambda x: lax.psum(x, "j"), axis_name="i")(X)


def test_ppermute_with_out_of_range_indices_raises():
    with pytest.raises(ValueError, match="axis 'i' of size 3.*outside of the axis"):
        vmap(lambda x: lax.ppermute(x, "i", [(0, 3)]), axis_name="i")(np.arange(3.0))


@pytest.mark.parametrize("axes", [(0, 0), (0, 1), (1, 0)])
@pytest.mark.parametrize("names", [("i", "j"), ("j", "i")])
def test_all_to_all_over_two_axes(names, axes):
    x = np.arange(6 * 12 * 6, dtype=np.float32).reshape(6, 12, 6)

    def over(name):
        return lambda x: lax.all_to_all(x, name, *axes, tiled=True)

    expected = np.asarray(vmap(over("k"), axis_name="k")(x))
    nested = (
        x.reshape(2, 3, 12, 6) if names == ("i", "j") else x.reshape(3, 2, 12, 6).swapaxes(0, 1)
    )
    found = vmap(vmap(over(names), axis_name="j"), axis_name="i")(nested)
    found = np.asarray(found) if names == ("i", "j") else np.asarray(found).swapaxes(0, 1)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


@pytest.mark.parametrize("perm, role", [([(0, 1), (0, 2)], "source"), ([(0, 1), (2, 1)], "dest")])
def test_ppermute_with_repeated_indices_raises(perm, role):
    with pytest.raises(ValueError, match=f"must be unique, got a repeated {role}"):
        vmap(lambda x: lax.ppermute(x, "i", perm), axis_name="i")(np.arange(3.0))
