# SPDX-License-Identifier: Apache-2.0
"""Comparison of functions with NumPy's, over shapes with and without elements, and over dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir.programs.make import make_olympuspr

SHAPES = [(), (1,), (4,), (0,), (2, 3), (3, 0), (2, 1, 3)]
DTYPES = [np.float32, np.int32, np.bool_, np.uint8, np.complex64]


def numbers(shape, dtype, seed=0, positive=False):
    generator = np.random.default_rng(seed)
    if dtype == np.bool_:
        return generator.random(shape) < 0.5
    if np.issubdtype(dtype, np.integer):
        low = 1 if positive or np.issubdtype(dtype, np.unsignedinteger) else -9
        return generator.integers(low, 10, shape).astype(dtype)
    values = generator.normal(size=shape)
    if positive:
        values = np.abs(values) + 0.1
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * generator.normal(size=shape)
    return np.asarray(values, dtype)


def check(result, expected, rtol=1e-5, atol=1e-5):
    results = result if isinstance(result, tuple | list) else [result]
    wanted = expected if isinstance(result, tuple | list) else [expected]
    assert len(results) == len(wanted)
    for one, other in zip(results, wanted, strict=True):
        other = np.asarray(other)
        assert one.shape == other.shape
        np.testing.assert_allclose(np.asarray(one), other, rtol=rtol, atol=atol)


REAL_UNARY = (
    "absolute arctan arcsinh cbrt ceil cos cosh deg2rad exp exp2 expm1 fabs floor negative rad2deg "
    "rint sign sin sinc sinh square tan tanh trunc isfinite isinf isnan signbit spacing positive "
    "logical_not reciprocal"
).split()
POSITIVE_UNARY = "log log1p log2 log10 sqrt frexp modf".split()


@pytest.mark.parametrize("name", REAL_UNARY)
def test_unary_functions_of_reals(name):
    for shape in SHAPES:
        x = numbers(shape, np.float32) + np.float32(0.01)
        check(getattr(jnp, name)(x), getattr(np, name)(x))


@pytest.mark.parametrize("name", POSITIVE_UNARY)
def test_unary_functions_of_positive_numbers(name):
    for shape in SHAPES:
        x = numbers(shape, np.float32, positive=True)
        check(getattr(jnp, name)(x), getattr(np, name)(x))


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh", "arccosh"])
def test_inverse_functions_equal_numpy(name):
    x = np.linspace(-0.9, 0.9, 7, dtype=np.float32)
    x = x + 2 if name == "arccosh" else x
    check(getattr(jnp, name)(x), getattr(np, name)(x))


@pytest.mark.parametrize(
    "name", ["exp", "log", "sin", "cos", "tanh", "sqrt", "conj", "angle", "abs"]
)
def test_unary_functions_of_complex_numbers(name):
    x = numbers((2, 3), np.complex64)
    check(getattr(jnp, name)(x), getattr(np, name)(x))


BINARY = (
    "add subtract multiply true_divide floor_divide remainder fmod maximum minimum fmax fmin "
    "arctan2 copysign hypot logaddexp logaddexp2 less less_equal greater greater_equal equal "
    "not_equal logical_and logical_or logical_xor nextafter divmod heaviside"
).split()
PAIRS = [((), ()), ((3,), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), (1,)), ((2, 3), (2, 3))]


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_broadcast(name):
    for first, second in PAIRS:
        x, y = numbers(first, np.float32, 1), numbers(second, np.float32, 2)
        check(getattr(jnp, name)(x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize(
    "name",
    "floor_divide remainder fmod gcd lcm bitwise_and bitwise_or bitwise_xor left_shift "
    "right_shift divmod".split(),
)
def test_binary_functions_of_integers(name):
    x, y = numbers((20,), np.int32, 3), numbers((20,), np.int32, 4, positive=True)
    if "shift" in name:
        y = y % 5
    check(getattr(jnp, name)(x, y), getattr(np, name)(x, y))


def test_integer_division_by_zero_is_defined():
    assert int(jnp.remainder(jnp.array(5), 0)) == 0
    assert int(jnp.fmod(jnp.array(5), 0)) == 0


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.array([2.0, 3.0], np.float32), 3),
        (np.array([2.0, 3.0], np.float32), -2),
        (np.array([2.0, 3.0], np.float32), 0.5),
        (np.array([2, -3], np.int32), np.array([3, 5], np.int32)),
        (np.array([0, 0, 5], np.int32), np.array([0, 3, 0], np.int32)),
        (np.array([2.0, 0.5], np.float32), np.array([2, -1], np.int32)),
        (2, np.array([1.0, 3.0], np.float32)),
    ],
)
def test_powers_equal_numpy(x, y):
    check(jnp.power(x, y), np.power(x, y).astype(np.result_type(x, np.float32)))
    check(jnp.asarray(x) ** y, np.power(x, y).astype(np.result_type(x, np.float32)))


REDUCTIONS = "sum prod mean std var any all nansum nanprod nanmean nanvar nanstd".split()
EXTREMES = "max min ptp nanmax nanmin median".split()


@pytest.mark.parametrize("name", REDUCTIONS + EXTREMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions_along_every_axis_equal_numpy(name):
    for shape in SHAPES:
        x = numbers(shape, np.float32)
        for axis in (None, *range(len(shape)), tuple(range(len(shape)))[:2], -1):
            if (isinstance(axis, int) and axis >= len(shape)) or (axis == -1 and not shape):
                continue
            if axis == () or (name in EXTREMES and 0 in shape):
                continue
            for keepdims in (False, True):
                result = getattr(jnp, name)(x, axis=axis, keepdims=keepdims)
                check(result, getattr(np, name)(x, axis=axis, keepdims=keepdims), rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_all_dtypes(dtype):
    x = numbers((3, 4), dtype)
    check(jnp.sum(x, axis=0), np.sum(x, axis=0))
    check(jnp.cumsum(x, axis=1), np.cumsum(x, axis=1))
    check(jnp.prod(x[:2]), np.prod(x[:2]))


def test_reductions_with_where_and_initial():
    x = numbers((3, 4), np.float32)
    mask = x > 0
    check(jnp.sum(x, axis=0, where=mask), np.sum(x, axis=0, where=mask))
    check(jnp.sum(x, where=mask, initial=2.0), np.sum(x, where=mask, initial=2.0))
    check(jnp.max(x, where=mask, initial=-5.0), np.max(x, where=mask, initial=-5.0))
    check(jnp.mean(x, axis=1, where=mask), np.mean(x, axis=1, where=mask))
    check(jnp.var(x, where=mask), np.var(x, where=mask))
    check(jnp.any(x, axis=0, where=mask), np.any(x, axis=0, where=mask))
    check(jnp.var(x, ddof=1), np.var(x, ddof=1))
    check(jnp.std(x, axis=0, correction=1), np.std(x, axis=0, ddof=1))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions_with_nan():
    x = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]], np.float32)
    for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanmax", "nanmin", "nancumsum"):
        check(getattr(jnp, name)(x, axis=1), getattr(np, name)(x, axis=1))
    assert list(np.asarray(jnp.nanargmax(x, axis=1))) == [2, -1]
    assert np.isnan(float(jnp.max(x)))


@pytest.mark.parametrize("name", ["argmax", "argmin", "cumsum", "cumprod", "argsort", "sort"])
def test_functions_along_an_axis(name):
    for shape in [(4,), (2, 3), (2, 1, 3)]:
        x = numbers(shape, np.float32)
        for axis in (None, 0, -1):
            check(getattr(jnp, name)(x, axis=axis), getattr(np, name)(x, axis=axis), rtol=1e-4)


SHAPING = [
    ("reshape", (2, 6), lambda f, x: f(x, (3, -1))),
    ("reshape", (2, 6), lambda f, x: f(x, (3, 4), order="F")),
    ("ravel", (2, 3), lambda f, x: f(x, order="F")),
    ("transpose", (2, 3, 4), lambda f, x: f(x, (2, 0, 1))),
    ("swapaxes", (2, 3, 4), lambda f, x: f(x, 0, -1)),
    ("moveaxis", (2, 3, 4), lambda f, x: f(x, (0, 1), (-1, 0))),
    ("rollaxis", (2, 3, 4), lambda f, x: f(x, 2, 1)),
    ("expand_dims", (2, 3), lambda f, x: f(x, (0, 2))),
    ("squeeze", (1, 3, 1), lambda f, x: f(x, 0)),
    ("broadcast_to", (3, 1), lambda f, x: f(x, (2, 3, 4))),
    ("flip", (2, 3), lambda f, x: f(x, 1)),
    ("rot90", (2, 3), lambda f, x: f(x, 3)),
    ("rot90", (2, 3, 2), lambda f, x: f(x, -1, (1, 2))),
    ("roll", (2, 5), lambda f, x: f(x, 3)),
    ("roll", (2, 5), lambda f, x: f(x, (1, -2), (0, 1))),
    ("tile", (2, 3), lambda f, x: f(x, (2, 1, 2))),
    ("repeat", (2, 3), lambda f, x: f(x, 2, axis=1)),
    ("repeat", (3,), lambda f, x: f(x, np.array([0, 2, 1]))),
    ("resize", (2, 3), lambda f, x: f(x, (4, 4))),
    ("concatenate", (2, 3), lambda f, x: f([x, x[:1]], axis=0)),
    ("concatenate", (2, 3), lambda f, x: f([x, x], axis=None)),
    ("stack", (2, 3), lambda f, x: f([x, x, x], axis=-1)),
    ("vstack", (3,), lambda f, x: f([x, x])),
    ("hstack", (3,), lambda f, x: f([x, x])),
    ("dstack", (2, 3), lambda f, x: f([x, x])),
    ("column_stack", (3,), lambda f, x: f([x, x])),
    ("split", (6, 2), lambda f, x: f(x, 3)),
    ("split", (6,), lambda f, x: f(x, [1, 4])),
    ("array_split", (7,), lambda f, x: f(x, 3)),
    ("append", (2, 3), lambda f, x: f(x, x, axis=0)),
    ("block", (2, 2), lambda f, x: f([[x, x], [x, x]])),
    ("tril", (3, 4), lambda f, x: f(x, 1)),
    ("triu", (2, 3, 3), lambda f, x: f(x, -1)),
    ("diag", (3,), lambda f, x: f(x, 1)),
    ("diag", (3, 4), lambda f, x: f(x, -1)),
    ("diagonal", (3, 4, 2), lambda f, x: f(x, 1, 0, 1)),
    ("trace", (3, 4, 2), lambda f, x: f(x)),
    ("pad", (2, 3), lambda f, x: f(x, ((1, 0), (2, 1)), constant_values=5)),
    ("pad", (5,), lambda f, x: f(x, (7, 6), mode="reflect")),
    ("pad", (5,), lambda f, x: f(x, (7, 6), mode="symmetric")),
    ("pad", (2, 3), lambda f, x: f(x, 4, mode="wrap")),
    ("pad", (2, 3), lambda f, x: f(x, 2, mode="edge")),
    ("pad", (3,), lambda f, x: f(x, 2, mode="linear_ramp")),
    ("pad", (4,), lambda f, x: f(x, 2, mode="mean", stat_length=2)),
    ("diff", (2, 5), lambda f, x: f(x, 2)),
    ("gradient", (5,), lambda f, x: f(x, 2.0)),
    ("insert", (2, 3), lambda f, x: f(x, 1, 9.0, axis=1)),
    ("insert", (4,), lambda f, x: f(x, np.array([0, 2]), np.array([7.0, 8.0]))),
    ("delete", (5,), lambda f, x: f(x, np.array([1, 3]))),
    ("delete", (5, 2), lambda f, x: f(x, slice(1, 3), axis=0)),
    ("select", (4,), lambda f, x: f([x > 0, x < -1], [x, -x], 7.0)),
    ("nan_to_num", (4,), lambda f, x: f(x / (x > 0), nan=1.0)),
    ("round", (4,), lambda f, x: f(x, 2)),
    ("clip", (4,), lambda f, x: f(x, -0.5, 0.5)),
    ("interp", (4,), lambda f, x: f(x, np.array([-1.0, 0.0, 2.0]), np.array([1.0, 3.0, 2.0]))),
    ("unwrap", (9,), lambda f, x: f(10 * x)),
    ("trapezoid", (3, 4), lambda f, x: f(x, dx=0.5, axis=0)),
    ("trapezoid", (3, 1), lambda f, x: f(x)),
    ("trapezoid", (3, 0), lambda f, x: f(x)),
    ("trapezoid", (0, 3), lambda f, x: f(x, np.zeros((0,)), axis=0)),
    ("trapezoid", (3, 4), lambda f, x: f(x, dx=np.array([0.5, 1.0, 2.0]))),
    ("trapezoid", (5,), lambda f, x: f(x + 1j * x[::-1], dx=0.5)),
    ("vander", (4,), lambda f, x: f(x, 3)),
    ("cov", (3, 5), lambda f, x: f(x)),
    ("corrcoef", (3, 5), lambda f, x: f(x)),
    ("quantile", (3, 5), lambda f, x: f(x, np.array([0.1, 0.5, 0.9]), axis=1)),
    ("percentile", (3, 5), lambda f, x: f(x, 30, axis=0, keepdims=True)),
    ("average", (3, 5), lambda f, x: f(x, axis=1, weights=np.arange(1.0, 6.0))),
    ("unique", (9,), lambda f, x: f(np.round(x), return_counts=True, return_inverse=True)),
    ("searchsorted", (9,), lambda f, x: f(np.sort(x), np.array([-1.0, 0.0, 1.0]))),
    ("digitize", (9,), lambda f, x: f(x, np.array([-1.0, 0.0, 1.0]), right=True)),
    ("histogram", (9,), lambda f, x: f(x, bins=4)),
    ("polyval", (4,), lambda f, x: f(x, np.array([0.5, 2.0]))),
    ("polyadd", (4,), lambda f, x: f(x, x[:2])),
    ("polyder", (4,), lambda f, x: f(x, 2)),
    ("polyint", (4,), lambda f, x: f(x, 2)),
    ("isin", (4,), lambda f, x: f(x, x[:2])),
    ("apply_along_axis", (3, 4), lambda f, x: f(lambda line: line[::2], 1, x)),
    ("apply_along_axis", (2, 3, 4, 5), lambda f, x: f(lambda line: line[::2], 0, x)),
    ("apply_along_axis", (2, 3, 4, 5), lambda f, x: f(lambda v: v[:2, None] * v[None], 1, x)),
]


@pytest.mark.parametrize(("name", "shape", "call"), SHAPING)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_arrays(name, shape, call):
    x = numbers(shape, np.float32)
    expected = call(getattr(np, name), x)
    arrays = jnp.asarray(x)
    check(call(getattr(jnp, name), arrays), expected, rtol=1e-4)


PRODUCTS = [
    ("dot", (3,), (3,)),
    ("dot", (2, 3), (3,)),
    ("dot", (2, 3, 4), (5, 4, 2)),
    ("dot", (), (2, 3)),
    ("matmul", (3,), (3,)),
    ("matmul", (2, 3), (3, 4)),
    ("matmul", (3,), (5, 3, 4)),
    ("matmul", (5, 2, 3), (3,)),
    ("matmul", (2, 1, 3, 4), (5, 4, 2)),
    ("matmul", (1, 3, 4), (5, 4, 2)),
    ("matmul", (0, 3), (3, 2)),
    ("matmul", (2, 0), (0, 3)),
    ("vdot", (2, 3), (2, 3)),
    ("inner", (2, 3), (4, 3)),
    ("outer", (2, 3), (4,)),
    ("tensordot", (2, 3, 4), (3, 4, 5)),
    ("kron", (2, 3), (3, 2)),
    ("kron", (3,), (2, 2)),
    ("cross", (4, 3), (4, 3)),
    ("cross", (4, 3), (3,)),
]


@pytest.mark.parametrize(("name", "first", "second"), PRODUCTS)
def test_products_of_every_dtype_equal_numpy(name, first, second):
    for dtype in (np.float32, np.int32, np.complex64):
        x, y = numbers(first, dtype, 1), numbers(second, dtype, 2)
        check(getattr(jnp, name)(x, y), getattr(np, name)(x, y), rtol=1e-4, atol=1e-4)


def test_products_of_stacks_of_vectors():
    x, y = numbers((2, 3, 4), np.float32), numbers((4,), np.float32)
    check(jnp.vecdot(x, y), np.einsum("ijk,k->ij", x, y))
    check(jnp.vecdot(x, x), np.einsum("ijk,ijk->ij", x, x))
    check(jnp.vecdot(x, x, axis=1), np.einsum("ijk,ijk->ik", x, x))
    check(jnp.matvec(x, y), x @ y)
    check(
        jnp.matvec(x, numbers((2, 4), np.float32)),
        np.einsum("ijk,ik->ij", x, numbers((2, 4), np.float32)),
    )
    check(
        jnp.vecmat(numbers((3,), np.float32), x),
        np.einsum("j,ijk->ik", numbers((3,), np.float32), x),
    )


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("ij,kj->ikj", (2, 3), (4, 3)),
    ("i,i->", (3,), (3,)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("iji->j", (3, 2, 3)),
    ("iij,ik->jk", (3, 3, 2), (3, 4)),
    ("...ij,jk->...ik", (5, 2, 3), (3, 4)),
    ("...ij,j...->i...", (5, 2, 3), (3, 5)),
    ("i...->...", (2, 3)),
    ("...,...", (2, 3), (3,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("i,j,k->ijk", (2,), (3,), (4,)),
    ("ijk,ilm,njm,nlk,abc->", (2, 3, 4), (2, 5, 6), (7, 3, 6), (7, 5, 4), (1, 2, 3)),
    ("i,i->i", (1,), (3,)),
    ("ij,jk->ik", (0, 3), (3, 2)),
    (" ij , jk -> ik ", (2, 3), (3, 4)),
]


def test_einsum_takes_lists_of_any_labels():
    x, y = numbers((2, 3), np.float32), numbers((3, 4), np.float32)
    product = np.einsum("ij,jk->ik", x, y)
    check(jnp.einsum(x, ["rows", "in"], y, ["in", "out"], ["rows", "out"]), product)
    check(jnp.einsum(x, [0, 60], y, [60, 7], [7, 0]), product.T)
    # the labels of the result are in ascending order
    check(jnp.einsum(x, ["z", "b"], y, ["b", "a"]), product.T)
    check(jnp.einsum(x, [..., 1], y, [1, 2], [..., 2]), product)
    with pytest.raises(TypeError, match="comparable"):
        jnp.einsum(x, ["rows", 0], y, [0, 1])


def test_einsum_takes_any_character_for_a_dimension():
    x, y = numbers((2, 3, 1), np.float32), numbers((3, 1), np.float32, 1)
    check(jnp.einsum("a_1,_1->a", x, y), np.einsum("abc,bc->a", x, y), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("subscripts", ["i->i->i", "i-", "i->>i", "...i...", "i.->i", "i->i."])
def test_malformed_subscripts_of_einsum(subscripts):
    with pytest.raises(ValueError, match="one arrow|an ellipsis has three dots"):
        jnp.einsum(subscripts, np.ones(3, np.float32))


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum_equals_numpy_for_every_path(case):
    subscripts, *shapes = case
    arrays = [numbers(shape, np.float32, seed) for seed, shape in enumerate(shapes)]
    check(jnp.einsum(subscripts, *arrays), np.einsum(subscripts, *arrays), rtol=1e-3, atol=1e-3)
    for optimize in (False, True, "greedy"):
        check(
            jnp.einsum(subscripts, *arrays, optimize=optimize),
            np.einsum(subscripts, *arrays),
            rtol=1e-3,
            atol=1e-3,
        )


def test_einsum_of_lists():
    x, y = numbers((2, 3), np.float32), numbers((3, 4), np.float32)
    check(jnp.einsum(x, [0, 1], y, [1, 2], [2, 0]), np.einsum(x, [0, 1], y, [1, 2], [2, 0]))
    check(jnp.einsum(x, [..., 1], y, [1, 2]), np.einsum(x, [..., 1], y, [1, 2]))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "match"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], "Size of label 'j'"),
        ("ij,jk->ik", [(2, 3)], "Number of einsum subscripts, 2, must be"),
        ("ijk->i", [(2, 3)], "correct number of indices for operand 0"),
        ("ij->k", [(2, 3)], "'k' did not appear in the input"),
        ("ij->ii", [(2, 3)], "'i' appeared more than once"),
    ],
)
def test_unsuitable_subscripts_raise(subscripts, shapes, match):
    with pytest.raises(ValueError, match=match):
        jnp.einsum(subscripts, *(np.zeros(shape, np.float32) for shape in shapes))


def test_norms_of_every_order_equal_numpy():
    x = numbers((3, 4), np.float32)
    for ord in (None, 0, 1, 2, 3, np.inf, -np.inf):
        check(jnp.linalg.norm(x, ord, axis=1), np.linalg.norm(x, ord, axis=1), rtol=1e-4)
    for ord in (None, "fro", 1, -1, np.inf, -np.inf):
        check(jnp.linalg.norm(x, ord), np.linalg.norm(x, ord), rtol=1e-4)
        check(
            jnp.linalg.norm(x, ord, axis=(1, 0), keepdims=True),
            np.linalg.norm(x, ord, axis=(1, 0), keepdims=True),
            rtol=1e-4,
        )
    check(jnp.linalg.vector_norm(x, ord=3), np.linalg.vector_norm(x, ord=3), rtol=1e-4)
    check(jnp.linalg.matrix_power(x[:, :3], 5), np.linalg.matrix_power(x[:, :3], 5), rtol=1e-3)
    check(jnp.linalg.multi_dot([x, x.T, x]), np.linalg.multi_dot([x, x.T, x]), rtol=1e-4)


def test_windows_of_every_length_equal_numpy():
    for name in ("hamming", "hanning", "blackman", "bartlett"):
        for length in (0, 1, 2, 7):
            check(getattr(jnp, name)(length), getattr(np, name)(length))


def test_packed_bits_equal_numpy():
    x = np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1]])
    for axis in (None, 0, 1):
        for order in ("big", "little"):
            check(jnp.packbits(x, axis, order), np.packbits(x, axis, order))
    packed = np.array([[2], [7], [23]], np.uint8)
    for count in (None, 3, -3, 20):
        check(jnp.unpackbits(packed, 1, count), np.unpackbits(packed, 1, count))


def test_partition_puts_the_kth_element_in_place():
    x = numbers((3, 8), np.float32)
    for kth in (0, 3, 7, -2):
        result = np.asarray(jnp.partition(x, kth, axis=1))
        np.testing.assert_array_equal(np.sort(result, 1), np.sort(x, 1))
        np.testing.assert_array_equal(result[:, kth], np.sort(x, 1)[:, kth])
        order = np.asarray(jnp.argpartition(x, kth, axis=1))
        np.testing.assert_array_equal(np.take_along_axis(x, order, 1)[:, kth], result[:, kth])


def test_sorting_is_stable_and_puts_nan_last():
    x = np.array([3.0, np.nan, 1.0, 3.0, 1.0], np.float32)
    check(jnp.argsort(x), [2, 4, 0, 3, 1])
    check(jnp.argsort(x, descending=True), [1, 0, 3, 2, 4])
    check(jnp.sort(x, descending=True), [np.nan, 3, 3, 1, 1])
    check(jnp.lexsort((x[:2], np.array([1.0, 0.0]))), [1, 0])


@pytest.mark.parametrize("method", ["scan", "scan_unrolled", "sort", "compare_all"])
def test_searchsorted_methods_agree(method):
    a = np.sort(numbers((20,), np.int32))
    v = numbers((3, 5), np.int32, 7)
    for side in ("left", "right"):
        check(jnp.searchsorted(a, v, side=side, method=method), np.searchsorted(a, v, side=side))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 9, 64, 65])
@pytest.mark.parametrize("unrolled", ["scan", "scan_unrolled"])
def test_searchsorted_finds_every_position(count, unrolled):
    rng = np.random.default_rng(count)
    a = np.sort(np.where(rng.random(count) < 0.2, np.nan, rng.integers(0, 30, count)))
    v = np.concatenate([np.arange(-1, 31, 0.5), [np.nan, np.inf, -np.inf]])
    a, v = a.astype(np.float32), v.astype(np.float32)
    for side in ("left", "right"):
        check(jnp.searchsorted(a, v, side=side, method=unrolled), np.searchsorted(a, v, side=side))


def test_short_arrays_are_searched_without_a_loop():
    def has_loop(count):
        program = str(make_olympuspr(jnp.searchsorted)(np.arange(count), np.arange(100)))
        return "scan" in program

    assert not has_loop(16)
    assert has_loop(17)


def test_sets_of_bounded_size():
    x = jnp.array([3, 1, 2, 3])
    check(jnp.unique(x, size=5, fill_value=-1), [1, 2, 3, -1, -1])
    check(jnp.nonzero(x > 2, size=3, fill_value=9)[0], [0, 3, 9])
    check(jnp.setdiff1d(x, jnp.array([1]), size=3), [2, 3, 0])
    check(jnp.union1d(x, jnp.array([9]), size=4), [1, 2, 3, 9])
    check(jnp.intersect1d(x, jnp.array([3, 1]), size=2), [1, 3])


@pytest.mark.parametrize("shape", [(7,), (1,), (3, 5), (2, 3, 4), (4, 1, 2)])
@pytest.mark.parametrize("size", [1, 6, 30])
def test_nonzero_of_size_has_the_indices_of_nonzero(shape, size):
    rng = np.random.default_rng(0)
    for share in (0.0, 0.4, 1.0):
        x = rng.random(shape) < share
        for found, expected in zip(
            jnp.nonzero(x, size=size, fill_value=-2), np.nonzero(x), strict=True
        ):
            missing = [-2] * (size - len(expected))
            np.testing.assert_array_equal(found, [*expected[:size], *missing])


@pytest.mark.parametrize("shape", [(7,), (3, 4), (3, 0)])
@pytest.mark.parametrize("axis", [None, np.int64(-1), jnp.asarray(0)])
def test_unique_of_size_has_values_of_unique(shape, axis):
    x = np.random.default_rng(0).integers(0, 3, shape).astype(np.int32)
    if axis is None and not x.size:
        return
    place = None if axis is None else int(axis)
    expected = np.unique(x, True, True, True, axis=place)
    size = expected[1].size
    results = jnp.unique(jnp.asarray(x), True, True, True, axis=axis, size=size)
    expected = (*expected[:2], expected[2].reshape(results[2].shape), expected[3])
    check(results, expected)


def test_infinities_and_signed_zeros():
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0], np.float32)
    for name in ("isinf", "isnan", "isposinf", "isneginf", "signbit", "sign"):
        check(getattr(jnp, name)(x), getattr(np, name)(x))
    with np.errstate(invalid="ignore"):
        check(jnp.logaddexp(x, x), np.logaddexp(x, x))
    check(jnp.hypot(np.float32(np.inf), np.float32(np.nan)), np.inf)
    check(jnp.isclose(x, x), np.isclose(x, x))
    check(jnp.isclose(x, x, equal_nan=True), np.isclose(x, x, equal_nan=True))
    mantissa, exponent = jnp.frexp(x)
    wanted = np.frexp(x)
    check(mantissa, wanted[0])
    check(exponent[:6:5], wanted[1][:6:5])
    places = np.array([-126, -3, 10, 127])
    check(jnp.ldexp(np.float32(1.0), places), np.ldexp(np.float32(1.0), places))


NAN, INF = np.nan, np.inf
GRID = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0]], np.float32)
COMPLEX = np.array([1 + 2j, complex(NAN, 1), 3, 0], np.complex64)
CASES = {
    "digitize": [
        (np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.0], np.float32), bins, right)
        for bins in (np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]))
        for right in (False, True)
    ],
    "sort_complex": [(np.array([[3.0, 1.0], [2.0, 0.0]]),)],
    "extract": [(np.array([1j, 0, 2]), np.arange(3)), (np.array([0.5, 0.0]), np.arange(2))],
    "setxor1d": [(np.array([NAN, 1.0, 2.0]), np.array([2.0, 3.0]))],
    "gradient": [
        (np.array([1.0, NAN, -INF, INF, 0.0, 2.0], np.float32),),
        (np.arange(12.0).reshape(3, 4) ** 2, 0.5),
        (np.arange(12.0).reshape(3, 4) ** 2, 2.0, np.array([0.0, 1.0, 3.0, 4.0])),
    ],
    "bartlett": [(5.0,)],
    "geomspace": [(np.array([1.0, 2.0]), np.array([[4.0, 8.0], [16.0, 32.0]]), 3)],
    "cov": [(np.zeros((0, 4), np.float32),)],
    "fmax": [(COMPLEX, COMPLEX[::-1]), (1j, np.ones(2))],
    "fmin": [(COMPLEX, COMPLEX[::-1])],
    "logaddexp2": [(np.array([3.0, -INF]), np.array([3.0, 1.0]))],
}


@pytest.mark.parametrize("name", CASES)
def test_further_cases_equal_numpy(name):
    for arguments in CASES[name]:
        with np.errstate(all="ignore"):
            check(getattr(jnp, name)(*arguments), getattr(np, name)(*arguments))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), -1])
@pytest.mark.parametrize("trim", ["fb", "f", "b"])
def test_trim_zeros_along_axes(trim, axis):
    """Uses a grid whose nonzero elements are in rows 1 to 2 and columns 1 to 2."""
    axes = {None: (0, 1), -1: (1,)}.get(axis, axis if isinstance(axis, tuple) else (axis,))
    window = [slice(None), slice(None)]
    for one in axes:
        window[one] = slice(1 if "f" in trim else 0, 3 if "b" in trim else None)
    check(jnp.trim_zeros(GRID, trim, axis), GRID[tuple(window)])
    assert jnp.trim_zeros(0 * GRID, trim, axis).size == 0


def test_gradient_along_one_axis_and_along_none():
    assert jnp.gradient(GRID, axis=(0,)).shape == GRID.shape
    assert jnp.gradient(2.0) == []


def test_trapezoids_with_infinite_samples():
    for samples in ([np.inf, 1, 2], [1, 2, -np.inf], [1, np.inf, 2]):
        assert float(jnp.trapezoid(np.array(samples, np.float32))) == np.trapezoid(samples)
    for samples in ([np.inf, 1, -np.inf], [np.nan, 1, 2], [1, np.nan, 2]):
        assert np.isnan(jnp.trapezoid(np.array(samples, np.float32)))


def test_variances_in_complex_numbers():
    assert jnp.var(GRID, dtype=np.complex64).dtype == np.complex64
    assert jnp.std(GRID, dtype=np.complex64).dtype == np.complex64
    check(jnp.var(GRID, dtype=np.complex64), np.var(GRID))


def test_conditions_of_select_may_be_one_array():
    conditions, choices = np.eye(2, dtype=bool), np.array([[1, 2], [3, 4]])
    check(jnp.select(conditions, choices), np.select(list(conditions), list(choices)))
    check(jnp.select([np.array([0.5, 0.0])], [np.ones(2)], 5), [1, 5])


def test_logaddexp2_of_complex_numbers():
    x, y = 1 + 2j, 3 - 1j
    check(jnp.logaddexp2(x, y), np.log2(2**x + 2**y))


def test_size_along_axes():
    assert jnp.size(np.ones((2, 3, 4)), (0, -1)) == 8
    with pytest.raises(ValueError, match="axis"):
        jnp.size(GRID, 2)


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_paddings_of_many_times_the_array(mode, size):
    x = np.arange(1, size + 1) ** 2
    for widths in ((0, 200), (171, 333), (400, 3)):
        np.testing.assert_array_equal(jnp.pad(x, widths, mode=mode), np.pad(x, widths, mode=mode))
        if mode != "wrap":
            np.testing.assert_array_equal(
                jnp.pad(x, widths, mode=mode, reflect_type="odd"),
                np.pad(x, widths, mode=mode, reflect_type="odd"),
            )
    m = np.arange(6).reshape(2, 3)
    widths = ((100, 70), (3, 99))
    np.testing.assert_array_equal(jnp.pad(m, widths, mode=mode), np.pad(m, widths, mode=mode))


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "wrap"])
def test_programs_of_wide_paddings_are_short(mode):
    program = make_olympuspr(lambda x: jnp.pad(x, 2**20, mode=mode))(np.arange(4.0))
    assert len(str(program).splitlines()) < 400
