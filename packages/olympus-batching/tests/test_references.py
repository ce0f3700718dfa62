# SPDX-License-Identifier: Apache-2.0
"""References under vmap: equal to a loop over the examples."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.references.indexing import ds
from olympus_ir.references.primitives import addupdate, freeze, get, new_ref, swap

MATRIX = np.arange(24, dtype=np.float32).reshape(4, 6)
CUBE = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
PLACES = np.array([0, 3, 1, -1], np.int32)


def examples(ref_fun, array, *args):
    """Returns results and contents of references from a loop over examples."""
    results, last = [], []
    for row, *rest in zip(array, *args, strict=True):
        ref = new_ref(row)
        results.append(ref_fun(ref, *rest))
        last.append(np.asarray(ref[...]))
    return np.array(results), np.stack(last)


def check(ref_fun, array, *args):
    expected, expected_last = examples(ref_fun, array, *args)
    for axis in (0, 1):
        for compiled in (False, True):
            ref = new_ref(np.moveaxis(array, 0, axis))
            mapped = vmap(ref_fun, in_axes=(axis, *[0] * len(args)))
            results = (jit(mapped) if compiled else mapped)(ref, *args)
            if results is not None:
                np.testing.assert_array_equal(results, expected)
            np.testing.assert_array_equal(np.moveaxis(np.asarray(ref[...]), axis, 0), expected_last)

    def inside(row, *rest):
        ref = new_ref(row)
        ref_fun(ref, *rest)
        return freeze(ref)

    np.testing.assert_array_equal(vmap(inside)(array, *args), expected_last)


INDICES = {
    "all": lambda i: (),
    "int": lambda i: 2,
    "slice": lambda i: slice(1, 3),
    "strided": lambda i: slice(0, 4, 2),
    "array": lambda i: np.array([2, 0]),
    "computed": lambda i: i,
    "computed_slice": lambda i: ds(i, 2),
    "computed_strided": lambda i: ds(lax.max(i, 0), 2, 2),
    "computed_array": lambda i: lax.add(np.array([0, 1], np.int32), lax.max(i, 0)),
}


@pytest.mark.parametrize("name", INDICES)
def test_reading_and_writing(name):
    index = INDICES[name]

    def use(ref, i):
        before = ref[index(i)]
        addupdate(ref, index(i), lax.mul(before, 2.0))
        return swap(ref, index(i), lax.neg(before))

    check(use, MATRIX, PLACES % 3)


PAIRS = {
    "slice_and_computed": lambda i: (slice(1, 3), i),
    "computed_and_slice": lambda i: (i, slice(1, 3)),
    "computed_slices": lambda i: (ds(i, 2), ds(lax.add(i, 1), 3)),
    "arrays_with_computed": lambda i: (np.array([0, 2]), i),
    "array_and_computed_slice": lambda i: (np.array([2, 0]), ds(i, 2)),
    "computed_slice_and_array": lambda i: (ds(i, 2), np.array([2, 0])),
    "arrays": lambda i: (np.array([[0], [1]]), np.array([2, 3])),
    "int_and_array": lambda i: (1, np.array([2, 3])),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_batched_indices_equal_a_loop(name):
    index = PAIRS[name]

    def use(ref, i):
        before = ref[index(i)]
        ref[index(i)] = lax.add(before, 100.0)
        return before

    check(use, CUBE, PLACES % 3)


VIEWS = {
    "chain": lambda ref, i: ref.at[1:].at[i],
    "transposed": lambda ref, i: ref.T.at[i],
    "reshaped": lambda ref, i: ref.reshape(6, 5).at[i],
    "bits": lambda ref, i: ref.bitcast(np.int32).at[i],
    "bits_of_rows": lambda ref, i: ref.at[i].bitcast(np.int16).at[ds(i, 2)],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_batched_references_equal_a_loop(name):
    def use(ref, i):
        view = VIEWS[name](ref, i)
        before = view[...]
        view[...] = lax.full_like(before, 7)
        return before

    check(use, CUBE, PLACES % 3)


class TestControlFlow:
    def test_references_in_scans_are_batched(self):
        def use(ref, i):
            def body(total, x):
                ref[0] = lax.add(ref[0], total)
                return lax.add(total, x), total

            return lax.scan(body, ref[i], np.arange(3, dtype=np.float32))[0]

        check(use, MATRIX, PLACES)

    def test_scan_over_a_reference(self):
        def use(ref, i):
            def body(total, x):
                x[...] = lax.mul(x[...], 2.0)
                return lax.add(total, x[...]), None

            return lax.scan(body, 0.0, ref)[0]

        check(use, MATRIX, PLACES)

    def test_references_in_branches_are_batched(self):
        def use(ref, i):
            lax.cond(lax.gt(i, 0), lambda: ref.set(-1.0, 0), lambda: ref.set(ref[0], 1))

        check(use, MATRIX, PLACES)

    def test_loops_with_batched_trip_count(self):
        def use(ref, i):
            def body(place):
                ref[place] = lax.add(ref[place], 1.0)
                return lax.add(place, 1)

            return lax.while_loop(lambda place: lax.lt(place, i), body, np.int32(0))

        check(use, MATRIX, np.abs(PLACES))

    def test_loops_with_unbatched_trip_count(self):
        def use(ref, i):
            lax.fori_loop(0, 3, lambda place, _: ref.set(lax.add(ref[place], ref[0]), place), None)

        check(use, MATRIX, PLACES)


class TestShared:
    def test_unbatched_references_are_read_by_all_examples(self):
        ref = new_ref(np.arange(4.0, dtype=np.float32))
        np.testing.assert_array_equal(vmap(lambda i: ref[i])(PLACES), [0, 3, 1, 3])
        assert vmap(lambda i: lax.add(ref[0], i))(np.ones(3, np.float32)).shape == (3,)

    def test_unbatched_write_to_an_outer_reference(self):
        ref = new_ref(np.zeros(2, np.float32))
        vmap(lambda x: ref.set(5.0, 0))(np.zeros(3))
        assert ref[0] == 5.0

    @pytest.mark.parametrize(
        ("write", "message"),
        [
            (lambda ref, x, i: ref.set(x, 0), "a set/swap operation with vmapped value"),
            (lambda ref, x, i: ref.set(1.0, i), "a set/swap operation with vmapped index"),
            (lambda ref, x, i: ref.addupdate(x, 0), "an addupdate operation with vmapped value"),
        ],
    )
    def test_batched_write_to_an_outer_reference_raises(self, write, message):
        ref = new_ref(np.zeros(4, np.float32))
        with pytest.raises(ValueError, match=message):
            vmap(lambda x, i: write(ref, x, i))(np.ones(4, np.float32), PLACES)


def test_new_references_are_batched():
    def fun(x):
        ref = new_ref(np.zeros(2, np.float32))
        ref[1] = x
        return get(ref)

    np.testing.assert_array_equal(vmap(fun)(np.arange(3, dtype=np.float32))[:, 1], [0, 1, 2])
    np.testing.assert_array_equal(
        vmap(vmap(fun))(np.ones((2, 3), np.float32)).sum(axis=-1), np.ones((2, 3))
    )


def test_programs_show_batched_references():
    def fun(x, i):
        ref = new_ref(x)
        ref[i] = 100.0
        return ref[1:3]

    program = make_olympuspr(vmap(fun))(MATRIX, PLACES)
    lines = [line.strip() for line in str(program).splitlines()]
    assert "c:Ref{f32[4,6]} = new_ref[kind=None memory_space=None] a" in lines
    assert "c[d,b] <- e" in lines
    assert "f:f32[4,2] <- c[:,1:3]" in lines
