# SPDX-License-Identifier: Apache-2.0
"""Unusual arguments of functions: scalars, lists, empty arrays, narrow dtypes."""

from __future__ import annotations

import io
import types
import warnings

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir.diagnostics.errors import ConcretizationTypeError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.settings import config
from olympus_ir.types import dtypes


class Converted:
    """Object that converts itself to an array."""

    def __jax_array__(self):
        return jnp.arange(3.0)


def test_objects_that_become_arrays_have_shapes():
    x = Converted()
    assert (jnp.shape(x), jnp.ndim(x), jnp.size(x)) == ((3,), 1, 3)
    assert not jnp.isscalar(x)
    assert jnp.zeros_like(x).shape == jnp.full_like(x, 2).shape == (3,)


@pytest.mark.parametrize("function", [jnp.shape, jnp.ndim, jnp.size])
def test_lists_have_shapes_with_a_warning(function):
    with pytest.warns(DeprecationWarning, match="requires ndarray or scalar"):
        assert function([1, 2, 3]) == getattr(np, function.__name__)([1, 2, 3])


@pytest.mark.parametrize("z", [0.5, np.float32(-2.0), np.array(1.5, dtypes.bfloat16), -3, 1j])
def test_angle_of_scalar_has_default_dtype(z):
    result = jnp.angle(z)
    assert result.dtype == np.float32
    assert getattr(result, "weak_type", False) == (z == 1j)
    np.testing.assert_allclose(result, np.angle(z), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_bincount_of_narrow_integers(dtype):
    x = np.array([3, 1, 1], dtype)
    np.testing.assert_array_equal(jnp.bincount(x), np.bincount(x))
    assert jnp.bincount(x[:0]).shape == (0,)


@pytest.mark.parametrize("bias", [True, False])
def test_covariance_of_complex_numbers(bias):
    x = np.array([[1 + 2j, 0.5, -1j], [2, 1j, 1 - 1j]], np.complex64)
    np.testing.assert_allclose(jnp.cov(x, bias=bias), np.cov(x, bias=bias), rtol=1e-5)
    np.testing.assert_allclose(jnp.corrcoef(x), np.corrcoef(x), rtol=1e-5)


def test_weighted_covariance_has_the_requested_dtype():
    m = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0]], np.float32)
    weights = np.array([0.5, 1.0, 0.25], np.float32)
    result = jnp.cov(m, ddof=0, aweights=weights, dtype="float16")
    assert result.dtype == np.float16
    np.testing.assert_allclose(result, np.cov(m, ddof=0, aweights=weights), rtol=1e-2)


@pytest.mark.parametrize("fill", [2.5, np.float16(0.5), -1])
def test_nonzero_fill_value_sets_the_dtype(fill):
    x = np.array([[0.0, 1.0]], np.float32)
    dtype = {2.5: np.float32, 0.5: np.float16, -1: np.int32}[fill]
    for result in (
        *jnp.nonzero(x, size=2, fill_value=fill),
        *jnp.argwhere(x, size=2, fill_value=fill).T,
    ):
        assert result.dtype == dtype
        assert result[1] == fill


def test_delete_and_fill_diagonal_limits():
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        jit(lambda x: jnp.delete(x, 7))(np.ones(3, np.float32))
    nothing = np.ones((0, 3), np.float32)
    assert jnp.fill_diagonal(nothing, nothing[:, 0], inplace=False).shape == (0, 3)
    with pytest.raises(ValueError, match="two-dimensional, with columns"):
        jnp.histogramdd(nothing.T[:, :0], bins=2)


def test_repeat_counts_of_any_shape():
    x = np.arange(4.0, dtype=np.float32)
    counts = np.array([[1, 2], [0, 1]])
    np.testing.assert_array_equal(jnp.repeat(x, counts), [0, 1, 1, 3])
    np.testing.assert_array_equal(jnp.repeat(x, counts, total_repeat_length=3), [0, 1, 1])
    assert jnp.repeat(x[:0], counts[0, :0], total_repeat_length=3).shape == (0,)
    for length in (None, 3):
        with pytest.raises(ValueError, match="one number for each of the 4 elements"):
            jnp.repeat(x, counts[0], total_repeat_length=length)


def test_covariances_of_fits_to_few_points():
    x = np.arange(2.0, dtype=np.float32)
    with pytest.raises(ValueError, match="must exceed order to scale the covariance matrix"):
        jnp.polyfit(x, x, 1, cov=True)
    assert jnp.polyfit(x, x, 1, cov="unscaled")[1].shape == (2, 2)
    assert jnp.polyfit(x, x, 1, full=True)[-1].weak_type


def test_negative_indices_are_nearest_to_first_element():
    x, indices = np.arange(4.0, dtype=np.float32), np.array([9, -1, -9])
    expected = np.take(x, indices, mode="clip")
    np.testing.assert_array_equal(jnp.take(x, indices, mode="clip"), expected)
    with pytest.raises(ValueError, match="Invalid mode 'drop'.* 'fill', 'clip' or 'wrap'"):
        jnp.take(x, indices, mode="drop")


def test_fill_values_of_setdiff_are_converted():
    x = np.array([1, 2, 3], np.int8)
    found = jnp.setdiff1d(x, x[:1], size=3, fill_value=300)
    np.testing.assert_array_equal(found, [2, 3, 44])


def test_cumulative_products_keep_the_dtype():
    x = np.array([3, 1, 2], np.uint8)
    assert jnp.cumulative_prod(x).dtype == np.uint8
    assert jnp.cumulative_sum(x).dtype == np.uint32


def test_histogram_of_an_empty_array():
    for ours, theirs in zip(jnp.histogram(np.zeros(0)), np.histogram(np.zeros(0)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_ix_of_an_empty_array_is_integer():
    (index,) = jnp.ix_(np.zeros(0))
    assert dtypes.issubdtype(index.dtype, np.integer)


def test_diagflat_of_a_scalar_is_strongly_typed():
    assert not jnp.diagflat(2.5).weak_type


def test_gradient_is_as_weakly_typed_as_samples():
    assert jnp.gradient(jnp.full((3,), 2.5)).weak_type == jnp.full((3,), 2.5).weak_type


def test_logarithm_of_complex_zero():
    result = np.asarray(jnp.log10(np.complex64(0)))
    assert (result.real, result.imag) == (-np.inf, 0)


@pytest.mark.parametrize("name", ["stack", "concatenate", "hstack", "vstack", "dstack"])
def test_joining_empty_sequences_raises(name):
    for empty in ([], np.zeros((0, 3))):
        with pytest.raises(ValueError, match="Need at least one array"):
            getattr(jnp, name)(empty)


def test_sequences_are_refused():
    with pytest.raises(TypeError, match="got <class 'list'>"):
        jnp.arange([1, 2])
    with pytest.raises(TypeError, match="got <class 'list'>"):
        jnp.histogramdd([[1, 2], [3, 4]])
    with pytest.raises(TypeError, match="got <class 'list'>"):
        jnp.tril_indices_from([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="n argument of .*fftfreq only takes an int"):
        jnp.fft.fftfreq([4])
    with pytest.raises(TypeError, match="must have __dlpack__"):
        jnp.from_dlpack([1, 2])


def test_trim_zeros_returns_an_array():
    assert isinstance(jnp.trim_zeros(np.array([0, 1, 0])), type(jnp.zeros(1)))


def test_einsum_broadcasts_contracted_dimensions_of_size_one():
    x, y = np.arange(3.0, dtype=np.float32), np.full(1, 2, np.float32)
    np.testing.assert_allclose(jnp.einsum("i,i", x, y), 6)
    np.testing.assert_allclose(jnp.einsum("i,i->", y, x), 6)


# ---- conversions, and properties of the namespace ----


def test_no_op_conversions_return_the_same_array():
    x = jnp.arange(3.0)
    assert jnp.astype(x, "float32") is x
    assert jnp.astype(x, "float32", copy=True) is not x
    assert x.view() is x


def test_conversions_warn_of_imaginary_parts():
    x = jnp.array([1j, 2.0])
    with pytest.warns(DeprecationWarning, match="Casting from complex to real"):
        np.testing.assert_array_equal(x.astype("float32"), [0, 2])
    with pytest.warns(DeprecationWarning, match="Casting from complex to real"):
        np.testing.assert_array_equal(x.astype(int), [0, 2])


@pytest.mark.parametrize("function", [jnp.var, jnp.nanvar])
def test_variances_in_integers(function):
    # The mean, 13 / 3, is 4; the squares 9, 1 and 9; and 19 / 3 is 6.
    result = function(np.array([1.0, 5.0, 7.0], np.float32), dtype=np.int8)
    assert int(result) == 6
    assert result.dtype == (np.int8 if function is jnp.nanvar else np.float32)


@pytest.mark.parametrize(
    ("function", "initial", "expected"),
    [(jnp.sum, 0, True), (jnp.sum, 2.5, True), (jnp.prod, 0, False), (jnp.prod, 1, True)],
)
def test_boolean_sum_and_prod_start_from_initial(function, initial, expected):
    result = function(np.array([1.0, 5.0], np.float32), dtype=bool, initial=initial)
    assert result.dtype == np.bool_
    assert bool(result) == expected


@pytest.mark.parametrize("function", [jnp.var, jnp.nanstd])
def test_boolean_variance_raises(function):
    with pytest.raises(TypeError, match="does not accept dtype bool"):
        function(np.arange(3.0), dtype=bool)


def test_the_namespace_describes_itself():
    x = jnp.zeros(2)
    namespace = x.__array_namespace__()
    assert namespace.__array_api_version__ == "2024.12"
    assert x.__array_namespace__(api_version="2024.12") is namespace
    with pytest.raises(ValueError, match="available versions"):
        x.__array_namespace__(api_version="2019.12")
    info = namespace.__array_namespace_info__()
    assert info.default_device() is None
    assert None in info.devices()
    assert set(info.capabilities()) == {
        "boolean indexing",
        "data-dependent shapes",
        "max dimensions",
    }
    assert info.default_dtypes()["complex floating"] == np.complex64
    assert info.dtypes(kind="real floating") == {"float32": np.dtype("float32")}
    assert info.dtypes(kind=("bool", "signed integer")).keys() == {"bool", "int8", "int16", "int32"}
    with config.enable_x64(True):
        assert info.default_dtypes()["integral"] == np.int64
        assert info.dtypes(kind="complex floating").keys() == {"complex64", "complex128"}
    for name, dtype in info.dtypes().items():
        assert jnp.zeros(1, dtype).dtype == getattr(namespace, name)


def test_invalid_kinds_of_isdtype_raise():
    with pytest.raises(ValueError, match="Unrecognized kind='foo'"):
        jnp.isdtype(np.float32, "foo")
    for kind in (["bool"], 5, (("bool",),)):
        with pytest.raises(TypeError, match="Expected kind to be"):
            jnp.isdtype(np.float32, kind)


# ---- sets, sorting, statistics ----


def test_nan_in_both_of_two_sets():
    x, y = np.array([3.0, np.nan, 1.0, np.nan]), np.array([np.nan, 1.0, 5.0])
    result = jnp.setxor1d(x, y)
    np.testing.assert_array_equal(result, [3, 5, np.nan, np.nan])
    np.testing.assert_array_equal(result, np.setxor1d(np.unique(x), np.unique(y)))


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_sets_of_scalars_are_weakly_typed(name):
    function = getattr(jnp, name)
    assert function(2.0, 2).weak_type
    sized = function(2.0, 2, size=3)
    assert sized.weak_type == (name in ("union1d", "setdiff1d"))


@pytest.mark.parametrize("name", ["intersect1d", "setxor1d"])
def test_empty_set_results_are_filled(name):
    function = getattr(jnp, name)
    x, y = (jnp.ones(2), jnp.ones(2)) if name == "setxor1d" else (jnp.ones(2), jnp.zeros(2))
    np.testing.assert_array_equal(function(x, y, size=2), [0, 0])
    np.testing.assert_array_equal(function(x, y, size=2, fill_value=7), [7, 7])
    np.testing.assert_array_equal(function(x[:0], y[:0], size=2, fill_value=7), [7, 7])
    assert function(x, y, fill_value=np.ones(3)).shape == (0,)


def test_unique_counts_with_size():
    x = np.array([3, 1, 1, 2, 3, 3])
    values, counts = jnp.unique(x, return_counts=True, size=2)
    np.testing.assert_array_equal(values, [1, 2])
    np.testing.assert_array_equal(counts, [2, 1])
    np.testing.assert_array_equal(jnp.unique(x, size=5, fill_value=np.arange(5)), [1, 2, 3, 3, 4])
    with pytest.raises(ValueError, match="fill_value must be specified"):
        jnp.unique(x[:0], size=2)
    with pytest.raises(TypeError, match="nonnegative"):
        jnp.unique(x, size=-1)


def test_sizes_and_positions_are_integers():
    for call in (
        lambda: jnp.nonzero(np.ones(3), size=2.5),
        lambda: jnp.partition(np.ones(3), 1.5),
        lambda: jnp.argpartition(np.ones(3), 1.5),
    ):
        with pytest.raises(TypeError, match="integer"):
            call()
    with pytest.raises(ValueError, match="scalar or a tuple of length 1"):
        jnp.nonzero(np.ones(3), size=2, fill_value=(1, 2))
    with pytest.raises(ValueError, match="integer type"):
        jnp.take(np.ones(3), np.ones(1))


@pytest.mark.parametrize("ddof", [0, 1, 0.5, 1.5])
def test_variances_with_fractions_of_degrees_of_freedom(ddof):
    x = np.array([0.5, -1.5, np.nan, 2.0], np.float32)
    np.testing.assert_allclose(jnp.nanvar(x, ddof=ddof), np.nanvar(x, ddof=ddof), rtol=1e-6)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_of_integers_are_not_weakly_typed(method):
    result = jnp.quantile(np.array([3, 1, 2], np.int32), 0.3, method=method)
    assert result.dtype == np.float32
    assert not result.weak_type


def test_medians_of_integers_of_few_bits():
    x = jnp.array([1, 2, 3, 7], "int4")
    np.testing.assert_allclose(jnp.median(x), 2.5)


def test_weights_that_are_not_supported():
    with pytest.raises(NotImplementedError, match="Only method 'inverted_cdf' supports weights"):
        jnp.quantile(np.ones(3), 0.5, weights=np.ones(3))
    with pytest.raises(ValueError, match="Axis must be specified"):
        jnp.average(np.ones((3, 3)), weights=np.ones(3))


def test_shifts_along_repeated_axes_add_up():
    x = np.arange(4)
    np.testing.assert_array_equal(jnp.fft.fftshift(x, axes=(0, 0)), np.fft.fftshift(x, axes=(0, 0)))
    with pytest.raises(ValueError, match="must be scalars or 1D arrays"):
        jnp.roll(x, np.ones((2, 2), int), 0)


def test_mismatched_matvec_and_vecmat_raise():
    for call in (
        lambda: jnp.matvec(np.ones((2, 3)), np.ones(2)),
        lambda: jnp.vecmat(np.ones(3), np.ones((2, 3))),
    ):
        with pytest.raises(ValueError, match="inconsistent size for core dimension"):
            call()
    with pytest.raises(TypeError, match="axes lists to have equal length"):
        jnp.tensordot(np.ones((2, 3)), np.ones((3, 2)), axes=((0,), (0, 1)))
    np.testing.assert_array_equal(jnp.vecdot(np.ones(3), np.ones(3), axis=np.int64(0)), 3)


def test_empty_gathers_keep_the_weak_type():
    x = jnp.broadcast_arrays(1.5, np.ones(2))[0]
    assert x[np.zeros(0, int)].weak_type == x.weak_type


# ---- shapes, indices, files ----


def test_ravel_multi_index_keeps_dtype_of_indices():
    index = np.array([0, 1], np.int8)
    result = jnp.ravel_multi_index((index, index), (2, 3), mode="ignore")
    assert result.dtype == np.int8
    np.testing.assert_array_equal(result, [0, 4])
    with pytest.raises(ValueError, match="not large enough to hold flattened index"):
        jnp.ravel_multi_index((index, index), (20, 20), mode="clip")
    with pytest.raises(ValueError, match="not an integer type"):
        jnp.ravel_multi_index((index, np.ones(2)), (2, 3))


def test_unravel_index_with_traced_shapes():
    result = jit(lambda i, shape: jnp.unravel_index(i, shape))(5, (2, 3))
    assert tuple(map(int, result)) == (1, 2)


def test_shapes_that_are_traced_or_two_numbers():
    with pytest.raises(TypeError, match="concrete values of integer type") as caught:
        jit(jnp.zeros)(2)
    assert "If using `jit`, try using `static_argnums`" in str(caught.value)
    for function in (jnp.zeros, jnp.ones, jnp.empty):
        with pytest.raises(TypeError, match=r"Did you accidentally write .*\(2, 3\)` when you"):
            function(2, 3)
    with pytest.raises(ValueError, match="repeated axis"):
        jnp.size(np.ones((2, 3)), (0, 0))


def test_stack_accepts_any_sequence():
    np.testing.assert_array_equal(jnp.stack(range(3)), [0, 1, 2])
    np.testing.assert_array_equal(jnp.stack(bytearray(b"ab")), [97, 98])


def test_objects_that_cannot_become_arrays():
    masked = np.ma.array([1, 2], mask=[True, False])
    with pytest.raises(ValueError, match="numpy masked arrays are not supported"):
        jnp.asarray(masked)
    np.testing.assert_array_equal(jnp.array(masked), [1, 2])
    with pytest.raises(ValueError, match="None is not a valid value for jnp.array"):
        jnp.array([0.0, None])
    with pytest.raises(TypeError, match="got <class 'list'> at position 1"):
        jnp.repeat(np.ones(2), [1, 2])
    with pytest.raises(TypeError, match="take_along_axis indices must be of integer type"):
        jnp.take_along_axis(np.ones(2), np.ones(1), 0)
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        jnp.choose(np.array([0]), [])


def test_files_with_pickled_objects():
    file = io.BytesIO()
    np.save(file, np.array([None, "a"]))
    file.seek(0)
    assert jnp.load(file, allow_pickle=True).tolist() == [None, "a"]


@pytest.mark.parametrize(("order", "axis"), [(np.inf, 0), (np.inf, (0, 1)), (1, (0, 1))])
def test_norms_of_empty_arrays_are_zero(order, axis):
    result = jnp.linalg.norm(np.zeros((0, 2), np.float32), order, axis=axis)
    np.testing.assert_array_equal(result, np.zeros(2 if axis == 0 else ()))


# ---- dtypes of results ----


def test_index_results_are_int32():
    with config.enable_x64(True):
        assert jnp.searchsorted(np.arange(3.0), 1.5).dtype == np.int32
        assert jnp.digitize(np.arange(3.0), np.arange(2.0)).dtype == np.int32
        assert jnp.rint(np.int32(2**30 + 1)).dtype == np.float64
        assert jnp.tri(2).dtype == np.float32
    assert float(jnp.rint(np.int8(3))) == 3


def test_numpy_integers_with_python_floats_are_weakly_typed():
    for function in (jnp.add, jnp.multiply, jnp.maximum):
        result = function(2.5, np.int8(3))
        assert result.dtype == np.float32
        assert result.weak_type
    assert not jnp.add(2.5, np.float32(3)).weak_type


def test_a_scalar_is_a_constant_polynomial():
    np.testing.assert_array_equal(jnp.polyval(np.float32(3), np.arange(4)), np.full(4, 3))
    assert jnp.polyval(2, 5) == 2


def test_polynomials_of_truth_values():
    p, x = np.array([True, False, True]), np.array([True, False])
    result = jnp.polyval(p, x)
    assert result.dtype == np.bool_
    np.testing.assert_array_equal(result, [True, True])


@pytest.mark.parametrize("dtype", [dtypes.bfloat16, np.float16])
def test_quantiles_of_integers_with_narrow_q(dtype):
    result = jnp.quantile(np.arange(1001), np.array(0.5, dtype))
    assert result.dtype == np.float32
    assert float(result) == 500


def test_choose_of_python_numbers_is_strongly_typed():
    assert not jnp.choose(np.array([0, 1]), [1.0, 2.0]).weak_type


def test_transpose_refuses_incomplete_permutations():
    with pytest.raises(TypeError, match="isn't a permutation of operand dimensions"):
        jnp.transpose(np.ones((2, 3)), (1,))


@pytest.mark.parametrize("value", [-1, 300])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, value: x + value,
        lambda x, value: jnp.maximum(x, value),
        lambda x, value: x.at[0].set(value),
        lambda x, value: x > value,
    ],
)
def test_large_python_integers(function, value):
    x = jnp.array([1, 2], np.uint8)
    wrapped = jnp.array(value % 256, np.uint8)
    expected = np.asarray(function(x, wrapped))
    for result in (function(x, value), jit(lambda x: function(x, value))(x)):
        assert result.dtype == expected.dtype
        assert np.array_equal(np.asarray(result), expected)


def test_npy_headers_with_too_large_shapes_raise(tmp_path):
    file = io.BytesIO()
    np.save(file, np.arange(4, dtype=np.float32))
    whole = file.getvalue()
    path = tmp_path / "array.npy"
    huge = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": (2**62,)}
    np.lib.format.write_array_header_1_0(huge, header)
    for damaged, message in (
        (huge.getvalue() + bytes(16), f"needs {2**64} bytes, but only 16 follow the header"),
        (whole[:-1], "15 follow the header"),
        (whole.replace(b"}", b"("), "load: the file is damaged|Cannot parse header"),
    ):
        for source in (path, io.BytesIO(damaged)):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=message):
                jnp.load(source)
    path.write_bytes(whole + b"more")
    np.testing.assert_array_equal(jnp.load(path), np.arange(4))


def test_where_takes_one_array_or_three():
    with pytest.raises(TypeError, match="condition alone, or all of"):
        jnp.where(jnp.array([True]), 1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: jnp.tensordot(np.ones((3, 2)), np.ones(2), axes=("bad", "axes")),
            TypeError,
            "both axes lists to be either ints, tuples or lists, got bad and axes",
        ),
        (lambda: jnp.hypot(1j, 1.0), ValueError, "jnp.hypot is not well defined for complex"),
        (lambda: jnp.ones(2) in jnp.ones(2), ValueError, "query value must be a scalar, got query"),
        (lambda: jnp.isneginf(1j), ValueError, "isposinf/isneginf are not well defined"),
        (lambda: jnp.ldexp(1.0, 2.0), ValueError, "ldexp not supported for input types"),
        (lambda: jnp.ldexp(1j, 2), ValueError, "ldexp not supported for input types.* be real"),
        (lambda: jnp.take(np.ones(3), 1, mode="x"), ValueError, "Invalid mode 'x' for np.take"),
        (lambda: jnp.vecdot(np.ones(3), np.ones(4)), ValueError, r"axes must match; got shapes \("),
        (lambda: jnp.arange(1j), ValueError, "Passing complex start/stop/step to jnp.arange"),
        (
            lambda: jnp.searchsorted(np.ones(3), 1, side="x"),
            ValueError,
            "invalid argument side='x', expected 'left' or 'right'",
        ),
        (
            lambda: jnp.searchsorted(np.ones(3), 1, method="x"),
            ValueError,
            "invalid argument method='x', expected one of",
        ),
        (
            lambda: jnp.reshape(np.ones(4), (-1, -1)),
            TypeError,
            "can only specify one unknown axis size with a `-1` value",
        ),
        (lambda: jnp.pad(np.ones(3), 1, None), NotImplementedError, "padding mode 'None' for"),
        (
            lambda: jnp.interp(0.0, np.arange(3.0), np.arange(3.0), right="far"),
            ValueError,
            "value of `right` is 'extrapolate', but got: 'far'",
        ),
        (lambda: jnp.trace(np.ones((2, 3, 2)), axis1=1, axis2=-2), ValueError, "can not be same"),
        (lambda: jnp.rot90(np.ones(2)), ValueError, r"of shape \(2,\), which has ndim 1"),
        (
            lambda: jnp.broadcast_to(np.ones((3, 4, 5)), (4, 5)),
            ValueError,
            "Cannot broadcast to shape with fewer dimensions",
        ),
        (
            lambda: jnp.permute_dims(np.ones((2, 3)), (0, 1, 2)),
            TypeError,
            "isn't a permutation of operand dimensions",
        ),
        (lambda: jnp.select([True, False], [1]), ValueError, "length equal to choicelist"),
        (lambda: jnp.stack(np.float32(1)), TypeError, "takes a sequence of arrays"),
        (lambda: jnp.arange(3, dtype=bool), TypeError, "arange has no numbers of dtype bool"),
        (
            lambda: jnp.compress(np.array([True]), np.ones((2, 3)), axis=0, size=3),
            ValueError,
            "not greater than the size of the array axis; got size=3",
        ),
        (
            lambda: jnp.sum(np.ones(2), out=np.ones(())),
            NotImplementedError,
            "argument to jnp.sum is",
        ),
        (lambda: jnp.linalg.matrix_power(np.ones(3), 2), TypeError, "^1-dimensional array given"),
        (lambda: jnp.linalg.matrix_power(np.ones((2, 3)), 2), TypeError, "array must be square"),
        (
            lambda: jnp.linalg.outer(np.ones((2, 2)), np.ones(2)),
            ValueError,
            "but they are x1.ndim=2 x2.ndim=1",
        ),
        (lambda: jnp.nonzero(1.0), ValueError, r"Use jnp.atleast_1d\(scalar\).nonzero\(\) instead"),
        (lambda: jnp.result_type(), ValueError, "at least one array or dtype is required"),
        (lambda: jnp.complex64(1j).view("int8"), ValueError, r"view\(\) of a 0d array"),
    ],
)
def test_errors_name_the_wrong_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_traced_split_indices_raise():
    with pytest.raises(TypeError, match="Abstract tracer value encountered where concrete"):
        jit(lambda place: jnp.split(np.zeros((12, 2)), [2, place]))(2)


@pytest.mark.parametrize("directive", ["r", "c"])
@pytest.mark.parametrize("name", ["r_", "c_"])
def test_matrices_of_joined_vectors(name, directive):
    key = (directive, [1, 2, 3], [4, 5, 6])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        expected = np.asarray(getattr(np, name)[key])
    np.testing.assert_array_equal(getattr(jnp, name)[key], expected)


@pytest.mark.parametrize("k", [2**100, -(2**100)])
def test_eye_and_tri_with_diagonals_outside(k):
    np.testing.assert_array_equal(jnp.eye(2, 3, k), np.zeros((2, 3)))
    np.testing.assert_array_equal(jnp.tri(2, 3, k), np.full((2, 3), k > 0))


def test_logspace_with_array_base():
    start, stop, base = 0.0, np.ones(2, np.float32), np.array([2.0, 3.0], np.float32)
    expected = np.logspace(start, stop, 3, base=base)
    np.testing.assert_allclose(jnp.logspace(start, stop, 3, base=base), expected, rtol=1e-6)


@pytest.mark.parametrize("num", [0, 1])
def test_distance_of_few_numbers(num):
    _, step = jnp.linspace(0.0, np.ones((2, 2)), num, retstep=True)
    assert step.shape == ()
    assert np.isnan(step)


@pytest.mark.parametrize("mode", ["linear_ramp", "maximum", "mean", "median", "minimum", "empty"])
def test_pad_keeps_weak_types(mode):
    assert jnp.pad(jnp.array(1.0)[None], 2, mode).weak_type
    assert not jnp.pad(jnp.ones(1), 2, mode).weak_type


def test_compressed_numpy_arrays_are_filled():
    rows = np.arange(6).reshape(2, 3)
    result = jnp.compress(np.array([False, True]), rows, axis=0, size=2, fill_value=7)
    np.testing.assert_array_equal(result, [[3, 4, 5], [7, 7, 7]])


def test_delete_with_an_empty_float_array_raises():
    x = jnp.arange(3)
    assert jnp.delete(x, np.ones(0, np.int32)).tolist() == [0, 1, 2]
    with pytest.raises(IndexError, match="Indices must be integers"):
        jnp.delete(x, np.ones((2, 0)))


@pytest.mark.parametrize("flag", [jnp.array(True), np.array(True), np.bool_(True), 1])
def test_flags_of_unique_may_be_arrays(flag):
    x = np.array([3, 1, 1, 2])
    for name in ("return_index", "return_inverse", "return_counts"):
        for ours, theirs in zip(
            jnp.unique(x, **{name: flag}), np.unique(x, **{name: True}), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)


def test_signs_of_complex_numbers_are_refused():
    with pytest.raises(ValueError, match="signbit is not well defined for complex64"):
        jnp.signbit(np.ones(2, np.complex64))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (jnp.roots, r"in the jnp.roots\(\) function.*strip_zeros=False"),
        (jnp.nonzero, "The size argument of jnp.nonzero must be statically specified"),
        (jnp.unique, r"the first argument of jnp.unique\(\)"),
    ],
)
def test_value_dependent_size_error_names_the_function(function, message):
    with pytest.raises(ConcretizationTypeError, match=message):
        make_olympuspr(function)(np.arange(3.0, dtype=np.float32))


def test_sums_of_exponentials_of_complex_scalars_are_weak():
    assert jnp.logaddexp(1j, 2).weak_type and jnp.logaddexp2(1j, 2).weak_type
    assert not jnp.logaddexp(1j, np.float32(2)).weak_type


# The expected values are those of jax 0.10.2 outside of compiled functions.
@pytest.mark.parametrize("wrap", [lambda function: function, jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("function", "initial", "expected"),
    [
        (jnp.max, -np.inf, 1),
        (jnp.max, np.inf, 127),
        (jnp.min, np.inf, 0),
        (jnp.max, 300, 44),
        (jnp.max, np.nan, 1),
        (jnp.min, -2.7, -2),
        (jnp.sum, 2.5, 4),
    ],
)
def test_initial_values_beyond_an_integer_dtype(wrap, function, initial, expected):
    x = np.array([1, 0, 1], np.int8)
    assert wrap(lambda x: function(x, initial=initial))(x) == expected


def test_initial_values_beyond_default_integers_are_refused():
    with pytest.raises(OverflowError):
        jit(lambda x: jnp.sum(x, initial=2**40))(np.ones(2, np.int32))


@pytest.mark.parametrize("wrap", [lambda function: function, jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("value", "expected"), [(np.inf, 127), (-np.inf, -128), (3e9, 127), (np.nan, 0), (-2.7, -2)]
)
def test_integers_filled_with_floats_have_nearest_limit(wrap, value, expected):
    filled = wrap(lambda: (jnp.full((2,), value, "int8"), jnp.full_like(np.int8(0), value)))()
    np.testing.assert_array_equal(filled[0], [expected, expected])
    assert filled[1] == expected


def test_unwrap_of_empty_array_has_usual_dtype():
    assert jnp.unwrap(np.zeros(0, np.int8)).dtype == jnp.unwrap(np.zeros(2, np.int8)).dtype
    assert jnp.unwrap(np.zeros(0, np.int8), period=4).dtype == np.int8


def test_spacings_of_complex_numbers_are_refused():
    with pytest.raises(ValueError, match="complex"):
        jnp.spacing(np.ones(2, np.complex64))


def test_sums_of_scales():
    scales = jnp.array([1.0, 2.0, 0.5, 4.0], jnp.float8_e8m0fnu)
    for found, expected in (
        (jnp.sum(scales), 8.0),  # of 7.5, the nearest power of two
        (jnp.sum(scales, dtype=scales.dtype), 8.0),
        (jnp.sum(scales, dtype=np.float32), 7.5),
        (jnp.mean(scales[:2]), 2.0),
        (jnp.prod(scales), 4.0),
        (jnp.cumsum(scales), [1.0, 4.0, 4.0, 8.0]),
    ):
        np.testing.assert_array_equal(np.asarray(found, np.float32), expected)
    assert jnp.sum(scales).dtype == jnp.cumsum(scales).dtype == scales.dtype


def test_complex_covariances_under_strict_promotion():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with config.numpy_dtype_promotion("strict"):
        found = jnp.cov(jnp.asarray(x), dtype=np.complex64)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, np.cov(x))


@pytest.mark.parametrize("name", ["fweights", "aweights"])
@pytest.mark.parametrize("weights", [2, [1, 2]])
def test_covariances_need_a_weight_for_each_sample(name, weights):
    with pytest.raises(RuntimeError, match=f"incompatible numbers of samples and {name}"):
        jnp.cov(jnp.arange(3.0), **{name: np.asarray(weights)})


def test_spacing_at_zero():
    for dtype in (np.float32, np.float16):
        points = np.array([0.0, 1.0, -3.0, np.inf, np.nan], dtype)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(jnp.spacing(points), np.spacing(points))


def test_padding_of_nothing():
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        with pytest.raises(ValueError, match=f"Cannot apply '{mode}' padding to empty axis"):
            jnp.pad(jnp.zeros(0), 1, mode)
    for mode in ("mean", "median", "maximum"):
        with pytest.raises(ValueError, match="stat_length of 0 yields no value"):
            jnp.pad(jnp.ones(3), 1, mode, stat_length=0)
    assert np.isnan(jnp.pad(jnp.zeros(0), 1, "mean")).all()


def test_sums_of_polynomials_whose_coefficients_are_rows():
    """The shorter array is added to the last rows of the longer one."""
    row, rows = np.array([[2, 3, 1]]), np.array([[5, 7, 3], [8, 2, 6]])
    np.testing.assert_array_equal(jnp.polyadd(row, rows), [[5, 7, 3], [10, 5, 7]])
    np.testing.assert_array_equal(jnp.polysub(row, rows), [[-5, -7, -3], [-6, 1, -5]])
    np.testing.assert_array_equal(jnp.polyadd(rows, np.array([2])), [[5, 7, 3], [10, 4, 8]])
    np.testing.assert_array_equal(jnp.polyadd(np.array([2]), rows), [[5, 7, 3], [10, 4, 8]])
    with pytest.raises(ValueError, match="shape"):
        jnp.polyadd(np.array([1, 3, 5]), rows)


def test_conditions_of_piecewise_in_one_array():
    """An array with an entry for each function holds conditions; else it is the one condition."""
    x = np.arange(-4, 5)
    functions = [lambda x: x * 0, lambda x: x * 10, lambda x: x * 100]
    chosen = jnp.piecewise(x, np.array([False, True, False]), functions)
    np.testing.assert_array_equal(chosen, x * 10)
    with_default = jnp.piecewise(x, np.array([False, False]), functions)
    np.testing.assert_array_equal(with_default, x * 100)
    np.testing.assert_array_equal(
        jnp.piecewise(x, x < 0, functions[1:]), np.piecewise(x, [x < 0], functions[1:])
    )


def test_weak_types_of_sums_of_polynomials():
    long, short = jnp.full(3, 1.0), jnp.full(2, 1.0)
    assert jnp.polyadd(long, short).weak_type
    assert not jnp.polyadd(long, jnp.ones(2)).weak_type
    assert not jnp.full_like(jnp.ones(3), jnp.full(3, 1.0)).weak_type


def test_fractions_as_diagonals():
    with pytest.raises(ValueError, match="k must be a scalar integer; got 1.5"):
        jnp.eye(3, k=1.5)


def test_views_of_odd_lengths():
    with pytest.raises(ValueError, match="When changing to a larger dtype"):
        jnp.zeros(3, np.uint8).view(np.int16)


def test_traced_repetitions_are_named():
    with pytest.raises(TypeError, match="depends on the value of the argument n"):
        jit(lambda x, n: jnp.tile(x, n))(np.ones(3), 2)


def test_dtypes_of_other_libraries_tell_whether_objects_are_complex() -> None:
    def column(scalar: type) -> object:
        return types.SimpleNamespace(dtype=types.SimpleNamespace(type=scalar))

    for scalar in (np.float32, np.complex64, np.int8, np.complex128):
        assert jnp.iscomplexobj(column(scalar)) == np.issubdtype(scalar, np.complexfloating)
