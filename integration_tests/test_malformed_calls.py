# SPDX-License-Identifier: Apache-2.0
"""Calls that ``nox -s fuzz-calls`` found: errors are of the types that JAX raises."""

from __future__ import annotations

import re
import traceback
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.special as scipy_special

import olympus
import olympus.numpy as jnp
from olympus import lax, scipy
from olympus.experimental import sparse

X = np.arange(4, dtype=np.float32)
M = np.ones((2, 4), np.float32)
STRUCT = olympus.ShapeDtypeStruct((3,), "float32")


def _convolved(x):
    return jnp.convolve(x, x, mode={"a": 1})


def _moved(x):
    return olympus.device_put(x, object())


def _multiplied(x):
    return lax.dot_general({}, x, (((0,), (0,)), ((), ())))


def _gathered(x):
    return lax.gather(x, np.zeros((1, 1), int), None, (1,))


def _ranged(x):
    return jnp.linspace(x, 2, 3, device=lambda r: r)


def _turned(x):
    return jnp.transpose(x, axes=STRUCT)


REFUSED = {
    "names of axes": (TypeError, lambda: jnp.median(X, axis="i")),
    "names of axes, as in reductions": (NameError, lambda: jnp.sum(X, axis="i")),
    "arrays as dtypes": (ValueError, lambda: jnp.array(X, dtype=jnp.ones(2))),
    "arrays as dtypes of views": (ValueError, lambda: jnp.ones(3).view(jnp.ones(2))),
    "arrays as dtypes of conversions": (ValueError, lambda: lax.convert_element_type(X, X)),
    "types as values": (TypeError, lambda: olympus.vmap(jnp.dot, (None, 0))(X, STRUCT)),
    "matrices as flags of svd": (ValueError, lambda: jnp.linalg.svd(M, M)),
    "traced matrices as flags": (ValueError, lambda: olympus.jit(jnp.linalg.svd)(M, M)),
    "sequences as counts": (
        TypeError,
        lambda: scipy.stats.multinomial.pmf(np.array([1, 2]), (3,), np.array([0.5, 0.5])),
    ),
    "ends of ramps without a value": (
        TypeError,
        lambda: jnp.pad(X, 1, mode="linear_ramp", end_values=None),
    ),
    "objects as values": (TypeError, lambda: jnp.full_like(X, np.array(None))),
    "fractions of bits": (TypeError, lambda: lax.reduce_precision(X, 5, 2.5)),
    "arrays as axes": (
        TypeError,
        lambda: olympus.random.categorical(olympus.random.key(0), X, axis=np.ones((2, 4))),
    ),
    "dictionaries as shapes": (
        TypeError,
        lambda: olympus.random.choice(olympus.random.key(0), X, {}),
    ),
    "complex scales of samples": (
        olympus.errors.TypePromotionError,
        lambda: olympus.random.double_sided_maxwell(olympus.random.key(0), 0.0, 1j, (3,)),
    ),
    "complex probabilities": (
        ValueError,
        lambda: olympus.random.geometric(olympus.random.key(0), 1j, (3,)),
    ),
    "dense arrays as sparse ones": (TypeError, lambda: sparse.csr_todense(X)),
    "numbers as starts of slices": (TypeError, lambda: lax.dynamic_slice(X, 1, (2,))),
    "numbers as lengths of transforms": (TypeError, lambda: lax.fft(X, "fft", 4)),
    "numbers as ranges of singular values": (
        TypeError,
        lambda: lax.linalg.svd(M, full_matrices=False, subset_by_index=1),
    ),
    "nothing as axes of products": (TypeError, lambda: jnp.tensordot(M, M.T, None)),
    "arrays as numbers of dimensions": (
        TypeError,
        lambda: jnp.linalg.tensorinv(np.eye(4, dtype="float32").reshape(2, 2, 4), np.arange(2)),
    ),
    "arrays as sizes of buckets": (
        TypeError,
        lambda: olympus.ops.segment_min(X, np.arange(4), 4, bucket_size=jnp.ones((2, 2))),
    ),
    "numbers as masks": (ValueError, lambda: jnp.add.reduce(X, where=2.5)),
    "texts to join as sparse arrays": (
        ValueError,
        lambda: sparse.bcoo_concatenate({"a": 1}, dimension=0),
    ),
    "numbers as functions of sparse arrays": (TypeError, lambda: sparse.sparsify(1)),
    "fractions as places": (ValueError, lambda: jnp.insert(X, 1.5, 1.0)),
    "fractions as counts": (TypeError, lambda: jnp.repeat(X, 1.5, total_repeat_length=6)),
    "numbers as keys to sort by": (TypeError, lambda: jnp.lexsort(3)),
    "imaginary sizes": (TypeError, lambda: scipy.linalg.hilbert(1j)),
    "no coefficients": (ValueError, lambda: scipy.linalg.fiedler_companion(jnp.ones(0))),
    "lists as norms": (ValueError, lambda: scipy.fft.dct(X, norm=[None, 1.0])),
    "scalars as columns": (ValueError, lambda: scipy.linalg.hankel(1.0)),
    "texts as sparse arrays": (
        TypeError,
        lambda: sparse.bcoo_slice("text", start_indices=(0, 0), limit_indices=(3, 3)),
    ),
    "functions as shapes": (TypeError, lambda: jnp.broadcast_shapes((2, 1), lambda: 0)),
    "objects among numbers": (TypeError, lambda: jnp.isrealobj((None,))),
    "arrays as promises about indices": (
        TypeError,
        lambda: olympus.jit(lambda x: x.at[np.arange(4)].set(x, unique_indices=np.ones(4)))(X),
    ),
    "arrays as promises about segments": (
        TypeError,
        lambda: olympus.jit(lambda x: olympus.ops.segment_min(x, np.arange(4), 4, x))(X),
    ),
    "lists as numbers of keys": (ValueError, lambda: lax.sort(X, num_keys=[1.5, 2.5])),
    "numbers as functions": (TypeError, lambda: lax.reduce(M, 0.0, 3, (0,))),
    "functions as axes": (TypeError, lambda: lax.reduce(M, 0.0, lax.max, lax.max)),
    "logarithms of integers": (TypeError, lambda: lax.cumlogsumexp(np.arange(3))),
    "matrices as edges": (ValueError, lambda: jnp.histogram_bin_edges(X, M)),
    "arrays as tolerances": (
        TypeError,
        lambda: scipy.linalg.eigh_tridiagonal(X, X[:3], eigvals_only=True, tol=X),
    ),
    "nothing as size": (TypeError, lambda: scipy.linalg.pascal(None)),
    "arrays as numbers of batch dimensions": (
        TypeError,
        lambda: sparse.BCOO.fromdense(M, n_batch=jnp.ones(7)),
    ),
    "bounds with more dimensions than the samples": (
        ValueError,
        lambda: olympus.random.randint(olympus.random.key(0), (), 0, np.arange(1, 5)),
    ),
    "bounds that make the samples larger": (
        ValueError,
        lambda: olympus.random.uniform(olympus.random.key(0), (1,), maxval=X),
    ),
    "flags as dimensions": (
        TypeError,
        lambda: sparse.bcoo_reshape(sparse.BCOO.fromdense(M), new_sizes=(8,), dimensions=True),
    ),
    "arrays as axes of permutations": (
        TypeError,
        lambda: olympus.random.permutation(olympus.random.key(0), M, axis=jnp.ones(7)),
    ),
    "fractions as lengths": (ValueError, lambda: jnp.fft.rfftfreq(0.5, 8)),
    "fractions as numbers of entries": (TypeError, lambda: sparse.BCOO.fromdense(M, nse=2.5)),
    "functions as matrices": (TypeError, lambda: scipy.linalg.cholesky(lambda: 0, M)),
    "arrays as options": (
        TypeError,
        lambda: scipy.optimize.minimize(jnp.sum, X, method="BFGS", options=np.ones((2, 0))),
    ),
    "lists as angles": (
        TypeError,
        lambda: scipy.special.sph_harm_y(np.array([2]), np.array([1]), [], X[:1]),
    ),
    "matrices as offsets": (TypeError, lambda: jnp.trace(M, M)),
    "structs as axes": (TypeError, lambda: jnp.maximum.reduce(M, axis=STRUCT)),
    "flags as indices": (
        TypeError,
        lambda: jnp.put_along_axis(X, X > 0, 1.0, axis=0, inplace=False),
    ),
    "arrays as inverses": (
        TypeError,
        lambda: lax.fori_loop(0, jnp.asarray(3), lambda _, r: r + 1, X, inverse=M),
    ),
    "no dtype": (ValueError, lambda: lax.iota(None, 4)),
    "bytes as shapes": (
        TypeError,
        lambda: olympus.nn.initializers.ones(olympus.random.key(0), b"bytes"),
    ),
    "dictionaries as modes": (ValueError, lambda: olympus.jit(_convolved)(X)),
    "dictionaries as methods": (
        ValueError,
        lambda: olympus.jit(lambda a: jnp.linalg.slogdet(a, method={}))(np.eye(3)),
    ),
    "arrays as kinds of transforms": (
        NotImplementedError,
        lambda: olympus.jit(lambda a: scipy.fft.idctn(a, type=np.ones(2)))(M),
    ),
    "objects as devices": (ValueError, lambda: olympus.jit(_moved)(X)),
    "lists as signals": (TypeError, lambda: scipy.signal.csd(X, [], nperseg=2)),
    "nothing in place of NaN": (TypeError, lambda: jnp.nan_to_num(X, nan=None)),
    "arrays as dtypes of frequencies": (
        ValueError,
        lambda: jnp.fft.fftfreq(8, 0.5, dtype=np.array("2020-01-01", "M8[D]")),
    ),
    "scalars as kernels": (ValueError, lambda: scipy.linalg.convolution_matrix(1j, 5)),
    "dictionaries in products of batches": (TypeError, lambda: olympus.vmap(_multiplied)(M)),
    "nothing as the dimensions of slices": (TypeError, lambda: olympus.vmap(_gathered)(M)),
    "fractions in shapes": (TypeError, lambda: jnp.broadcast_shapes((2, 1), np.ones((1, 1)))),
    "windows without elements": (
        ValueError,
        lambda: lax.gather(
            X, np.zeros((1, 1), int), lax.GatherDimensionNumbers((), (0,), (0,)), (0,)
        ),
    ),
    "arrays as spacings": (ValueError, lambda: jnp.fft.fftfreq(8, np.ones((1, 1)))),
    "functions as devices": (ValueError, lambda: olympus.jit(_ranged)(2.0)),
    "numbers to join as sparse arrays": (
        TypeError,
        lambda: sparse.bcoo_concatenate(float("nan"), dimension=0),
    ),
    "arrays as dtypes of places": (
        ValueError,
        lambda: sparse.empty((3, 3), index_dtype=jnp.ones(7)),
    ),
    "arrays as dtypes of coordinates": (
        ValueError,
        lambda: sparse.BCOO.fromdense(M, index_dtype=jnp.arange(3)),
    ),
    "fractions of batches": (TypeError, lambda: lax.map(jnp.sum, M, batch_size=1.5)),
    "structs as orders of axes": (TypeError, lambda: olympus.jit(_turned)(M)),
    "keys without an order": (TypeError, lambda: jnp.max(olympus.random.key(0))),
    "types as shardings": (
        TypeError,
        lambda: jnp.reshape(M, -1, order="F", out_sharding=jnp.float32),
    ),
    "sizes beyond all memory": (MemoryError, lambda: scipy.linalg.invpascal(2**40)),
    "numbers as devices": (ValueError, lambda: olympus.jit(lambda: jnp.zeros(2, device=3))()),
    "partition specs without a mesh": (
        ValueError,
        lambda: olympus.jit(lambda: jnp.asarray([1], device=olympus.P("i")))(),
    ),
    "fractions as diagonals": (ValueError, lambda: jnp.eye(3, k=2.5)),
    "fractions as diagonals of triangles": (TypeError, lambda: jnp.tri(3, k=np.float32(2))),
    "fractions of rows": (TypeError, lambda: sparse.eye(2.5)),
    "fractions of restarts": (
        TypeError,
        lambda: scipy.sparse.linalg.gmres(jnp.eye(4), X, restart=2.5),
    ),
    "fractions as windows": (
        TypeError,
        lambda: olympus.nn.dot_product_attention(
            *[np.ones((1, 2, 1, 2))] * 3, local_window_size=1.5
        ),
    ),
    "fractions as breakpoints": (TypeError, lambda: scipy.signal.detrend(X, bp=[1.5, 2.5])),
    "matrices as breakpoints": (ValueError, lambda: scipy.signal.detrend(X, bp=[[1, 2]])),
    "arrays as lengths": (TypeError, lambda: scipy.linalg.convolution_matrix(int, M)),
    "arrays as ways to batch loops": (
        ValueError,
        lambda: lax.while_loop(lambda n: n < 3, lambda n: n + 1, 0, batch=np.ones((2, 0))),
    ),
    "arrays as ways to batch conditionals": (
        ValueError,
        lambda: lax.cond(True, jnp.sin, jnp.cos, X, batch=np.ones((2, 0))),
    ),
    "arrays as plans of checkpoints": (
        ValueError,
        lambda: lax.scan(lambda c, x: (c, x), 0, X, checkpoints=np.ones((2, 0))),
    ),
    "arrays as descriptions": (
        TypeError,
        lambda: lax.scan(lambda c, x: (c, x), 0, X, progress=np.ones((2, 0))),
    ),
    "dictionaries as descriptions": (
        TypeError,
        lambda: lax.while_loop(lambda n: n < 3, lambda n: n + 1, 0, progress={}),
    ),
    "rows as axes of transforms": (TypeError, lambda: jnp.fft.fftn(M, axes=np.ones((1, 1)))),
    "too few axes of transforms": (
        ValueError,
        lambda: jnp.fft.fftn(M, s=(3, 5), axes=np.ones((1, 1))),
    ),
    "numbers as axes of transforms": (TypeError, lambda: jnp.fft.fft2(M, axes=1)),
    "an axis twice": (ValueError, lambda: jnp.fft.fftn(M, axes=(0, -2))),
    "functions as starts": (
        TypeError,
        lambda: sparse.bcoo_dynamic_slice(sparse.BCOO.fromdense(M), lambda r: r, (1, 2)),
    ),
    "row pointers of another array": (
        ValueError,
        lambda: sparse.bcsr_extract(np.array([0, 1]), np.array([0, 1, 2]), np.ones((3, 2))),
    ),
    "lists as indices to fill up with": (ValueError, lambda: jnp.argwhere(M, fill_value=[1, 2])),
    "shapes that are dictionaries": (TypeError, lambda: jnp.full({}, 1.0)),
    "dictionaries among shapes": (TypeError, lambda: jnp.broadcast_shapes({}, (1, 3))),
    "matrices as polynomials": (ValueError, lambda: jnp.polyder(M)),
    "no samples": (ValueError, lambda: scipy.signal.welch(np.ones((2, 0)), nperseg=8)),
    "no elements": (ValueError, lambda: jnp.median(np.ones((2, 0)))),
    "negative degrees": (
        ValueError,
        lambda: scipy.special.sph_harm_y(np.array([2]), np.array([1]), X, X, n_max=-1),
    ),
    "matrices as flags": (
        ValueError,
        lambda: scipy.spatial.transform.Rotation.from_quat(X).as_quat(np.ones((1, 1))),
    ),
}


REFUSED |= {
    "more rows than int32 counts": (
        OverflowError,
        lambda: lax.linalg.lu_pivots_to_permutation(np.arange(3, dtype=np.int32), 2**40),
    ),
    "arrays as flags of sparse products": (
        TypeError,
        lambda: sparse.coo_matvec(sparse.coo_fromdense(M), X, X),
    ),
    "arrays as flags of sparse products of matrices": (
        TypeError,
        lambda: sparse.csr_matmat(sparse.csr_fromdense(M), M.T, transpose=X),
    ),
    "traced flags of sparse products": (
        TypeError,
        lambda: olympus.jit(lambda m, x: sparse.csr_matvec(sparse.csr_fromdense(m, nse=8), x, x))(
            M, X
        ),
    ),
    "traced flags of sparse products of matrices": (
        TypeError,
        lambda: olympus.vmap(
            lambda m, x: sparse.coo_matmat(sparse.coo_fromdense(m, nse=8), m.T, transpose=x),
            (None, 0),
        )(M, X),
    ),
    "classes as coefficients": (
        TypeError,
        lambda: scipy.linalg.fiedler_companion(olympus.ShapeDtypeStruct),
    ),
    "classes as polynomials": (
        TypeError,
        lambda: scipy.linalg.companion(olympus.ShapeDtypeStruct),
    ),
    "arrays as tokens": (TypeError, lambda: lax.after_all(jnp.ones(3))),
    "numbers as tokens": (TypeError, lambda: lax.after_all(lax.create_token(), 1)),
    "nothing as tokens": (TypeError, lambda: lax.after_all(None)),
    "windows beyond all numbers": (
        OverflowError,
        lambda: lax.reduce_window(X, 0.0, lax.add, (2**62,), (1,), "SAME"),
    ),
    "windows beyond all numbers in batches": (
        OverflowError,
        lambda: olympus.vmap(lambda x: lax.reduce_window(x, 0.0, lax.max, (2**62,), (1,), "VALID"))(
            M
        ),
    ),
    "names as numbers of results": (TypeError, lambda: jnp.ufunc(jnp.add, 2, "int32")),
    "fractions as numbers of operands": (TypeError, lambda: jnp.ufunc(jnp.add, 1.5, 1)),
    "reflections beyond all memory": (
        OverflowError,
        lambda: jnp.pad(X, 2**62, mode="reflect"),
    ),
    "wrapped arrays beyond all memory": (OverflowError, lambda: jnp.pad(X, 2**62, mode="wrap")),
}


# Words of errors that come from the inside of a library, not from a check of arguments.
INTERNAL = "truth value|object is not iterable|unhashable|has no attribute"


def test_shape_struct_with_integer_shape():
    # Programs match the words of Python.
    with pytest.raises(TypeError, match="integers, got 1j: 'complex' object is not iterable"):
        olympus.ShapeDtypeStruct(1j, "float32")


@pytest.mark.parametrize("name", REFUSED)
def test_malformed_calls_raise(name):
    kind, call = REFUSED[name]
    with pytest.raises(kind) as error:
        call()
    assert not re.search(INTERNAL, str(error.value))


def test_structs_are_accepted_as_dtypes():
    assert jnp.sum(X, dtype=STRUCT).dtype == STRUCT.dtype


def test_integers_of_any_size_have_a_shape():
    assert jnp.shape(2**40) == () and jnp.ndim(2**40) == 0 and jnp.size(2**40) == 1


def test_take_with_an_empty_float_array():
    assert jnp.take(X, jnp.array([])).shape == (0,)
    with pytest.raises(ValueError, match="integer"):
        jnp.take(X, jnp.array([1.0]))


def test_densities_with_complex_weights():
    points = np.array([[0.1], [0.2], [0.9]])
    weights = np.array([1 + 1j, 2.0, 3.0])
    density, (edges,) = jnp.histogramdd(points, bins=2, weights=weights, density=True)
    sums = np.array([3 + 1j, 3.0])
    expected = sums / sums.sum() / np.diff(edges)
    np.testing.assert_allclose(density, expected, rtol=1e-5)


def test_masks_with_more_dimensions_than_the_operand():
    x = np.ones((1, 1))
    result = jnp.piecewise(x, [X < 2], [lambda v: -v, lambda v: v + 1])
    np.testing.assert_array_equal(result, np.where(X < 2, -1, 2)[None])


def test_corrections_of_nanvar_that_are_arrays():
    t = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    ddof = np.arange(3)
    np.testing.assert_allclose(
        jnp.nanvar(t, axis=-1, ddof=ddof), np.nanvar(t, axis=-1, ddof=ddof), rtol=1e-6
    )


def test_ufunc_of_a_function_of_scalars():
    pairs = jnp.ufunc(lambda x, y: jnp.where(x > 1, jnp.full((2,), y), jnp.zeros(2)), 2, 1)
    result = pairs(np.arange(4), 5.0)
    np.testing.assert_array_equal(result, [[0, 0], [0, 0], [5, 5], [5, 5]])
    assert jnp.ufunc(lambda x, y: jnp.ones(3) * y, 2, 1)(X, 1.0).shape == (4, 3)


def test_dot_general_without_dimension_numbers_is_dot():
    np.testing.assert_allclose(lax.dot_general(M, X, None), M @ X)


def test_broadcast_shapes_accepts_scalar_arrays():
    assert jnp.broadcast_shapes((2, 1), jnp.array(3)) == (2, 3)


def test_sparse_integers_divided_by_python_numbers():
    array = np.arange(1, 10, dtype=np.int32).reshape(3, 3)
    quotient = olympus.jit(lambda x: x / 2.5)(sparse.BCOO.fromdense(array))
    np.testing.assert_allclose(quotient.todense(), array / 2.5, rtol=1e-6)


def test_ranks_for_more_bounds_than_matrices():
    a = np.diag(np.array([3.0, 1.0], np.float32))
    bounds = np.array([[0.5, 2.0, 4.0]])
    np.testing.assert_array_equal(jnp.linalg.matrix_rank(a, rtol=bounds), [[2, 1, 0]])


def test_trapezoid_with_two_dimensional_x():
    positions = np.cumsum(M, axis=1)
    area = np.sum(np.diff(positions) * (X[1:] + X[:-1]) / 2, -1)
    np.testing.assert_allclose(jnp.trapezoid(X, positions), area)


def test_softmax_of_an_empty_array():
    assert scipy.special.softmax(jnp.ones(0)).shape == (0,)
    assert scipy.special.log_softmax(jnp.ones(0)).shape == (0,)


def test_split_at_traced_empty_indices():
    assert [part.shape for part in olympus.jit(jnp.vsplit)(M, jnp.ones(0))] == [(2, 4)]


def test_sparsify_keeps_python_number_options():
    assert sparse.sparsify(jnp.sum)(sparse.BCOO.fromdense(M), axis=0).shape == (4,)


def test_errors_of_specs_and_structs_hide_library_frames():
    for call in (
        lambda: olympus.sharding.PartitionSpec(bytearray(1)),
        lambda: olympus.ShapeDtypeStruct(3, "float32"),
        lambda: round(jnp.asarray(X), np.ones((2, 0))),
    ):
        with pytest.raises(TypeError) as error:
            call()
        frames = traceback.extract_tb(error.value.__traceback__)
        assert {frame.filename for frame in frames} == {__file__}


@pytest.mark.parametrize("transform", [jnp.fft.irfft, jnp.fft.hfft, jnp.fft.irfftn])
def test_real_fft_of_one_element_is_empty(transform):
    x = np.ones((3, 1), np.float32)
    assert transform(x).shape == olympus.jit(transform)(x).shape == (3, 0)
    gradient = olympus.grad(lambda x: transform(x).sum())(x)
    np.testing.assert_array_equal(gradient, np.zeros((3, 1)))


def test_frequencies_of_integer_dtypes_are_truncated():
    expected = np.fft.fftfreq(8, 0.5).astype(int)
    result = jnp.fft.fftfreq(8, 0.5, dtype=int)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(jnp.fft.rfftfreq(8, 0.5, dtype=int), [0, 0, 0, 0, 1])


def test_numpy_arrays_are_filled_and_extended():
    np.testing.assert_array_equal(jnp.fill_diagonal(M[:, :2], 3, inplace=False), 1 + 2 * np.eye(2))
    np.testing.assert_array_equal(jnp.insert(M, 1, X, axis=0), np.insert(M, 1, X, axis=0))


def test_detrend_ignores_breakpoints_of_constant_trends():
    mean = scipy.signal.detrend(X, type="constant", bp=object())
    np.testing.assert_allclose(mean, X - X.mean())
    pairs = scipy.signal.detrend(X**2, bp=np.array([2]))
    np.testing.assert_allclose(pairs, np.zeros(4), atol=1e-5)


def test_spherical_harmonics_above_n_max_are_nan():
    degrees, orders = np.array([2, 1]), np.array([1, 1])
    expected = scipy_special.sph_harm_y(degrees, orders, X[:2], X[2:])
    result = scipy.special.sph_harm_y(degrees, orders, X[:2], X[2:], n_max=1)
    assert np.isnan(result[0])
    np.testing.assert_allclose(result[1], expected[1], rtol=1e-5)


def test_solve_triangular_accepts_truthy_flags():
    a = np.array([[2.0, 1.0], [0.0, 4.0]], np.float32)
    b = np.ones((2, 1), np.float32)
    x = lax.linalg.triangular_solve(a, b, left_side=True, transpose_a=1)
    np.testing.assert_allclose(a.T @ x, b)


def test_classes_as_arrays_raise():
    """The shape of a class is a descriptor, which has no length."""
    given, numbers = olympus.ShapeDtypeStruct, lax.GatherDimensionNumbers((), (0,), (0,))
    for call in (
        lambda: lax.gather(X, given, numbers, (1,)),
        lambda: lax.sort(given),
        lambda: lax.dot(X, given),
        lambda: lax.broadcast(given, (1,)),
        lambda: lax.top_k(given, 1),
        lambda: lax.squeeze(given, (0,)),
        lambda: lax.expand_dims(given, (0,)),
    ):
        with pytest.raises(TypeError, match="ShapeDtypeStruct|<class 'type'>"):
            call()


def test_options_of_wrong_types_are_named():
    x, m = np.ones(4, np.float32), np.ones((2, 4), np.float32)
    for call, error, words in (
        (
            lambda: olympus.jit(abs, compiler_options=2),
            TypeError,
            "compiler_options must be a dict",
        ),
        (lambda: olympus.jit(abs, device="cpu"), TypeError, "device of jit must be a device"),
        (lambda: olympus.checkpoint(abs, policy=2), TypeError, "policy .* must be a function"),
        (lambda: olympus.tree.map(abs, [x], is_leaf=2), TypeError, "is_leaf must be a function"),
        (lambda: olympus.tree.leaves([x], is_leaf=2), TypeError, "is_leaf must be a function"),
        (lambda: lax.dot(m, m, dimension_numbers=2), TypeError, "dimension_numbers must be"),
        (lambda: lax.dot_general(m, m, ((1,), (0,))), ValueError, "dimension_numbers must be"),
        (lambda: jnp.linalg.svd(m, subset_by_index=2), TypeError, r"must be a range \(start, stop"),
        (lambda: jnp.rot90(m, axes=(0,)), ValueError, "plane of two axes"),
        (lambda: jnp.unwrap(x, axis=3), IndexError, "axis 3 is out of bounds"),
        (lambda: olympus.nn.glu(x, axis=1), IndexError, "axis 1 is out of bounds"),
    ):
        deprecated = pytest.warns(DeprecationWarning) if "device" in words else nullcontext()
        with deprecated, pytest.raises(error, match=words):
            call()


def test_sums_over_no_examples_have_no_parts():
    with pytest.raises(ValueError, match="of size 0 has no parts"):
        olympus.vmap(lambda x: lax.psum_scatter(x, "i", tiled=True), axis_name="i")(
            np.ones((0, 4), np.float32)
        )


def test_keys_padded_without_values():
    keys = olympus.random.split(olympus.random.key(0))
    padded = jnp.pad(keys, 1, mode="empty")
    data = olympus.random.key_data
    assert padded.shape == (4,)
    np.testing.assert_array_equal(data(padded)[1:3], data(keys))


@pytest.mark.parametrize("name", ["__olympus_array__", "__jax_array__"])
def test_conversions_that_return_the_object_itself(name):
    hostile = type("Hostile", (), {name: lambda self: self})()
    x = np.ones(3, np.float32)
    for call in (
        jnp.sin,
        jnp.array,
        olympus.jit(lambda x: x),
        olympus.grad(lambda x: x),
        olympus.device_put,
        lambda value: jnp.add(x, value),
        lambda value: jnp.ones(3) * value,
        lambda value: jnp.ones(3)[value],
        lambda value: lax.cond(True, lambda x: x, lambda x: x, value),
        olympus.jit(lambda y: jnp.add(y, hostile)).__call__,
    ):
        with pytest.raises(TypeError):
            call(hostile)


def test_objects_with_arrays_as_dtypes():
    convertible = type("Convertible", (), {"__array__": lambda self: np.ones(3)})()
    for call in (jnp.asarray, jnp.zeros_like, jnp.astype):
        with pytest.raises(TypeError, match="Convertible"):
            call(np.ones(3, np.float32), convertible)


def test_empty_arrays_beyond_the_compiler_have_no_bytes():
    with pytest.raises(OverflowError, match=r"has \d{20} bytes but for its sizes of 0, and"):
        olympus.jit(lambda: jnp.zeros((2**62, 4, 0)))()


@pytest.mark.parametrize(
    ("call", "flag"),
    [
        (lambda flags: lax.cumsum(X, reverse=flags), "cumsum requires True or False for `reverse`"),
        (lambda flags: lax.sort(X, is_stable=flags), "sort requires True or False for `is_stable`"),
        (lambda flags: lax.scan(lambda c, x: (c, x), 0.0, X, reverse=flags), "scan .* `reverse`"),
        (lambda flags: jnp.unique(X, return_index=flags), "unique .* `return_index`"),
        (lambda flags: lax.linalg.cholesky(M @ M.T, symmetrize_input=flags), "`symmetrize_input`"),
        (lambda flags: lax.dynamic_index_in_dim(X, 0, keepdims=flags), "`keepdims`"),
    ],
)
@pytest.mark.parametrize("mode", ["called", "compiled"])
def test_errors_name_flags_that_are_arrays(call, flag, mode):
    flags = np.array([True, False])
    with pytest.raises(ValueError, match=flag):
        call(flags) if mode == "called" else olympus.jit(call)(flags)
