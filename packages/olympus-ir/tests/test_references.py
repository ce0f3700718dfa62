# SPDX-License-Identifier: Apache-2.0
"""References: types, indices, views, text, discharge, errors."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olympus_ir import ShapedArray, lax, primitives, trace_to_olympuspr
from olympus_ir.diagnostics.errors import NonConcreteBooleanIndexError, ReferenceOperandError
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.evaluation import olympuspr_as_fun
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.references.discharge import discharge, discharge_closed, discharge_rules
from olympus_ir.references.indexing import NDIndexer, Slice, ds
from olympus_ir.references.primitives import (
    addupdate,
    addupdate_p,
    empty_ref,
    free_ref,
    freeze,
    get,
    new_ref,
    swap,
)
from olympus_ir.references.states import run_state
from olympus_ir.references.values import Ref
from olympus_ir.types.references import AbstractRef

VECTOR = AbstractRef(ShapedArray((4,), np.float32))
MATRIX = AbstractRef(ShapedArray((3, 4), np.float32))


def program_of(fun, *avals):
    olympuspr, _ = trace_to_olympuspr(lambda *args: fun(*args) or [], avals)
    check_olympuspr(olympuspr)
    return olympuspr


def equations(olympuspr):
    """The text of the equations, one a line."""
    lines = str(olympuspr).splitlines()
    return [line.strip() for line in lines[1:-1]]


class TestType:
    def test_equal_types_of_references_are_one_object(self):
        assert AbstractRef(ShapedArray((4,), np.float32)) is VECTOR
        assert AbstractRef(ShapedArray((4,), np.float32), "smem") is not VECTOR
        assert pickle.loads(pickle.dumps(VECTOR)) is VECTOR

    def test_not_kept_alive(self):
        aval = AbstractRef(ShapedArray((4, 77), np.float32))
        died = weakref.ref(aval)
        del aval
        gc.collect()
        assert died() is None

    def test_texts_of_types_show_memory_spaces(self):
        assert str(VECTOR) == "Ref{float32[4]}"
        assert AbstractRef(VECTOR.inner_aval, "smem").str_short(True) == "Ref<smem>{f32[4]}"

    def test_attributes_of_the_inner_array(self):
        assert (MATRIX.shape, MATRIX.dtype, MATRIX.ndim, MATRIX.size) == ((3, 4), np.float32, 2, 12)
        assert len(MATRIX) == 3
        with pytest.raises(AttributeError, match="immutable"):
            MATRIX.inner_aval = None

    def test_weak_types_do_not_matter(self):
        weak = AbstractRef(ShapedArray((), np.float32, True))
        strong = AbstractRef(ShapedArray((), np.float32))
        assert weak.matches(strong) and not weak.matches(VECTOR)
        assert weak.strip_weak_type() is strong


# ---- indices: what NumPy says ----


@st.composite
def indices(draw, shape):
    """An index of an array, for NumPy and for references."""
    common = draw(st.sampled_from([(), (2,), (2, 3)]))
    numpy_index, ref_index = [], []
    for size in shape:
        kind = draw(st.sampled_from(["all", "slice", "ds", "int", "array"]))
        if kind == "all":
            numpy_index.append(slice(None))
            ref_index.append(slice(None))
        elif kind == "slice":
            start = draw(st.integers(0, size - 1))
            stop = draw(st.integers(start + 1, size))
            step = draw(st.integers(1, 3))
            numpy_index.append(slice(start, stop, step))
            ref_index.append(slice(start, stop, step))
        elif kind == "ds":
            length = draw(st.integers(1, size))
            stride = draw(st.integers(1, 2))
            if (length - 1) * stride >= size:
                stride = 1
            start = draw(st.integers(0, size - (length - 1) * stride - 1))
            numpy_index.append(slice(start, start + (length - 1) * stride + 1, stride))
            computed = np.asarray(start) if draw(st.booleans()) else start
            ref_index.append(ds(computed, length, stride))
        elif kind == "int" or common == ():
            place = draw(st.integers(-size, size - 1))
            numpy_index.append(place)
            ref_index.append(place)
        else:
            places = draw(
                st.lists(st.integers(-size, size - 1), min_size=6, max_size=6).map(np.array)
            )
            places = places[: int(np.prod(common))].reshape(common)
            numpy_index.append(places)
            ref_index.append(places)
    return tuple(numpy_index), tuple(ref_index)


SHAPES = [(4,), (3, 4), (3, 1, 4), (2, 3, 4)]


@given(st.data())
@settings(max_examples=200)
@pytest.mark.parametrize("compiled", [False, True])
def test_reading_and_writing_equal_numpy(compiled, data):
    shape = data.draw(st.sampled_from(SHAPES))
    numpy_index, ref_index = data.draw(indices(shape))
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    expected = array[numpy_index]
    value = -np.arange(expected.size, dtype=np.float32).reshape(expected.shape)
    added = array.copy()
    np.add.at(added, numpy_index, value)

    def use(ref, other):
        before = ref[ref_index]
        ref[ref_index] = value
        addupdate(other, ref_index, value)
        return before

    ref, other = new_ref(array), new_ref(array)
    result = (jit(use) if compiled else use)(ref, other)
    assert result.shape == expected.shape and np.array_equal(result, expected)
    assert np.array_equal(np.asarray(other[...]), added)
    # Of places that are written repeatedly, any of the values may be there in the end.
    counts = np.zeros(shape)
    np.add.at(counts, numpy_index, 1)
    array[numpy_index] = value
    assert np.array_equal(np.asarray(ref[...])[counts < 2], array[counts < 2])


class TestIndices:
    def test_indexers_know_the_shape_of_the_selection(self):
        indexer = NDIndexer.from_indices_shape((slice(1, 3), 0), (4, 5))
        assert indexer.get_indexer_shape() == (2,)
        assert NDIndexer.make_trivial_indexer((2, 3)).is_trivial

    def test_slices_have_start_size_and_stride(self):
        assert ds(2, 3) == Slice(2, 3) and ds(3) == Slice(0, 3) and ds(None) == slice(None)
        assert repr(ds(2, 3, 2)) == "Slice(start=2, size=3, stride=2)"
        with pytest.raises(ValueError, match="stride"):
            ds(0, 2, -1)

    @pytest.mark.parametrize(
        ("index", "error", "message"),
        [
            (7, ValueError, r"Out of bound indexer: idx=7, dim=4\."),
            (-5, ValueError, "Out of bound indexer"),
            (ds(2, 3), ValueError, r"Out of bound slice: start=2, size=3, stride=1, dim=4\."),
            ((0, 1), ValueError, r"`indices` must not be longer than `shape`"),
            (slice(None, None, -1), ValueError, r"step >= 1 \(found: -1\)"),
            ((..., ...), ValueError, "Only one ellipsis"),
            ((0, None), ValueError, "cannot add dimensions"),
            (1.0, TypeError, "of integers"),
            ("a", TypeError, "of type str"),
            (np.array([True, False, True]), IndexError, r"mask of shape \(3,\)"),
            (True, TypeError, "of integers"),
        ],
    )
    def test_invalid_indices_raise(self, index, error, message):
        with pytest.raises(error, match=message):
            new_ref(np.zeros(4))[index]

    @pytest.mark.parametrize(
        "index",
        [
            np.array([True, False, True]),
            [False, True, True],
            (1, np.array([True, False, True, True])),
            (..., np.array([False, False, True, True])),
            (slice(1, 3), np.array([True, False, True, True])),
            np.arange(12).reshape(3, 4) % 5 == 2,
            np.zeros(3, bool),
        ],
    )
    @pytest.mark.parametrize("compiled", [False, True])
    def test_known_masks_select_as_in_numpy(self, index, compiled):
        def use(ref):
            before = ref[index]
            ref[index] = -before
            return before

        expected = np.arange(12.0, dtype=np.float32).reshape(3, 4)
        ref = new_ref(expected)
        np.testing.assert_array_equal((jit(use) if compiled else use)(ref), expected[index])
        expected[index] *= -1
        np.testing.assert_array_equal(ref[...], expected)

    @pytest.mark.parametrize(
        ("dtype", "value", "converted"),
        [
            (np.float16, lax.convert_dtype(np.float32(2), np.float32, True), True),
            (np.float32, lax.convert_dtype(np.float32(2), np.float32, True), True),
            (np.int32, np.int8(2), True),
            (np.float32, np.float16(2), False),
            (np.float32, np.int32(2), False),
        ],
    )
    def test_weak_floats_and_integers_are_converted_to_the_reference(self, dtype, value, converted):
        ref = new_ref(np.zeros(3, dtype))
        if not converted:
            with pytest.raises(ValueError, match="Invalid dtype for `swap`"):
                ref[0] = value
            return
        ref[0] = value
        assert ref[0] == 2 and ref[0].dtype == dtype
        program = make_olympuspr(lambda r, v: swap(r, 0, v))(ref, value)
        written = program.eqns[-1].invars[1].aval
        assert written.dtype == dtype and not written.weak_type

    def test_traced_masks_raise(self):
        with pytest.raises(NonConcreteBooleanIndexError):
            jit(lambda ref, mask: ref[mask])(new_ref(np.zeros(2)), np.array([True, False]))

    def test_computed_bounds_of_slices(self):
        with pytest.raises(TypeError, match="ds"):
            jit(lambda ref, i: ref[i : lax.add(i, 1)])(new_ref(np.zeros(2)), 0)

    def test_compiled_programs_take_the_nearest_element(self):
        ref = new_ref(np.arange(4.0))
        assert jit(lambda ref: ref[7])(ref) == 3.0
        assert jit(lambda ref, i: ref[i])(ref, 9) == 3.0
        assert jit(lambda ref, i: ref[i])(ref, -1) == 3.0


class TestViews:
    def test_views_of_views(self):
        ref = new_ref(np.arange(12.0).reshape(3, 4))
        view = ref.at[1:].at[0, ds(1, 2)]
        assert view.shape == (2,) and view.dtype == np.float32
        assert np.array_equal(view[...], [5, 6])
        view[1] = 60.0
        assert ref[1, 2] == 60.0
        view.addupdate(np.ones(2, np.float32))
        assert np.array_equal(ref[1], [4, 6, 61, 7])

    def test_transposed_and_reshaped_views(self):
        ref = new_ref(np.arange(12.0).reshape(3, 4))
        assert np.array_equal(ref.T[1], [1, 5, 9])
        assert np.array_equal(ref.reshape(2, -1)[1], [6, 7, 8, 9, 10, 11])
        ref.T[0, 2] = -8.0
        ref.reshape(12)[5] = -5.0
        assert ref[2, 0] == -8.0 and ref[1, 1] == -5.0
        with pytest.raises(ValueError, match="numbers of elements"):
            ref.reshape(5)
        with pytest.raises(ValueError, match="not a permutation"):
            ref.transpose(0, 0)

    @pytest.mark.parametrize("dtype", [np.int32, np.int16, np.uint8])
    def test_bitcasts_view_the_same_bytes(self, dtype):
        words = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        view = new_ref(words).bitcast(dtype)
        ratio = 4 // np.dtype(dtype).itemsize
        # Elements that one element becomes follow one another in the last dimension but one.
        expected = words.view(dtype).reshape(2, 3, 4, ratio).transpose(0, 1, 3, 2)
        assert np.array_equal(view[...], expected.reshape(2, 3 * ratio, 4))
        view[...] = lax.full((2, 3 * ratio, 4), 0, dtype)
        assert not np.asarray(view.ref[...]).any()


class TestValues:
    def test_new_ref_copies_its_value(self):
        array = np.zeros(2, np.float32)
        ref = new_ref(array)
        before = ref[...]
        ref[0] = 1.0
        assert not array.any() and not np.asarray(before).any()
        assert repr(ref) == "Ref([1., 0.], dtype=float32)"

    def test_swap_returns_the_old_value(self):
        ref = new_ref(np.arange(3))
        assert swap(ref, 1, 7) == 1 and ref[1] == 7
        assert get(ref, (slice(None),)).shape == (3,)
        assert freeze(ref)[1] == 7
        assert freeze(1.0) == 1.0

    def test_weak_types_are_kept(self):
        assert new_ref(1.0)[...].weak_type
        ref = new_ref(1.0)
        ref[...] = np.float32(2.0)
        assert ref[...].weak_type
        assert not new_ref(np.float32(1.0))[...].weak_type

    def test_empty_references_have_type_and_can_be_freed(self):
        ref = empty_ref(ShapedArray((2, 3), np.int32))
        assert ref.shape == (2, 3) and ref.dtype == np.int32
        assert free_ref(ref) is None

    def test_array_operations_raise(self):
        ref = new_ref(np.zeros(2))
        assert isinstance(ref, Ref) and bool(ref) and ref == ref and len({ref, ref}) == 1
        for use in (np.asarray, list, float, lambda ref: ref + 1, lambda ref: -ref):
            with pytest.raises(TypeError):
                use(ref)
        with pytest.raises(
            ReferenceOperandError, match=r"a primitive: sin -- did you forget to unpack"
        ):
            jit(lambda ref: lax.sin(ref))(ref)
        assert pickle.loads(pickle.dumps(ref))[...].shape == (2,)

    def test_invalid_values_raise(self):
        ref = new_ref(np.zeros((3, 2), np.float32))
        with pytest.raises(ValueError, match=r"Invalid dtype for `swap`\. Ref dtype: float32"):
            ref[0, 0] = 1
        with pytest.raises(
            ValueError, match=r"Invalid shape for `swap`\. .* Expected shape: \(2,\)"
        ):
            ref[0] = 1.0
        with pytest.raises(ValueError, match=r"Invalid shape for `addupdate`"):
            addupdate(ref, 0, 1.0)
        with pytest.raises(ValueError, match="Can only call `ref_get` on a `Ref`"):
            get(np.zeros(2), 0)
        with pytest.raises(ValueError, match="Can only call `ref_swap` on a `Ref`"):
            swap(1.0, (), 2.0)
        with pytest.raises(TypeError, match="not a valid"):
            new_ref("a")
        with pytest.raises(TypeError, match="refers to an array"):
            new_ref(ref)

    def test_scalars_take_the_dtype(self):
        half = new_ref(np.zeros(2, np.float16))
        half[0] = 0.5
        assert half[...].dtype == np.float16
        small = new_ref(np.zeros(2, np.int8))
        small[1] = 3
        assert small[1] == 3


class TestPrograms:
    def test_equations_are_printed_with_indices(self):
        def fun(a, i):
            b = a[0]
            a[1] = b
            a[...] = a[...]
            a[1:3] = a[0:2]
            a[::2]
            addupdate(a, ds(i, 2), a[2:])
            return [swap(a, i, 1.0), a.at[1:].at[0][...], a.reshape(2, 2).T[0]]

        assert equations(program_of(fun, VECTOR, ShapedArray((), np.int32))) == [
            "c:f32[] <- a[0]",
            "a[1] <- c",
            "d:f32[4] <- a[...]",
            "a[...] <- d",
            "e:f32[2] <- a[:2]",
            "a[1:3] <- e",
            "_:f32[2] <- a[:2]",
            "f:f32[2] <- a[2:]",
            "a[b:b+2] += f",
            "g:f32[], a[b] <- a[b], 1.0:f32[]",
            "h:f32[] <- a[1:][0]",
            "i:f32[2] <- a{reshape([2, 2])}{transpose([1, 0])}[0,:]",
        ]

    def test_references_are_made_by_equations(self):
        program = make_olympuspr(lambda x: freeze(new_ref(x, kind="k")))(1.0)
        assert "b:Ref{f32[]} = new_ref[kind=k memory_space=None] a" in str(program)
        assert "c:f32[] = freeze b" in str(program)

    def test_effects_tell_reads_from_writes(self):
        program = program_of(lambda ref: [ref[0]], VECTOR)
        assert {str(effect) for effect in program.effects} == {"Read"}
        program = program_of(lambda ref: ref.set(1.0, 0), VECTOR)
        assert {str(effect) for effect in program.effects} == {"Write"}
        text = program.pretty_print(print_effects=True)
        assert text.endswith("in () : { Write<a> } }")
        inside = make_olympuspr(lambda x: freeze(new_ref(x)))(1.0)
        assert {str(effect) for effect in inside.effects} == {"Allocate"}

    def test_writes_to_outside_are_not_dead(self):
        def fun(outside, x):
            outside[0]
            outside[1] = x
            inside = new_ref(x)
            inside[...] = lax.sin(x)
            other = new_ref(x)
            other[...] = lax.cos(x)
            return [lax.exp(x), inside[...]]

        program = program_of(fun, VECTOR, ShapedArray((), np.float32))
        kept, used = dce_olympuspr(program, [True, False])
        # What is written outside stays; reads, and references that nobody reads later, go.
        assert str(kept) == (
            "{ lambda ; a:Ref{f32[4]} b:f32[]. let a[1] <- b; c:f32[] = exp b in (c,) }"
        )
        assert used == [True, True]
        kept, used = dce_olympuspr(
            program_of(lambda ref, x: [ref[0], x], VECTOR, VECTOR.inner_aval), [False, True]
        )
        assert not kept.eqns and used == [False, True]

    def test_references_cannot_be_returned(self):
        ref = new_ref(1.0)
        with pytest.raises(
            ValueError, match=r"(?s)cannot be returned.*passed in as the argument r"
        ):
            jit(lambda r: r)(ref)
        with pytest.raises(ValueError, match=r"(?s)cannot be returned.*created on line"):
            jit(lambda x: new_ref(x))(1.0)
        with pytest.raises(ValueError, match="traced for scan returned a mutable array reference"):
            lax.scan(lambda c, x: (c, None), ref, np.zeros(3))

    @pytest.mark.parametrize("around", [lambda fun: fun, jit], ids=["eager", "jit"])
    def test_references_cannot_be_stored_in_references(self, around):
        ref, other = new_ref(np.zeros(2)), new_ref(np.ones(2))
        for store in (
            lambda r, q: r.set(q),
            lambda r, q: r.set(q.at[0:1], 0),
            lambda r, q: swap(r, Ellipsis, q),
            lambda r, q: addupdate(r, Ellipsis, q),
        ):
            with pytest.raises(ValueError, match="Cannot store a Ref into another Ref"):
                around(store)(ref, other)
        np.testing.assert_array_equal(ref[...], 0)

    def test_references_cannot_be_passed_twice(self):
        ref = new_ref(np.zeros(2))
        with pytest.raises(ValueError, match="appeared at both r and q"):
            jit(lambda r, q: r[0])(ref, ref)
        with pytest.raises(ValueError, match="both closed over and passed as the argument q"):
            jit(lambda q: lax.add(q[0], ref[0]))(ref)
        with pytest.raises(ValueError, match="for cond .* appeared at both r and q"):
            lax.cond(True, lambda r, q: r.set(1.0, 0), lambda r, q: None, ref, ref)
        with pytest.raises(ValueError, match="for scan.*both closed over and passed"):
            lax.scan(lambda c, x: (lax.add(c, lax.add(x[...], ref[0])), None), 0.0, ref)
        # Functions that fail for another reason are refused for this one first.
        with pytest.raises(ValueError, match="for cond .* appeared at both r and q"):
            lax.cond(True, lambda r, q: ..., lambda r, q: ..., ref, ref)
        with pytest.raises(ValueError, match=r"for scan .* appeared at both c\[0\] and c\[1\]"):
            lax.scan(lambda c, _: (None, None), (ref, ref), None, length=1)
        with pytest.raises(ValueError, match="for scan.*both closed over and passed as.* r\\b"):
            lax.scan(lambda r, _: (lax.add(r[0], ref[0]), None), ref, None, length=1)
        jitted = jit(lambda r, q: r[0])
        jitted(ref, new_ref(np.zeros(2)))
        with pytest.raises(ValueError, match="appeared at both"):  # of a program known already
            jitted(ref, ref)


def loops(ref, x):
    """Writes in all kinds of control flow; ``ref`` has four elements."""

    def condition(count):
        ref[3] = lax.add(ref[3], 1.0)
        return lax.lt(ref[3], 10.0)

    def body(place, factor):
        ref[place] = lax.mul(ref[place], factor)
        return lax.mul(factor, 2.0)

    lax.scan(lambda c, y: (addupdate(ref, 0, y), (c, c))[1], None, np.arange(4, dtype=np.float32))
    last = lax.fori_loop(0, 3, body, x)
    lax.cond(lax.gt(x, 0.0), lambda: ref.set(x, 1), lambda: ref.set(6.0, 2))
    count = lax.while_loop(condition, lambda n: (addupdate(ref, 2, 2.0), lax.add(n, 1))[1], 0)
    previous = jit(lambda r: swap(r, 0, lax.add(r[1], r[2])))(ref)
    return [last, count, previous]


class TestDischarge:
    def test_discharged_programs_have_slices_and_updates(self):
        program = program_of(lambda ref: [ref[0]] + (ref.set(1.0, 0) or []), VECTOR)
        pure, _ = discharge(program)
        check_olympuspr(pure)
        assert str(pure) == (
            "{ lambda ; a:f32[4]. let\n"
            "    b:f32[1] = slice[limit_indices=(1,) start_indices=(0,) strides=None] a\n"
            "    c:f32[] = squeeze[dimensions=(0,)] b\n"
            "    d:f32[1] = slice[limit_indices=(1,) start_indices=(0,) strides=None] a\n"
            "    _:f32[] = squeeze[dimensions=(0,)] d\n"
            "    e:f32[1] = broadcast_in_dim 1.0:f32[]\n"
            "    f:f32[4] = dynamic_update_slice a e 0:i32[]\n"
            "  in (c, f) }"
        )

    @pytest.mark.parametrize("x", [2.0, -2.0])
    def test_references_in_control_flow_equal_plain_python(self, x):
        start = np.arange(1.0, 5.0, dtype=np.float32)
        ref = new_ref(start)
        expected = loops(ref, np.float32(x))
        program = make_olympuspr(loops)(new_ref(start), np.float32(x))
        check_olympuspr(program)
        discharged = discharge_closed(program)
        check_olympuspr(discharged.closed)
        assert discharged.refs == discharged.written == (0,)
        *results, last = olympuspr_as_fun(discharged.closed)(start, np.float32(x))
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-6)
        np.testing.assert_allclose(last, ref[...], rtol=1e-6)

    def test_only_written_references_are_call_results(self):
        inner = jit(lambda r, q: q.set(r[0], 0))
        program = make_olympuspr(lambda r, q: inner(r, q))(new_ref(np.ones(2)), new_ref(np.ones(2)))
        discharged = discharge_closed(program)
        (call,) = discharged.closed.eqns
        assert len(call.outvars) == 1 and discharged.written == (1,)

    def test_chosen_references_are_discharged(self):
        program = program_of(lambda r, q: q.set(r[0], 0), VECTOR, VECTOR)
        partly, _ = discharge(program, should_discharge=[True, False])
        assert [var.aval for var in partly.invars] == [VECTOR.inner_aval, VECTOR]
        assert "b[0] <-" in str(partly).replace("d:f32[], ", "")

    def test_slices_of_references(self):
        def double(total, x):
            x[...] = lax.mul(x[...], 2.0)
            return lax.add(total, x[0]), x[1]

        start = np.arange(6, dtype=np.float32).reshape(3, 2)
        for compiled in (False, True):
            ref = new_ref(start)
            scan = jit(lax.scan, static_argnums=0) if compiled else lax.scan
            total, ys = scan(double, 0.0, ref)
            assert total == 12.0
            assert np.array_equal(ys, [2, 6, 10]) and np.array_equal(ref[...], 2 * start)

    def test_condition_and_body_with_one_reference(self):
        ref = new_ref(np.zeros(1, np.float32))
        lax.while_loop(lambda n: lax.lt(ref[0], 5.0), lambda n: (addupdate(ref, 0, 2.0), n)[1], 0)
        assert ref[0] == 6.0

    def test_branches_with_one_reference(self):
        for index in range(2):
            ref = new_ref(np.zeros(2, np.float32))
            branches = [lambda ref=ref: ref.set(1.0, 0), lambda ref=ref: ref.set(2.0, 1)]
            lax.switch(index, branches)
            assert np.array_equal(ref[...], [[1, 0], [0, 2]][index])

    def test_constant_references_cannot_be_discharged(self):
        program = make_olympuspr(lambda: addupdate(REF, 0, 1.0))()
        with pytest.raises(ValueError, match="make it an input"):
            discharge_closed(program)

    def test_every_program_in_parameters_has_a_rule(self):
        holders = [each for each in primitives() if each.takes_refs and each.family != "references"]
        assert addupdate_p not in holders and lax.scan_p in holders
        problems = [
            problem
            for problem in discharge_rules.holes(holders)
            if problem.split("`")[1] in {each.name for each in CONTROL}
        ]
        assert not problems


REF = new_ref(np.zeros(2, np.float32))
CONTROL = (
    lax.cond_p,
    lax.while_p,
    lax.scan_p,
    lax.jit_p,
    lax.closed_call_p,
    lax.checkpoint_p,
    lax.custom_jvp_call_p,
    lax.custom_vjp_call_p,
    lax.linear_solve_p,
)


def test_run_state_returns_the_final_values():
    def fun(refs):
        refs["y"][0] = refs["x"][1]

    result = run_state(fun)({"x": np.arange(2.0), "y": np.zeros(1)})
    assert result["y"][0] == 1.0
    with pytest.raises(TypeError, match="returns None"):
        run_state(lambda ref: ref[...])(1.0)
