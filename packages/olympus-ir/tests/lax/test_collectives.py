# SPDX-License-Identifier: Apache-2.0
"""Tracing of collectives. The tests of `vmap` and `shard_map` compare their values."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import ShapedArray, lax
from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.tracing import extend_axes

X = np.ones((2, 4), np.float32)


def traced(fun, *args):
    return make_olympuspr(fun, axis_env=[("i", 2), ("j", 3)])(*(args or (X,)))


def shape(fun, *args):
    (aval,) = traced(fun, *args).out_avals
    return aval.shape


class TestAxes:
    def test_sizes_of_several_axes_are_multiplied(self):
        with extend_axes({"i": 2, "j": 3}):
            assert lax.axis_size("i") == 2
            assert lax.axis_size(("i", "j")) == 6

    def test_axis_index_is_integer_with_effect(self):
        closed = traced(lambda x: lax.axis_index("i"))
        assert closed.out_avals == [ShapedArray((), np.int32)]
        assert [str(effect) for effect in closed.effects] == ["NamedAxis(i)"]

    @pytest.mark.parametrize(
        "fun",
        [
            lambda x: lax.psum(x, "k"),
            lambda x: lax.pmax(x, ("i", "k")),
            lambda x: lax.axis_index("k"),
            lambda x: lax.axis_size("k"),
            lambda x: lax.all_gather(x, "k"),
            lambda x: lax.all_to_all(x, "k", 0, 0),
            lambda x: lax.ppermute(x, "k", [(0, 1)]),
            lambda x: lax.psum_scatter(x, "k"),
            lambda x: lax.pbroadcast(x, "k", 0),
        ],
    )
    def test_unbound_axis_names_raise(self, fun):
        with pytest.raises(NameError, match=r"unbound axis name: k \(bound axis names: 'i', 'j'"):
            traced(fun)

    def test_programs_depend_on_the_axes(self):
        fun = jit(lambda x: lax.psum(1, "i"))
        with extend_axes({"i": 2}):
            assert fun(0.0) == 2
        with extend_axes({"i": 5}):
            assert fun(0.0) == 5
        with pytest.raises(NameError):
            fun(0.0)


class TestReductions:
    def test_collectives_of_constants_are_computed_at_once(self):
        with extend_axes({"i": 2, "j": 3}):
            assert lax.psum(1, "i") == 2
            assert lax.psum(2.5, ("i", "j")) == 15.0
            np.testing.assert_array_equal(lax.psum(np.arange(2), "j"), [0, 3])
            assert lax.pmean(3, "i") == 3.0

    def test_sums_of_booleans_are_integers(self):
        assert traced(lambda x: lax.psum(lax.gt(x, 0.0), "i")).out_avals[0].dtype == np.int32
        integers = np.ones(2, np.int32)
        assert traced(lambda x: lax.psum(x, "i"), integers).out_avals[0].dtype == np.int32
        assert traced(lambda x: lax.pmean(x, "i"), integers).out_avals[0].dtype == np.float32

    def test_positional_axes_are_reduced(self):
        assert shape(lambda x: lax.psum(x, 0)) == (4,)
        assert shape(lambda x: lax.pmax(x, ("i", 1))) == (2,)
        np.testing.assert_array_equal(np.asarray(lax.psum(lax.neg(X), 0)), -X.sum(0))
        np.testing.assert_array_equal(np.asarray(lax.pmin(lax.neg(X), 1)), -X.max(1))

    @pytest.mark.parametrize("reduce", [lax.psum, lax.pmax, lax.pmin, lax.pmean])
    @pytest.mark.parametrize("axes", [2, -1, (0, 5), ("i", 2), (0, 0)])
    def test_out_of_bounds_dimensions_raise(self, reduce, axes):
        with pytest.raises(ValueError, match=r"reduction axes .* out-of-bounds|duplicate value"):
            traced(lambda x: reduce(x, axes))
        with pytest.raises(ValueError, match=r"out-of-bounds indices for int32\[\]|duplicate"):
            traced(lambda x: reduce(1, axes))

    def test_collectives_return_strong_types(self):
        weak = convert_dtype(2.0, weak_type=True)
        for reduce in (lax.pmax, lax.pmin):
            assert not traced(lambda x, reduce=reduce: reduce(weak, "i")).out_avals[0].weak_type
        exchanged = traced(
            lambda x: lax.all_to_all(convert_dtype(x, weak_type=True), "i", 0, 0, tiled=True)
        )
        assert not exchanged.out_avals[0].weak_type

    def test_reduction_over_no_axes(self):
        assert traced(lambda x: lax.psum(x, ())).eqns == []

    def test_groups_must_cover_all_indices(self):
        with pytest.raises(ValueError, match="must cover all indices exactly once"):
            traced(lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [1]]))
        with pytest.raises(ValueError, match="must be for named axes only"):
            traced(lambda x: lax.psum(x, ("i", 0), axis_index_groups=[[0], [1]]))
        with pytest.raises(ValueError, match="must all be of the same size"):
            traced(lambda x: lax.all_gather(x, "j", axis_index_groups=[[0, 1], [2]]))
        with extend_axes({"j": 4}):
            assert lax.psum(3, "j", axis_index_groups=[[0, 1], [2, 3]]) == 6


class TestShapes:
    def test_all_gather_multiplies_or_adds_a_dimension(self):
        assert shape(lambda x: lax.all_gather(x, "j")) == (3, 2, 4)
        assert shape(lambda x: lax.all_gather(x, ("i", "j"), axis=-1)) == (2, 4, 6)
        assert shape(lambda x: lax.all_gather(x, "j", axis=1, tiled=True)) == (2, 12)
        with pytest.raises(
            np.exceptions.AxisError, match="axis 3 is out of bounds for array of dimension 3"
        ):
            traced(lambda x: lax.all_gather(x, "j", axis=3))

    def test_psum_scatter_divides_or_removes_a_dimension(self):
        assert shape(lambda x: lax.psum_scatter(x, "i")) == (4,)
        assert shape(lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True)) == (2, 2)
        with pytest.raises(ValueError, match=r"dimension size 2 must match shard count 3"):
            traced(lambda x: lax.psum_scatter(x, "j"))
        with pytest.raises(ValueError, match="must be divisible by shard_count 3"):
            traced(lambda x: lax.psum_scatter(x, "j", tiled=True))

    def test_all_to_all(self):
        x = np.ones((3, 5, 6), np.float32)
        assert shape(lambda x: lax.all_to_all(x, "j", 0, 0), x) == (3, 5, 6)
        assert shape(lambda x: lax.all_to_all(x, "j", 0, 1), x) == (5, 3, 6)
        assert shape(lambda x: lax.all_to_all(x, "j", 0, 2), x) == (5, 6, 3)
        assert shape(lambda x: lax.all_to_all(x, "j", 2, 0, tiled=True), x) == (9, 5, 2)
        assert shape(lambda x: lax.pswapaxes(x, "j", 0), x) == (3, 5, 6)
        with pytest.raises(ValueError, match="they are 3 and 5 respectively"):
            traced(lambda x: lax.all_to_all(x, "j", 1, 0), x)
        with pytest.raises(ValueError, match=r"split_axis \(5\) has to be divisible"):
            traced(lambda x: lax.all_to_all(x, "j", 1, 0, tiled=True), x)

    def test_permutations_must_be_valid(self):
        assert shape(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)])) == X.shape
        with pytest.raises(ValueError, match="does not represent a permutation"):
            traced(lambda x: lax.pshuffle(x, "i", [0, 0]))

    def test_collectives_map_over_pytrees(self):
        closed = traced(lambda x: lax.ppermute({"a": x, "b": (x,)}, "i", [(0, 1)]))
        assert len(closed.out_avals) == 2


def test_named_axes_in_the_evaluator_raise():
    closed = traced(lambda x: lax.psum(x, "i"))
    with extend_axes({"i": 2}), pytest.raises((NameError, MissingRuleError), match="psum"):
        jit(lambda x: lax.psum(x, "i"))(X)
    assert closed.eqns[0].params == {"axes": ("i",), "axis_index_groups": None}
