# SPDX-License-Identifier: Apache-2.0
"""Comparison of indexing and indexed updates with NumPy, over random indices."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir import ShapedArray
from olympus_ir.diagnostics.errors import NonConcreteBooleanIndexError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.references.indexing import ds

SHAPES = [(), (1,), (5,), (0,), (3, 4), (4, 0), (2, 3, 4), (1, 2, 1, 3)]


def random_slice(size: int, draw: random.Random) -> slice:
    def bound():
        return draw.choice([None, draw.randint(-size - 2, size + 2)])

    return slice(bound(), bound(), draw.choice([None, 1, 2, 3, -1, -2]))


def random_index(shape: tuple, draw: random.Random, *, arrays: bool, unique: bool = False):
    """Returns a random legal index: integers, slices, None, ellipsis, arrays that broadcast."""
    parts: list = []
    axis = 0
    has_ellipsis = False
    array_shape = draw.choice([(2,), (3,), (2, 3), (1,), (2, 1)])
    stop = draw.randint(0, len(shape))
    while axis < stop:
        size = shape[axis]
        kinds = ["slice", "slice", "none"] + (["int", "scalar"] if size else [])
        if arrays and size:
            kinds += ["array", "array", "list"]
        if arrays:
            kinds.append("mask")
        if not has_ellipsis:
            kinds.append("ellipsis")
        kind = draw.choice(kinds)
        if kind == "slice":
            parts.append(random_slice(size, draw))
        elif kind == "int":
            parts.append(draw.randint(-size, size - 1))
        elif kind == "scalar":
            parts.append(np.int32(draw.randint(-size, size - 1)))
        elif kind == "array":
            own = draw.choice([array_shape, array_shape[-1:], (1,)])
            values = np.array([draw.randint(-size, size - 1) for _ in range(int(np.prod(own)))])
            parts.append(values.reshape(own).astype(draw.choice([np.int32, np.int8])))
        elif kind == "list":
            parts.append([draw.randint(-size, size - 1) for _ in range(array_shape[-1])])
        elif kind == "mask":
            mask = np.zeros(size, bool)
            # The mask has as many true elements as the other arrays have elements, so that they
            # broadcast.
            count = min(size, array_shape[-1])
            mask[draw.sample(range(size), count)] = True
            parts.append(mask)
        elif kind == "none":
            parts.append(None)
            continue
        else:
            parts.append(Ellipsis)
            has_ellipsis = True
            axis += draw.randint(0, max(len(shape) - stop, 0))
            if axis >= stop:
                break
            continue
        axis += 1
    return tuple(parts) if len(parts) != 1 or isinstance(parts[0], list) else parts[0]


def legal_cases(count: int, arrays: bool):
    draw = random.Random(17 if arrays else 3)
    while count:
        shape = draw.choice(SHAPES)
        index = random_index(shape, draw, arrays=arrays)
        x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
        try:
            expected = x[index]
        except (IndexError, ValueError):
            continue  # masks and index arrays that do not broadcast
        count -= 1
        yield x, index, expected


@pytest.mark.parametrize("arrays", [False, True])
def test_getitem_equals_numpy(arrays):
    for x, index, expected in legal_cases(150, arrays):
        result = jnp.asarray(x)[index]
        assert result.shape == expected.shape, (x.shape, index)
        np.testing.assert_array_equal(np.asarray(result), expected, err_msg=str((x.shape, index)))


@pytest.mark.parametrize("arrays", [False, True])
def test_getitem_under_trace_has_same_shape(arrays):
    for x, index, expected in legal_cases(60, arrays):
        closed = trace_to_closed(lambda y, index=index: [y[index]], [ShapedArray(x.shape, x.dtype)])
        assert closed.out_avals[0].shape == expected.shape, (x.shape, index)


def test_at_set_equals_numpy_assignment():
    for arrays in (False, True):
        for x, index, expected in legal_cases(80, arrays):
            values = -np.arange(1, expected.size + 1, dtype=np.float32).reshape(expected.shape)
            wanted = x.copy()
            if len(set(np.ravel(expected))) != expected.size:
                values = np.float32(-1)  # with repeated indices, any of the values may be kept
            wanted[index] = values
            result = jnp.asarray(x).at[index].set(values)
            np.testing.assert_array_equal(np.asarray(result), wanted, err_msg=str((x.shape, index)))


@pytest.mark.parametrize(
    ("name", "ufunc"),
    [
        ("add", np.add),
        ("subtract", np.subtract),
        ("multiply", np.multiply),
        ("min", np.minimum),
        ("max", np.maximum),
    ],
)
def test_at_applies_all_updates(name, ufunc):
    x = np.array([1.0, 2.0, 3.0], np.float32)
    index = np.array([0, 0, 2])
    values = np.array([2.0, 4.0, 0.5], np.float32)
    wanted = x.copy()
    ufunc.at(wanted, index, values)
    result = getattr(jnp.asarray(x).at[index], name)(values)
    np.testing.assert_allclose(np.asarray(result), wanted)


def test_at_divide_power_and_apply():
    x = jnp.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(np.asarray(x.at[1:].divide(2.0)), [1.0, 1.0, 2.0])
    np.testing.assert_allclose(np.asarray(x.at[1].power(3.0)), [1.0, 8.0, 4.0])
    np.testing.assert_allclose(np.asarray(x.at[:2].apply(jnp.negative)), [-1.0, -2.0, 4.0])
    np.testing.assert_allclose(np.asarray(x.at[0].mul(5.0)), [5.0, 2.0, 4.0])


class TestOutOfRange:
    x = np.array([1.0, 2.0, 3.0], np.float32)

    def test_getitem_clips_out_of_bounds_indices(self):
        x = jnp.asarray(self.x)
        assert float(x[7]) == 3.0
        assert float(x[-9]) == 1.0
        np.testing.assert_array_equal(np.asarray(x[jnp.array([5, -7])]), [3.0, 1.0])

    def test_at_get_fills_out_of_bounds_indices(self):
        x = jnp.asarray(self.x)
        filled = x.at[jnp.array([0, 7])].get(mode="fill", fill_value=-1.0)
        np.testing.assert_array_equal(np.asarray(filled), [1.0, -1.0])
        assert np.isnan(float(x.at[7].get(mode="fill")))
        assert int(jnp.array([1, 2]).at[7].get(mode="fill")) == np.iinfo(np.int32).min

    def test_out_of_bounds_updates_are_dropped_or_clipped(self):
        x = jnp.asarray(self.x)
        np.testing.assert_array_equal(np.asarray(x.at[7].set(0.0)), self.x)
        np.testing.assert_array_equal(np.asarray(x.at[-9].set(0.0)), self.x)
        np.testing.assert_array_equal(np.asarray(x.at[7].set(0.0, mode="clip")), [1.0, 2.0, 0.0])

    def test_wrap_negative_indices_option(self):
        x = jnp.asarray(self.x)
        result = x.at[jnp.array([-1])].set(0.0, wrap_negative_indices=False)
        np.testing.assert_array_equal(np.asarray(result), self.x)

    def test_unknown_modes_raise(self):
        with pytest.raises(ValueError, match="Unknown gather mode"):
            jnp.asarray(self.x).at[0].set(1.0, mode="nearest")


def test_masks_select_as_in_numpy():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = jnp.asarray(x)
    np.testing.assert_array_equal(np.asarray(y[y > 5]), x[x > 5])
    np.testing.assert_array_equal(np.asarray(y[jnp.array([True, False, True])]), x[[0, 2]])
    np.testing.assert_array_equal(np.asarray(y[True]), x[True])
    np.testing.assert_array_equal(np.asarray(y[False]), x[False])
    wanted = x.copy()
    wanted[x > 5] = 0
    np.testing.assert_array_equal(np.asarray(y.at[y > 5].set(0.0)), wanted)


def test_traced_indices_have_the_types_of_results():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    scalar, vector = ShapedArray((), np.int32), ShapedArray((2,), np.int32)
    for function, avals, shape in [
        (lambda i: [jnp.asarray(x)[i]], [scalar], (4,)),
        (lambda i: [jnp.asarray(x)[:, i]], [scalar], (3,)),
        (lambda i: [jnp.asarray(x)[i, 1:3]], [scalar], (2,)),
        (lambda i: [jnp.asarray(x)[i, ::-2]], [scalar], (2,)),
        (lambda v: [jnp.asarray(x)[v, ::2]], [vector], (2, 2)),
        (lambda v, i: [jnp.asarray(x)[v, i]], [vector, scalar], (2,)),
        (lambda i: [jnp.asarray(x).at[i].set(0.0)], [scalar], (3, 4)),
    ]:
        assert trace_to_closed(function, avals).out_avals[0].shape == shape


@pytest.mark.parametrize(
    ("index", "error", "match"),
    [
        ((0, 0, 0), IndexError, "Too many indices"),
        ((..., ...), IndexError, "single ellipsis"),
        (1.5, TypeError, "integer or boolean type"),
        (np.array([1.5]), TypeError, "integer or boolean type"),
        ([0, 1], TypeError, "non-tuple sequence"),
        ("a", TypeError, "string indexing"),
        (np.array([True, False]), IndexError, "boolean index did not match"),
        (slice(0, 2, 0), ValueError, "zero"),
        (slice(0.5, 1), TypeError, "__index__"),
        ((np.array([0, 1]), np.array([0, 1, 0])), ValueError, "Incompatible shapes for broad"),
        (object(), IndexError, "only integers, slices"),
        ({"a": 1}, IndexError, "only integers, slices"),
        (jnp.int32, IndexError, "only integers, slices"),
    ],
)
def test_unsuitable_indices_raise(index, error, match):
    with pytest.raises(error, match=match):
        jnp.zeros((3, 4))[index]


def test_errors_of_traced_indices():
    mask = ShapedArray((3,), np.bool_)
    with pytest.raises(NonConcreteBooleanIndexError):
        trace_to_closed(lambda m: [jnp.zeros(3)[m]], [mask])
    with pytest.raises(NonConcreteBooleanIndexError):
        trace_to_closed(lambda m: [jnp.zeros(3).at[m].set(jnp.ones(2))], [mask])
    with pytest.raises(IndexError, match="static integers"):
        trace_to_closed(lambda i: [jnp.zeros(3)[i:]], [ShapedArray((), np.int32)])


def test_updates_of_mismatched_shape_or_dtype():
    x = jnp.zeros(3)
    with pytest.raises(ValueError, match="do not fit"):
        x.at[:2].set(jnp.ones(3))
    with pytest.warns(FutureWarning, match="incompatible types"):
        result = jnp.zeros(3, int).at[0].set(1.5)
    assert result.dtype == np.int32
    assert int(result[0]) == 1
    assert x.at[0].set(2).dtype == np.float32
    with pytest.raises(TypeError):
        x.at[0].set("a")


def test_arrays_are_immutable():
    with pytest.raises(TypeError, match=r"\.at\[idx\]"):
        jnp.zeros(3)[0] = 1.0


def test_weak_types_are_kept():
    x = jnp.broadcast_to(1.0, (3,))
    assert x.weak_type
    assert x[0].weak_type
    assert x.at[0].set(2.0).weak_type


def test_take_and_take_along_axis():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    index = np.array([[2, 0], [1, 1]])
    for axis in (None, 0, 1, -1):
        np.testing.assert_array_equal(
            np.asarray(jnp.take(x, index, axis=axis)), np.take(x, index, axis=axis)
        )
    order = np.argsort(-x, axis=1)
    np.testing.assert_array_equal(
        np.asarray(jnp.take_along_axis(x, order, axis=1)), np.take_along_axis(x, order, axis=1)
    )
    np.testing.assert_array_equal(
        np.asarray(jnp.take_along_axis(x, np.array([[1, 0, 2, 1]]), axis=0)),
        np.take_along_axis(x, np.array([[1, 0, 2, 1]]), axis=0),
    )
    assert np.isnan(float(jnp.take(jnp.ones(3), 5)))
    assert float(jnp.take(jnp.arange(3.0), 5, mode="clip")) == 2.0
    assert float(jnp.take(jnp.arange(3.0), 5, mode="wrap")) == 2.0
    wanted = x.copy()
    np.put_along_axis(wanted, np.array([[1], [0], [3]]), -1.0, axis=1)
    np.testing.assert_array_equal(
        np.asarray(jnp.put_along_axis(x, np.array([[1], [0], [3]]), -1.0, axis=1, inplace=False)),
        wanted,
    )
    with pytest.raises(ValueError, match="in-place"):
        jnp.put(x, index, 0.0)


def test_unravel_index_of_floats_and_booleans():
    rows, columns = jnp.unravel_index(jnp.array([1.0, 4.0, -1.0]), (2, 3))
    np.testing.assert_array_equal(rows, [0, 1, 1])
    np.testing.assert_array_equal(columns, [1, 1, 2])
    assert rows.dtype == np.float32
    assert jnp.unravel_index(jnp.array([True]), (2, 3))[1].dtype == np.int32
    with pytest.raises(TypeError, match="must be real numbers"):
        jnp.unravel_index(jnp.array([1j]), (2, 3))


def test_updates_take_lists():
    x = jnp.zeros((2, 3))
    np.testing.assert_array_equal(x.at[1].set([1, 2, 3])[1], [1, 2, 3])
    np.testing.assert_array_equal(x.at[:, 0].add((1.5, 2.5))[:, 0], [1.5, 2.5])
    with pytest.raises(ValueError, match="None is not a valid value"):
        x.at[0].set(None)


@pytest.mark.parametrize(
    ("dtype", "value", "warned"),
    [
        ("bool", -1, True),
        ("bool", True, False),
        ("int32", 1.5, True),
        ("int32", 1, False),
        ("float32", np.float64(1.5), False),
        ("float32", [1, 1], False),
        ("int8", [1, 1], True),
    ],
)
def test_lossy_updates_warn_at_every_call(dtype, value, warned):
    x = jnp.zeros(2, dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            x.at[:].set(value)
    found = [one for one in caught if "cannot safely cast" in str(one.message)]
    assert len(found) == (2 if warned else 0)


def test_updates_warn_of_imaginary_parts():
    with pytest.warns(FutureWarning), pytest.warns(np.exceptions.ComplexWarning):
        result = jnp.zeros(2).at[0].set(1 + 2j)
    np.testing.assert_array_equal(result, [1, 0])


def test_axes_without_elements():
    x = jnp.zeros((0, 3))
    assert x.at[np.array([0, 1])].set(1.0).shape == (0, 3)
    with pytest.raises(IndexError, match="out of bounds"):
        _ = x[np.array([0])]
    with pytest.raises(IndexError, match="non-empty jnp.take"):
        jnp.take(x, np.array([0]), axis=0)
    result = jnp.take_along_axis(x, np.zeros((1, 3), np.int32), 0)
    np.testing.assert_array_equal(result, np.full((1, 3), np.nan))


def test_fill_values_are_scalars():
    with pytest.raises(ValueError, match="must be a scalar"):
        jnp.zeros(3).at[5].get(mode="fill", fill_value=np.ones(1))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (0, 0)])
def test_empty_masks_select_nothing(shape):
    x = jnp.arange(12.0).reshape(3, 4)
    mask = np.zeros(shape, bool)
    assert x[mask].shape == (0, *x.shape[len(shape) :])
    assert x.at[mask].set(9.0).tolist() == x.tolist()
    with pytest.raises(IndexError, match="boolean index did not match"):
        x[np.zeros((2, 0), bool)]


@pytest.mark.parametrize("index", [-1, (-1, slice(1, 3)), (-2, np.array([0, 2]))])
@pytest.mark.parametrize("traced", [False, True])
def test_unwrapped_negative_indices_are_out_of_range(index, traced):
    x = jnp.arange(12.0).reshape(3, 4)

    def evaluate(x):
        updated = x.at[index].add(5.0, wrap_negative_indices=False)
        filled = x.at[index].get(mode="fill", fill_value=-7.0, wrap_negative_indices=False)
        return updated, filled

    updated, filled = (jit(evaluate) if traced else evaluate)(x)
    np.testing.assert_array_equal(updated, x)
    np.testing.assert_array_equal(filled, np.full(np.shape(np.asarray(x)[index]), -7.0))


class TestSlicesOfSize:
    """Slices with a size and a start that may be computed, against slices of NumPy."""

    x = np.arange(60.0, dtype=np.float32).reshape(3, 4, 5)

    @pytest.mark.parametrize(
        ("index", "expected"),
        [
            (lambda i: ds(i, 2), np.s_[1:3]),
            (lambda i: (2, ds(i, 3)), np.s_[2, 1:4]),
            (lambda i: (Ellipsis, ds(i, 2, 3)), np.s_[..., 1:5:3]),
            (lambda i: (None, ds(i, 2), slice(None, None, -1)), np.s_[None, 1:3, ::-1]),
            (lambda i: ([0, 2], ds(i, 2)), np.s_[[0, 2], 1:3]),
            (lambda i: (0, ds(i, 2), np.array([4, 0])), np.s_[0, 1:3, [4, 0]]),
            (lambda i: ([0, 2], ds(i, 2), [1, 3]), np.s_[[0, 2], 1:3, [1, 3]]),
            (lambda i: (ds(i, 0), 1), np.s_[1:1, 1]),
        ],
    )
    def test_equal_slices_with_bounds(self, index, expected):
        x, start = jnp.asarray(self.x), jnp.asarray(1)
        for found in (
            x[index(1)],
            x[index(start)],
            jit(lambda x: x[index(1)])(x),
            jit(lambda x, i: x[index(i)])(x, start),
            x.at[index(start)].get(mode="fill"),
        ):
            np.testing.assert_array_equal(found, self.x[expected])
        changed = self.x.copy()
        changed[expected] = -1
        for found in (
            x.at[index(1)].set(-1),
            jit(lambda x, i: x.at[index(i)].set(-1))(x, start),
        ):
            np.testing.assert_array_equal(found, changed)

    @pytest.mark.parametrize("start", [-4, -1, 2, 3, 9])
    def test_starts_out_of_bounds(self, start):
        """Slices move into the array when they are read; writes that do not fit are dropped."""
        x = np.arange(5)
        first = start + 5 if start < 0 else start
        moved, fits = min(first, 2), first <= 2
        for i in (start, jnp.asarray(start)):
            whole = jnp.asarray(x)
            np.testing.assert_array_equal(whole[ds(i, 3)], x[moved : moved + 3])
            filled = whole.at[ds(i, 3)].get(mode="fill", fill_value=-7)
            np.testing.assert_array_equal(filled, x[first : first + 3] if fits else [-7] * 3)
            written = np.where((x >= first) & (x < first + 3) & fits, -1, x)
            np.testing.assert_array_equal(whole.at[ds(i, 3)].set(-1), written)
            clipped = np.where((x >= moved) & (x < moved + 3), -1, x)
            np.testing.assert_array_equal(whole.at[ds(i, 3)].set(-1, mode="clip"), clipped)

    def test_whole_dimensions(self):
        x = jnp.arange(3)
        np.testing.assert_array_equal(x[ds(2, 3)], [0, 1, 2])
        np.testing.assert_array_equal(x.at[ds(2, 3)].set(9), [0, 1, 2])
        np.testing.assert_array_equal(x.at[ds(jnp.asarray(0), 3)].set(9), [9, 9, 9])

    def test_sizes_are_known_and_fit(self):
        x = jnp.arange(4)
        with pytest.raises(TypeError, match="must be less than or equal to operand shape"):
            x[ds(0, 5)]
        with pytest.raises(TypeError, match="spans 5 elements, for a dimension of size 4"):
            x[ds(0, 3, 2)]
        with pytest.raises(TypeError, match="Shapes must be 1D sequences of concrete values"):
            jit(lambda n: x[ds(0, n)])(2)
        with pytest.raises(IndexError, match="Too many indices"):
            x[0, ds(0, 1)]


def test_integers_beside_arrays_of_indices_along_empty_axes() -> None:
    x, t = jnp.zeros((0, 4)), jnp.zeros((0, 3, 4))
    some, none = np.array([0, 1]), np.array([], int)
    assert x[0, none].shape == (0,) and t[-1, none].shape == (0, 4)
    for updated in (
        x.at[0, some].set(1.0),
        x.at[-1, some].add(1.0),
        x.at[np.array(0), some].multiply(2.0),
        x.at[0, none].set(1.0),
    ):
        assert updated.shape == (0, 4)
    assert x.T.at[some, 0].set(1.0).shape == (4, 0)
    assert t.at[0, :, some].set(1.0).shape == (0, 3, 4)
    assert jit(lambda x: x.at[0, some].max(1.0))(x).shape == (0, 4)


@pytest.mark.parametrize(
    "read",
    [
        lambda x, some: x[0],
        lambda x, some: x[0, some],
        lambda x, some: x[0, None, some],
        lambda x, some: x[some],
        lambda x, some: x.at[0, some].get(mode="fill", fill_value=7.0),
        lambda x, some: x.at[0].set(1.0),
    ],
)
def test_elements_of_empty_axes_are_not_read(read) -> None:
    with pytest.raises(IndexError, match="size 0"):
        read(jnp.zeros((0, 4)), np.array([0, 1]))
