# SPDX-License-Identifier: Apache-2.0
"""Reductions of windows compared with NumPy's sliding windows; programs and errors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olympus_ir import lax, make_olympuspr
from olympus_ir.lax.windows.folds import Windows
from olympus_ir.lax.windows.reductions import (
    select_and_gather_add,
    select_and_scatter,
    select_and_scatter_add,
)

X = np.arange(72, dtype=np.float32).reshape(8, 9)


def primitives(fun, *args):
    return [str(equation.primitive) for equation in make_olympuspr(fun)(*args).eqns]


def sliding(x, fill, dimensions, strides, padding, base, dilation):
    """The elements of each window, in one last dimension."""
    for axis, step in enumerate(base):
        size = x.shape[axis]
        spread_shape = list(x.shape)
        spread_shape[axis] = (size - 1) * step + 1 if size else 0
        spread = np.full(spread_shape, fill, x.dtype)
        places = [slice(None)] * x.ndim
        places[axis] = slice(None, None, step)
        spread[tuple(places)] = x
        x = spread
    x = np.pad(x, padding, constant_values=fill)
    reach = [(size - 1) * step + 1 for size, step in zip(dimensions, dilation, strict=True)]
    if any(size < needed for size, needed in zip(x.shape, reach, strict=True)):
        counts = [
            max((size - needed) // stride + 1, 0)
            for size, needed, stride in zip(x.shape, reach, strides, strict=True)
        ]
        return np.zeros((*counts, 1), x.dtype)
    windows = np.lib.stride_tricks.sliding_window_view(x, reach)
    starts = tuple(slice(None, None, stride) for stride in strides)
    steps = tuple(slice(None, None, step) for step in dilation)
    windows = windows[(*starts, *steps)]
    return windows.reshape(*windows.shape[: x.ndim], -1)


@st.composite
def geometries(draw):
    count = draw(st.integers(1, 2))

    def integers(low, high):
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    pads = list(zip(integers(0, 3), integers(0, 3), strict=True))
    return (
        integers(0, 5),
        (integers(1, 3), integers(1, 3), pads, integers(1, 2), integers(1, 2)),
    )


@given(geometries())
def test_window_reductions_equal_those_of_slices(arguments):
    shape, window = arguments
    x = np.random.default_rng(0).integers(-9, 10, shape).astype(np.float32)
    for init, computation, reduce in (
        (0, lax.add, np.sum),
        (-np.inf, lax.max, np.max),
        (np.inf, lax.min, np.min),
        (1, lax.mul, np.prod),
    ):
        result = lax.reduce_window(x, init, computation, *window)
        expected = reduce(sliding(x, init, *window), axis=-1)
        if 0 in expected.shape:
            assert result.shape == expected.shape
        else:
            np.testing.assert_array_equal(result, expected)
        shape_of_result = lax.reduce_window_shape_tuple(shape, *window)
        assert result.shape == shape_of_result


def test_negative_padding_removes_elements():
    result = lax.reduce_window(X, 0, lax.add, (1, 2), (1, 1), [(-1, -2), (1, -1)])
    inner = np.pad(X[1:-2, :-1], ((0, 0), (1, 0)))
    np.testing.assert_array_equal(result, inner[:, 1:] + inner[:, :-1])


def test_padding_strings_keep_or_shrink_the_shape():
    for padding in ("SAME", "same", "SAME_LOWER"):
        assert lax.reduce_window(X, 0, lax.add, (2, 3), (2, 2), padding).shape == (4, 5)
    dilated = lax.reduce_window(X, 0, lax.add, (2, 3), (2, 2), "SAME", None, (3, 2))
    assert dilated.shape == (4, 5)
    assert lax.reduce_window(X, 0, lax.add, (2, 3)).shape == (7, 7)


def test_known_reductions_use_their_own_primitives():
    def recorded(init, computation, x=X):
        return primitives(lambda x: lax.reduce_window(x, init, computation, (2, 2)), x)

    assert recorded(0, lax.add) == ["reduce_window_sum"]
    assert recorded(np.int32(0), lax.add) == ["reduce_window_sum"]
    assert recorded(-np.inf, lax.max) == ["reduce_window_max"]
    assert recorded(np.inf, lax.min) == ["reduce_window_min"]
    assert recorded(-np.inf, lax.max, X.astype(np.int32)) == ["reduce_window_max"]
    assert recorded(np.iinfo(np.int32).min, lax.max, X.astype(np.int32)) == ["reduce_window_max"]
    assert recorded(np.inf, lax.min, X.astype(np.uint8)) == ["reduce_window_min"]
    assert recorded(-np.inf, lax.max, X.astype(ml_dtypes.bfloat16)) == ["reduce_window_max"]
    assert recorded(0.0, lax.max) == ["reduce_window"]
    assert recorded(1.0, lax.add) == ["reduce_window"]
    assert recorded(0.0, lambda x, y: x + y) == ["reduce_window"]


def test_a_function_is_traced_once():
    traced = []

    def computation(x, y):
        traced.append(x)
        return lax.mul(x, y)

    for _ in range(2):
        lax.reduce_window(X, 1.0, computation, (2, 2))
    assert len(traced) == 1


def test_several_operands_are_reduced_together():
    def first_largest(best, element):
        (x, i), (y, j) = best, element
        larger = lax.bitwise_or(lax.gt(x, y), lax.bitwise_and(lax.eq(x, y), lax.lt(i, j)))
        return lax.select(larger, x, y), lax.select(larger, i, j)

    x = np.array([3.0, 1.0, 2.0, 2.0, 5.0], np.float32)
    operands = (x, np.arange(5, dtype=np.int32))
    values, places = lax.reduce_window(operands, (-np.inf, np.int32(9)), first_largest, (2,))
    assert np.asarray(values).tolist() == [3, 2, 2, 5]
    assert np.asarray(places).tolist() == [0, 2, 2, 4]
    tree = {"a": x, "b": x}
    result = lax.reduce_window(
        tree, {"a": 0.0, "b": 1.0}, lambda p, q: {"a": p["a"] + q["a"], "b": p["b"]}, (2,)
    )
    assert set(result) == {"a", "b"}


@pytest.mark.parametrize(
    ("error", "message", "changes"),
    [
        (TypeError, "wrong number of window_dimensions", {"window_dimensions": (2,)}),
        (TypeError, "inconsistent window_strides", {"window_strides": (2,)}),
        (TypeError, "inconsistent padding", {"padding": [(0, 0)]}),
        (TypeError, "inconsistent base_dilation", {"base_dilation": (1,)}),
        (TypeError, "inconsistent window_dilation", {"window_dilation": (1,)}),
        (TypeError, "window_dimensions must have every element", {"window_dimensions": (0, 2)}),
        (TypeError, "window_strides must have every element", {"window_strides": (0, 2)}),
        (
            TypeError,
            "window_strides must have every element",
            {"window_strides": (0, 2), "padding": "SAME"},
        ),
        (TypeError, "All dilations must be positive", {"base_dilation": (0, 2)}),
        (TypeError, "must be a sequence of integers", {"window_dimensions": 2}),
        (TypeError, "must be a sequence of integers", {"window_strides": (1.0, 1.0)}),
        (RuntimeError, "Unrecognized padding type", {"padding": "SOME"}),
        (ValueError, r"padding argument.*\(low, high\) pairs", {"padding": None}),
        (ValueError, "negative padding", {"padding": [(-5, -4), (0, 0)]}),
        (TypeError, r"init_values have shapes \[\(1,\)\]", {"init_value": np.zeros(1, np.float32)}),
        (TypeError, "inconsistent dtypes", {"init_value": np.int32(3)}),
        (
            TypeError,
            "got int32 and the initial value 0.5",
            {"operand": X.astype(np.int32), "init_value": 0.5},
        ),
        (ValueError, "same tree structure as init_values", {"init_value": (0.0,)}),
        (ValueError, "same tree structure as the operands", {"computation": lambda x, y: (x, y)}),
        (
            TypeError,
            r"float32\[\].*got.*int32\[\]",
            {"computation": lambda x, y: lax.convert_element_type(x, np.int32)},
        ),
        (TypeError, "does not accept dtype bool", {"operand": X > 3, "init_value": False}),
    ],
)
def test_invalid_input_raises(error, message, changes):
    arguments = {
        "operand": X,
        "init_value": 0.0,
        "computation": lax.add,
        "window_dimensions": (2, 2),
    }
    with pytest.raises(error, match=message):
        lax.reduce_window(**(arguments | changes))


def test_more_invalid_input_raises():
    with pytest.raises(ValueError, match="at least one operand"):
        lax.reduce_window((), (), lambda x, y: x, (2,))
    with pytest.raises(TypeError, match="must have the same shape"):
        lax.reduce_window((X, X[:7]), (0.0, 0.0), lambda x, y: x, (2, 2))

    def closes_over(x, scale):
        return lax.reduce_window(x, 0.0, lambda a, b: a + b * scale, (2, 2))

    with pytest.raises(NotImplementedError, match="closes over a traced value"):
        make_olympuspr(closes_over)(X, np.float32(2))


# ---- selections ----


def test_sources_are_added_to_selected_elements():
    x = np.array([[1, 5, 5, 2], [7, 0, 3, 7]], np.float32)
    window = ((1, 2), (1, 1), ((0, 0), (0, 0)))
    source = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    maxima = select_and_scatter_add(source, x, lax.ge_p, *window)
    assert np.asarray(maxima).tolist() == [[0, 1 + 2, 3, 0], [4, 0, 5, 6]]
    minima = select_and_scatter_add(source, x, lax.le_p, *window)
    assert np.asarray(minima).tolist() == [[1, 2, 0, 3], [0, 4 + 5, 6, 0]]
    tangents = np.arange(8, dtype=np.float32).reshape(2, 4)
    gathered = select_and_gather_add(tangents, x, lax.ge_p, *window, (1, 1), (1, 1))
    assert np.asarray(gathered).tolist() == [[1, 1, 2], [4, 6, 7]]
    product = select_and_scatter(x, lax.gt, *window, source, 1.0, lax.mul)
    assert np.asarray(product).tolist() == [[1, 1, 2 * 3, 1], [4, 1, 5, 6]]


def test_padding_is_never_selected():
    x = np.full(2, -np.inf, np.float32)
    source = np.ones(4, np.float32)
    window = ((2,), (1,), ((2, 1),))
    result = select_and_scatter(x, lax.ge, *window, source, 0.0, lax.add)
    assert np.asarray(result).tolist() == [2, 1]


def test_invalid_selections_raise():
    window = ((2,), (1,), ((0, 0),))
    x, source = np.ones(3, np.float32), np.ones(2, np.float32)
    with pytest.raises(TypeError, match=r"source shape \(3,\).*windows \(2,\)"):
        select_and_scatter_add(x, x, lax.ge_p, *window)
    with pytest.raises(TypeError, match="same dtypes"):
        select_and_scatter_add(source.astype(np.float16), x, lax.ge_p, *window)
    with pytest.raises(TypeError, match="same shape and dtype"):
        select_and_gather_add(source, x, lax.ge_p, *window, (1,), (1,))
    with pytest.raises(TypeError, match="one boolean scalar"):
        select_and_scatter(x, lax.add, *window, source, 0.0, lax.add)
    with pytest.raises(TypeError, match="scalar of the operand's dtype"):
        select_and_scatter(x, lax.ge, *window, source, np.int32(0), lax.add)


def test_indices_of_windows():
    windows = Windows((3, 2), (2, 1), (1, 1), ((1, 0), (0, 0)), (2, 1), (1, 1))
    # Rows of the dilated array: padding, 0, gap, 1, gap, 2.
    first, second = (windows.places(offset).tolist() for offset in windows.offsets())
    assert first == [[-1, -1], [0, 1], [-1, -1], [2, 3], [-1, -1]]
    assert second == [[0, 1], [-1, -1], [2, 3], [-1, -1], [4, 5]]
