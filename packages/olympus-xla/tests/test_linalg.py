# SPDX-License-Identifier: Apache-2.0
"""Compiled linear algebra: LAPACK's routines, their errors, and sharded batches."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

from olympus_ir.lax import linalg
from olympus_ir.settings import config
from olympus_xla import jit


def draw(shape, dtype=np.float32):
    generator = np.random.default_rng(0)
    x = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * generator.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x):
    return np.swapaxes(np.conj(x), -1, -2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_schur_factors_multiply_to_the_matrix(dtype):
    with config.enable_x64(True):
        x = draw((2, 5, 5), dtype)
        form, vectors = map(np.asarray, jit(linalg.schur)(x))
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(vectors @ form @ adjoint(vectors), x, atol=tolerance)
    assert (np.tril(form, -1 if np.dtype(dtype).kind == "c" else -2) == 0).all()


TWO_FACTORS = """
import numpy as np
from olympus_ir.lax import linalg
from olympus_xla import jit

x = np.array([[2.0, 1], [1, 3]], np.float32)
first, second = jit(lambda x: (linalg.lu(x)[0], linalg.lu(2 * x)[0]))(x)
np.testing.assert_allclose(first, [[2, 1], [0.5, 2.5]])
np.testing.assert_allclose(second, [[4, 2], [0.5, 5]])
"""


def test_first_program_of_process_has_two_factors(run_python):
    run_python(TWO_FACTORS)


@pytest.mark.parametrize("algorithm", [None, *linalg.SvdAlgorithm])
def test_algorithms_of_singular_values(algorithm):
    x = draw((4, 3))
    unsupported = (linalg.SvdAlgorithm.JACOBI, linalg.SvdAlgorithm.POLAR)
    if algorithm in unsupported:
        with pytest.raises(NotImplementedError, match="not implemented on CPU"):
            linalg.svd(x, algorithm=algorithm)
        return
    values = linalg.svd(x, algorithm=algorithm, compute_uv=False)
    np.testing.assert_allclose(values, np.linalg.svd(x, compute_uv=False), rtol=1e-5)


def test_implementations_of_eigenvalues():
    x = draw((3, 3))
    with pytest.raises(ValueError, match="Only the lapack implementation"):
        linalg.eig(x, implementation=linalg.EigImplementation.MAGMA)
    with pytest.raises(NotImplementedError, match="not supported on CPU"):
        linalg.eigh(x, implementation=linalg.EighImplementation.JACOBI)


def test_dtypes_unsupported_by_lapack_raise():
    with pytest.raises(NotImplementedError, match="not float16: convert the operand"):
        linalg.qr(np.eye(2, dtype=np.float16))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("left_side", [True, False])
def test_triangular_systems_of_small_floats(dtype, left_side):
    a = (np.tril(draw((3, 4, 4))) + 3 * np.eye(4)).astype(dtype)
    b = draw((3, 4, 4)).astype(dtype)
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    expected = np.linalg.solve(a64, b64) if left_side else b64 @ np.linalg.inv(a64)
    solution = jit(lambda a, b: linalg.triangular_solve(a, b, left_side=left_side, lower=True))(
        a, b
    )
    assert solution.dtype == dtype
    np.testing.assert_allclose(
        np.asarray(solution, np.float64), expected, atol=float(ml_dtypes.finfo(dtype).eps)
    )


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0), (3, 0), (0, 3)])
def test_matrices_without_elements_have_factors(shape):
    x = np.zeros(shape, np.float32)
    rows, columns = shape[-2:]
    left, values, right = linalg.svd(x)
    assert left.shape == (*shape[:-2], rows, rows)
    assert right.shape == (*shape[:-2], columns, columns)
    assert values.size == 0
    if rows:
        np.testing.assert_array_equal(left, np.broadcast_to(np.eye(rows), left.shape))
    q, r = linalg.qr(x)
    assert (q.shape, r.shape) == ((*shape[:-2], rows, rows), shape)
    assert linalg.lu(x)[0].shape == shape
    if rows == columns:
        assert linalg.cholesky(x).shape == shape
        assert linalg.eig(x)[1].shape == shape
        assert linalg.eigh(x)[0].shape == shape


def test_factors_that_fail_are_nan():
    x = np.stack([np.eye(2), -np.eye(2)]).astype(np.float32)
    factor = np.asarray(linalg.cholesky(x))
    np.testing.assert_array_equal(factor[0], np.eye(2))
    assert np.isnan(factor[1][np.tril_indices(2)]).all()


def test_large_matrices_have_accurate_factors():
    # LAPACK works in blocks here.
    x = draw((150, 150), np.float64)
    with config.enable_x64(True):
        q, r = linalg.qr(x)
        packed, _, permutation = map(np.asarray, linalg.lu(x))
    np.testing.assert_allclose(np.asarray(q) @ np.asarray(r), x, atol=1e-12)
    lower = np.tril(packed, -1) + np.eye(150)
    np.testing.assert_allclose(lower @ np.triu(packed), x[permutation], atol=1e-12)


def custom_calls(function, *args, platform):
    text = jit(function).lower(*args, lowering_platforms=(platform,)).as_text()
    return re.findall(r"custom_call @(\w+)", text)


@pytest.mark.parametrize(
    ("function", "cpu", "cuda", "rocm", "tpu"),
    [
        (linalg.cholesky, "lapack_spotrf_ffi", "cusolver_potrf_ffi", "hipsolver_potrf_ffi", None),
        (linalg.geqrf, "lapack_sgeqrf_ffi", "cusolver_geqrf_ffi", "hipsolver_geqrf_ffi", "Qr"),
        (linalg.eigh, "lapack_ssyevd_ffi", "cusolver_syevd_ffi", "hipsolver_syevd_ffi", "Eigh"),
        (linalg.eig, "lapack_sgeev_ffi", "cuhybrid_eig_real", "hiphybrid_eig_real", ()),
    ],
)
def test_routines_of_platforms(function, cpu, cuda, rocm, tpu):
    x = draw((3, 3))
    for platform, routine in (("cpu", cpu), ("cuda", cuda), ("rocm", rocm)):
        assert custom_calls(function, x, platform=platform) == [routine]
    if tpu == ():
        with pytest.raises(NotImplementedError, match="cannot be lowered for tpu"):
            custom_calls(function, x, platform="tpu")
    else:
        assert custom_calls(function, x, platform="tpu") == ([] if tpu is None else [tpu])


@pytest.mark.parametrize("shape", [(2000, 3), (3, 2000), (40, 20), (20, 40), (5, 5)])
@pytest.mark.parametrize("full", [True, False])
def test_singular_values_on_gpus(shape, full):
    routines = custom_calls(
        lambda x: linalg.svd(x, full_matrices=full), draw(shape), platform="cuda"
    )
    expected = "cusolver_gesvd_ffi" if max(shape) > 1024 else "cusolver_gesvdj_ffi"
    assert routines == [expected]


def test_singular_values_on_tpus():
    # By the polar decomposition, for single matrices and batches.
    for shape in ((4, 3), (3, 4), (2, 4, 3)):
        routines = custom_calls(linalg.svd, draw(shape), platform="tpu")
        assert "Eigh" in routines
        assert "Qr" in routines


def test_eigh_is_lowered_for_several_platforms():
    lowered = jit(linalg.eigh).lower(draw((3, 3)), lowering_platforms=("cpu", "cuda", "tpu"))
    assert lowered.compiler_ir().operation.verify()


def test_batches_keep_their_sharding():
    # The partitioner knows that each matrix is factored by itself.
    text = jit(linalg.cholesky).lower(draw((4, 3, 3))).as_text()
    assert 'num_batch_dims = "1"' in text
    assert "sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i])" in text


def test_pivoted_decompositions_of_matrices_without_rows():
    q, r, pivots = jit(lambda x: linalg.qr(x, pivoting=True))(np.ones((0, 3), np.float32))
    assert (q.shape, r.shape) == ((0, 0), (0, 3))
    np.testing.assert_array_equal(pivots, [0, 1, 2])
