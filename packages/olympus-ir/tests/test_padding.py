# SPDX-License-Identifier: Apache-2.0
"""Padded evaluation: valid elements equal those of the unpadded program for any padding."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import lax, primitives
from olympus_ir.lax import linalg
from olympus_ir.padding import Lengths, evaluate_padded, padding_rules
from olympus_ir.padding.counting import counted_sizes, positions_of_true
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.reference import reference_rules
from olympus_ir.symbolic import SymbolicScope, symbolic_shape
from olympus_ir.symbolic.expressions import evaluate
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_testing import assert_complete

FLOAT, INT, BOOL = np.float32, np.int32, np.bool_


def test_rules_are_complete():
    # What an expansion defines needs no rule of its own.
    assert_complete(
        padding_rules,
        [
            primitive
            for primitive in primitives()
            if primitive in reference_rules and primitive not in expansion_rules
        ],
    )


def random(shape, dtype, rng):
    if dtype is BOOL:
        return rng.random(shape) < 0.5
    if dtype is INT:
        return rng.integers(-5, 5, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def garbage(dtype):
    return {FLOAT: [np.nan, np.inf, -7.5], INT: [np.iinfo(INT).max, -3], BOOL: [True, False]}[dtype]


def check(fun, specs, sizes, first=4, last=8, rtol=1e-5):
    """Compares a function on padded arrays, with several paddings, with it on the true arrays."""
    rng = np.random.default_rng(0)
    names = sorted(sizes)
    constraints = [f"{name} >= {first}" for name in names] + [f"{name} <= {last}" for name in names]
    scope = SymbolicScope(constraints)
    shapes = [symbolic_shape(spec, scope=scope) for spec, _ in specs]
    avals = [ShapedArray(s, np.dtype(d)) for s, (_, d) in zip(shapes, specs, strict=True)]

    def flat(*args):
        results = fun(*args)
        return list(results) if isinstance(results, tuple | list) else [results]

    closed = trace_to_closed(flat, avals)
    true = [
        random(tuple(evaluate(size, sizes) for size in shape), dtype, rng)
        for shape, (_, dtype) in zip(shapes, specs, strict=True)
    ]
    expected = flat(*true)
    for choice in range(3):
        lengths = Lengths({name: np.int32(size) for name, size in sizes.items()})
        padded = []
        for x, shape, (_, dtype) in zip(true, shapes, specs, strict=True):
            fillings = garbage(dtype)
            longer = np.full(lengths.shape(shape), fillings[choice % len(fillings)], dtype)
            longer[tuple(map(slice, x.shape))] = x
            padded.append(longer)
        found = evaluate_padded(closed, lengths, padded)
        for out, aval, wanted in zip(found, closed.out_avals, expected, strict=True):
            assert get_aval(out).shape == lengths.shape(aval.shape)
            window = tuple(slice(evaluate(size, sizes)) for size in aval.shape)
            cut = np.asarray(out)[window]
            assert cut.shape == np.shape(wanted)
            np.testing.assert_allclose(cut, np.asarray(wanted), rtol=rtol, atol=1e-5)


N, NM, KN = ("n", FLOAT), ("n, m", FLOAT), ("3, n", FLOAT)
INTS, FLAGS = ("n", INT), ("n", BOOL)


def dot(lhs, rhs, contracted, batch=((), ())):
    return lax.dot_general(lhs, rhs, (contracted, batch))


def conv(x, kernel, **options):
    numbers = ("NCH", "OIH", "NCH")
    return lax.conv_general_dilated(x, kernel, dimension_numbers=numbers, **options)


OPERATIONS = {
    "elementwise": (lambda x: lax.exp(x) * x, [N]),
    "scalar operand": (lambda x: x * lax.reduce_max(x, (0,)), [N]),
    "select": (lambda p, x: lax.select(p, x, -x), [FLAGS, N]),
    "clamp": (lambda x: lax.clamp(np.float32(-0.5), x, np.float32(0.5)), [N]),
    "sum": (lambda x: lax.reduce_sum(x, (0,)), [N]),
    "sum of ints": (lambda x: lax.reduce_sum(x, (0,)), [INTS]),
    "sum of one axis": (lambda x: lax.reduce_sum(x, (1,)), [NM]),
    "prod": (lambda x: lax.reduce_prod(x, (0, 1)), [NM]),
    "max": (lambda x: lax.reduce_max(x, (0,)), [N]),
    "max of ints": (lambda x: lax.reduce_max(x, (0,)), [INTS]),
    "min": (lambda x: lax.reduce_min(x, (0,)), [NM]),
    "and": (lambda x: lax.reduce_and(x, (0,)), [FLAGS]),
    "and of ints": (lambda x: lax.reduce_and(x, (0,)), [INTS]),
    "or": (lambda x: lax.reduce_or(x, (0,)), [FLAGS]),
    "xor": (lambda x: lax.reduce_xor(x, (0,)), [INTS]),
    "argmax": (lambda x: lax.argmax(x, 0, np.int32), [NM]),
    "argmin": (lambda x: lax.argmin(x, 1, np.int32), [NM]),
    "reduce": (
        lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * b + a * 0, (0,)),
        [N],
    ),
    "cumsum": (lambda x: lax.cumsum(x, 0), [N]),
    "cumsum reversed": (lambda x: lax.cumsum(x, 1, reverse=True), [NM]),
    "cumprod reversed": (lambda x: lax.cumprod(x, 0, reverse=True), [N]),
    "cummax reversed": (lambda x: lax.cummax(x, 0, reverse=True), [N]),
    "cummin": (lambda x: lax.cummin(x, 0), [N]),
    "cumlogsumexp reversed": (lambda x: lax.cumlogsumexp(x, 0, reverse=True), [N]),
    "sort": (lambda x: lax.sort(x, dimension=0), [NM]),
    "sort ints": (lambda x: lax.sort(x), [INTS]),
    "sort flags": (lambda x: lax.sort(x), [FLAGS]),
    "sort two keys": (lambda i, x: lax.sort((i, x), num_keys=2), [INTS, N]),
    "top_k": (lambda x: lax.top_k(x, 3), [N]),
    "top_k of ints": (lambda x: lax.top_k(x, 4), [INTS]),
    "transpose": (lambda x: lax.transpose(x, (1, 0)), [NM]),
    "reverse": (lambda x: lax.rev(x, (0, 1)), [NM]),
    "merge leading": (lambda x: lax.reshape(x, (x.shape[0] * 3,)), [("n, 3", FLOAT)]),
    "merge trailing": (lambda x: lax.reshape(x, (3 * x.shape[1],)), [KN]),
    "merge both": (lambda x: lax.reshape(x, (x.shape[0] * x.shape[1],)), [NM]),
    "split trailing": (lambda x: lax.reshape(x, (3, x.shape[0] // 3)), [("3*n", FLOAT)]),
    "concatenate": (lambda x, y: lax.concatenate([x, y, x], 0), [N, ("m", FLOAT)]),
    "concatenate constants": (
        lambda x: lax.concatenate([np.ones(2, FLOAT), x, np.ones(1, FLOAT)], 0),
        [N],
    ),
    "split": (lambda x: lax.split(x, (1, x.shape[0] - 2, 1), 0), [N]),
    "stack": (lambda x: lax.stack([x, -x], 1), [N]),
    "tile": (lambda x: lax.tile(x, (2, 3)), [NM]),
    "pad": (lambda x: lax.pad(x, np.float32(2), [(1, 2, 0)]), [N]),
    "pad inside": (lambda x: lax.pad(x, np.float32(2), [(1, 2, 2)]), [N]),
    "pad negative": (lambda x: lax.pad(x, np.float32(2), [(-1, -2, 0)]), [N]),
    "pad by a length": (
        lambda x, y: lax.pad(x, np.float32(2), [(y.shape[0] - 3, 1, 0)]),
        [N, ("m", FLOAT)],
    ),
    "slice": (lambda x: lax.slice(x, (1,), (x.shape[0] - 1,)), [N]),
    "slice the end": (lambda x: lax.slice(x, (x.shape[0] - 2,), (x.shape[0],)), [N]),
    "strided slice": (lambda x: lax.slice(x, (1,), (x.shape[0],), (2,)), [N]),
    "dynamic slice": (lambda x: lax.dynamic_slice(x, (np.int32(7),), (2,)), [N]),
    "dynamic slice of a length": (
        lambda x: lax.dynamic_slice(x, (np.int32(1),), (x.shape[0] - 2,)),
        [N],
    ),
    "dynamic update": (
        lambda x: lax.dynamic_update_slice(x, np.ones(2, FLOAT), (np.int32(9),)),
        [N],
    ),
    "dynamic update of a length": (
        lambda x, y: lax.dynamic_update_slice(lax.concatenate([x, y], 0), y, (np.int32(2),)),
        [N, ("m", FLOAT)],
    ),
    "dot": (lambda x, y: dot(x, y, ((0,), (0,))), [N, N]),
    "dot of ints": (lambda x, y: dot(x, y, ((0,), (0,))), [INTS, INTS]),
    "matmul": (lambda x, y: dot(x, y, ((1,), (0,))), [NM, ("m, 2", FLOAT)]),
    "batch matmul": (lambda x, y: dot(x, y, ((1,), (1,)), ((0,), (0,))), [NM, NM]),
    "outer": (lambda x, y: dot(x, y, ((), ())), [N, ("m", FLOAT)]),
    "iota": (lambda x: lax.iota(INT, x.shape[0]), [N]),
    "mean": (lambda x: lax.reduce_sum(x, (0,)) / lax.size_array(x.shape[0], FLOAT), [N]),
    "convolve": (
        lambda x, k: conv(x, k, window_strides=(1,), padding=[(1, 1)]),
        [("1, 2, n", FLOAT), ("3, 2, 3", FLOAT)],
    ),
    "convolve with strides": (
        lambda x, k: conv(x, k, window_strides=(2,), padding="SAME"),
        [("1, 2, n", FLOAT), ("3, 2, 3", FLOAT)],
    ),
    "convolve dilated": (
        lambda x, k: conv(x, k, window_strides=(1,), padding=[(2, 1)], lhs_dilation=(2,)),
        [("1, 1, n", FLOAT), ("1, 1, 3", FLOAT)],
    ),
    "convolve a batch": (
        lambda x, k: conv(x, k, window_strides=(1,), padding="VALID"),
        [("n, 2, 6", FLOAT), ("3, 2, 3", FLOAT)],
    ),
    "convolve with a kernel of a length": (
        lambda x, k: conv(x, k, window_strides=(1,), padding=[(k.shape[2] - 1,) * 2]),
        [("1, 1, n", FLOAT), ("1, 1, m", FLOAT)],
    ),
    "window sum": (
        lambda x: lax.reduce_window(x, np.float32(0), lax.add, (3,), (2,), "SAME"),
        [("2*n", FLOAT)],
    ),
    "window max with varying padding": (
        lambda x: lax.reduce_window(x, np.float32(-np.inf), lax.max, (3,), (2,), "SAME"),
        [N],
    ),
    "window max": (
        lambda x: lax.reduce_window(x, np.float32(-np.inf), lax.max, (2,), (1,), "VALID"),
        [N],
    ),
    "window of all": (
        lambda x: lax.reduce_window(x, np.float32(np.inf), lax.min, (x.shape[0],), (1,), "VALID"),
        [N],
    ),
    "scan": (
        lambda x: lax.scan(lambda c, a: (c * np.float32(0.5) + a, c * a), np.float32(1), x),
        [N],
    ),
    "scan reversed": (
        lambda x: lax.scan(lambda c, a: (c - a * a, c), np.float32(1), x, reverse=True),
        [N],
    ),
    "scan with a length inside": (
        lambda x, y: lax.scan(lambda c, a: (c + a, lax.reduce_sum(c, (0,))), y, np.ones(3, FLOAT)),
        [N, N],
    ),
    "fori_loop": (
        lambda x: lax.fori_loop(
            0,
            x.shape[0],
            lambda i, c: c + lax.dynamic_index_in_dim(x, i, keepdims=False),
            np.float32(0),
        ),
        [N],
    ),
    "while_loop": (
        lambda x: lax.while_loop(
            lambda c: lax.reduce_sum(c, (0,)) < np.float32(50), lambda c: c * c + np.float32(1), x
        ),
        [N],
    ),
    "cond": (
        lambda x: lax.cond(lax.reduce_max(x, (0,)) > 0, lambda a: lax.cumsum(a, 0), lax.neg, x),
        [N],
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_padded_operations_equal_those_of_true_size(name):
    fun, specs = OPERATIONS[name]
    used = {letter for spec, _ in specs for letter in "nm" if letter in spec}
    for n, m in ((5, 7), (8, 4), (4, 8)):
        check(fun, specs, {name: size for name, size in (("n", n), ("m", m)) if name in used})


# ---- indices ----


def gathered(mode):
    def fun(x, indices):
        numbers = lax.GatherDimensionNumbers((), (0,), (0,))
        return lax.gather(x, lax.expand_dims(indices, (1,)), numbers, (1,), mode=mode)

    return fun


@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_gathers_from_padding(mode):
    """Indices beyond the true size are out of bounds."""
    fun = gathered(mode)
    indices = np.array([0, 3, 5, 6, 7, 8, 100, -1], INT)
    check(lambda x: fun(x, indices), [N], {"n": 6})
    check(lambda x, i: fun(x, i), [N, ("m", INT)], {"n": 6, "m": 7})


def test_gather_of_rows():
    def fun(x):
        numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
        indices = np.array([[2], [0], [7]], INT)
        return lax.gather(x, indices, numbers, (1, x.shape[1]), mode="clip")

    check(fun, [NM], {"n": 5, "m": 6})


@pytest.mark.parametrize("scatter", [lax.scatter, lax.scatter_add, lax.scatter_max])
@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_scatters_drop_padding(scatter, mode):
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    indices = np.array([[0], [5], [6], [7], [20]], INT)
    updates = np.arange(1, 6, dtype=FLOAT)
    fun = lambda x: scatter(x, indices, updates, numbers, mode=mode)  # noqa: E731
    if scatter is not lax.scatter or mode == "drop":  # else the order of equal indices is open
        check(fun, [N], {"n": 6})
    into_fixed = lambda x: lax.scatter_add(  # noqa: E731
        np.zeros(4, FLOAT), lax.broadcasted_iota(INT, (x.shape[0], 1), 0), x, numbers, mode=mode
    )
    check(into_fixed, [N], {"n": 6})


# ---- linear algebra ----


def positive(x):
    gram = dot(x, x, ((1,), (1,)))
    rows, columns = (lax.broadcasted_iota(INT, gram.shape, axis) for axis in (0, 1))
    return gram + lax.convert_element_type(lax.eq(rows, columns), FLOAT)


def test_linear_algebra_ignores_padding():
    check(lambda x: linalg.cholesky(positive(x)), [NM], {"n": 5, "m": 6}, rtol=1e-3)
    check(lambda x: linalg.lu(positive(x))[0], [NM], {"n": 5, "m": 6}, rtol=1e-3)
    check(
        lambda x, y: linalg.triangular_solve(
            linalg.cholesky(positive(x)), y, left_side=True, lower=True
        ),
        [NM, ("n, 2", FLOAT)],
        {"n": 5, "m": 6},
        rtol=1e-3,
    )
    check(
        lambda a, d, c, y: linalg.tridiagonal_solve(a, d + np.float32(9), c, y),
        [N, N, N, ("n, 2", FLOAT)],
        {"n": 5},
    )
    check(lambda x: linalg.svd(x, full_matrices=False)[1], [("n, 3", FLOAT)], {"n": 5})
    with pytest.raises(NotImplementedError, match=r"change the result of eigh of f32\[n,n\]"):
        check(lambda x: linalg.eigh(positive(x))[1], [NM], {"n": 5, "m": 6})


# ---- refusals ----


def test_callbacks_of_padded_arrays_are_refused():
    with pytest.raises(NotImplementedError, match="would receive the padding"):
        check(
            lambda x: lax.pure_callback(np.sin, x, x),
            [N],
            {"n": 5},
        )


def test_unbounded_dimensions_raise():
    (n,) = symbolic_shape("n")
    closed = trace_to_closed(lambda x: [lax.cumsum(x, 0)], [ShapedArray((n,), np.dtype(FLOAT))])
    with pytest.raises(NotImplementedError, match="the size n has no known upper bound"):
        evaluate_padded(closed, Lengths({"n": np.int32(3)}), [np.ones(4, FLOAT)])


# ---- counted sizes ----


def test_counted_sizes_bound_results():
    scope = SymbolicScope()

    def fun(x):
        positions = positions_of_true(lax.gt(x, np.float32(0)))
        again = positions_of_true(lax.gt(x, np.float32(0)))
        assert again is positions
        other = positions_of_true(lax.lt(x, np.float32(0)))
        assert other.shape != positions.shape
        return [positions, lax.add(positions, again), other]

    with counted_sizes(scope):
        closed = trace_to_closed(fun, [ShapedArray((6,), np.dtype(FLOAT))])
    x = np.array([1, -1, 2, -2, 0, 3], FLOAT)
    lengths = Lengths({})
    found = evaluate_padded(closed, lengths, [x])
    sizes = [int(lengths.value(aval.shape[0])) for aval in closed.out_avals]
    assert sizes == [3, 3, 2]
    cut = [np.asarray(each)[:size] for each, size in zip(found, sizes, strict=True)]
    np.testing.assert_array_equal(cut[0], np.flatnonzero(x > 0))
    np.testing.assert_array_equal(cut[1], 2 * np.flatnonzero(x > 0))
    np.testing.assert_array_equal(cut[2], np.flatnonzero(x < 0))
