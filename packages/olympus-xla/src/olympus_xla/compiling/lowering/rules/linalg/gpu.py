# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on GPUs, by cuSOLVER, cuSPARSE, their ROCm counterparts and jaxlib's kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.lax.core.declarations import real_dtype
from olympus_ir.lax.linalg.matrices import adjoint, swap_last
from olympus_ir.lax.linalg.spectral import complex_dtype
from olympus_ir.settings import config_flags
from olympus_ir.types.avals import get_aval

from ..... import _jaxlib
from ...tables import define_for_platform, lower_with
from .cpu import empty_svd, part_of_spectrum, part_of_svd, tridiagonal_results
from .kernels import INT32, kernel, nan_unless, parts, succeeded, ui8

# The prefixes of the names of routines, by platform.
_PREFIXES = {"cuda": "cu", "rocm": "hip"}
# Matrices up to this size use Jacobi rotations.
_LARGEST_FOR_JACOBI = 1024


def gpu_rule(primitive: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that defines a rule for GPUs: ``rule(prefix, *operands, **params)``."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for platform, prefix in _PREFIXES.items():
            rule = lower_with(functools.partial(function, prefix))
            define_for_platform(primitive, platform, rule)
        return function

    return decorate


@gpu_rule(linalg.cholesky_p)
def _cholesky(gpu: str, x: Any) -> Any:
    batch, shape, dtype = parts(x, 2)
    factor, info = kernel(
        f"{gpu}solver_potrf_ffi",
        [x],
        [((*batch, *shape), dtype), (batch, INT32)],
        batch=len(batch),
        aliases={0: 0},
        lower=True,
    )
    return nan_unless(succeeded(info), factor)


@gpu_rule(linalg.cholesky_update_p)
def _cholesky_update(gpu: str, r: Any, w: Any) -> Any:
    aval, vector = get_aval(r), get_aval(w)
    results = [(aval.shape, aval.dtype), (vector.shape, vector.dtype)]
    return kernel(
        f"{gpu}_cholesky_update_ffi", [r, w], results, aliases={0: 0, 1: 1}, column_major=False
    )[0]


@gpu_rule(linalg.symmetric_product_p)
def _symmetric_product(gpu: str, a: Any, c: Any, *, alpha: float, beta: float) -> Any:
    batch, shape, dtype = parts(c, 2)
    factors = [np.array(factor, dtype) for factor in (alpha, beta)]
    (updated,) = kernel(
        f"{gpu}solver_syrk_ffi",
        [a, c, *factors],
        [((*batch, *shape), dtype)],
        batch=len(batch),
        aliases={1: 0},
        column_major=False,
        transpose=False,
    )
    # The routine computes the lower triangle only.
    rows, columns = (
        lax.broadcasted_iota(np.int32, updated.shape, updated.ndim - axis) for axis in (2, 1)
    )
    return lax.select(lax.ge(rows, columns), updated, swap_last(updated))


@gpu_rule(linalg.lu_p)
def _lu(gpu: str, x: Any) -> Any:
    batch, shape, dtype = parts(x, 2)
    packed, pivots, info = kernel(
        f"{gpu}solver_getrf_ffi",
        [x],
        [((*batch, *shape), dtype), ((*batch, min(shape)), INT32), (batch, INT32)],
        batch=len(batch),
        aliases={0: 0},
    )
    ok = lax.ge(info, lax.full(batch, np.int32(0)))
    pivots = lax.sub(pivots, lax.full(get_aval(pivots).shape, np.int32(1)))
    permutation = linalg.lu_pivots_to_permutation(pivots, shape[0])
    return [nan_unless(ok, packed), pivots, permutation]


@gpu_rule(linalg.lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(gpu: str, pivots: Any, *, permutation_size: int) -> Any:
    batch, _, _ = parts(pivots, 1)
    results = [((*batch, permutation_size), INT32)]
    return kernel(f"{gpu}_lu_pivots_to_permutation", [pivots], results, batch=len(batch))[0]


@gpu_rule(linalg.geqrf_p)
def _geqrf(gpu: str, x: Any) -> Any:
    batch, shape, dtype = parts(x, 2)
    results = [((*batch, *shape), dtype), ((*batch, min(shape)), dtype)]
    return kernel(f"{gpu}solver_geqrf_ffi", [x], results, batch=len(batch), aliases={0: 0})


def _magma(use_magma: bool | None) -> str:
    if use_magma is None:
        return config_flags.use_magma.value
    return "on" if use_magma else "off"


@gpu_rule(linalg.geqp3_p)
def _geqp3(gpu: str, x: Any, jpvt: Any, *, use_magma: bool | None) -> Any:
    batch, shape, dtype = parts(x, 2)
    _jaxlib.prepare_hybrid_routines()
    return kernel(
        f"{gpu}hybrid_geqp3",
        [x, jpvt],
        [((*batch, *shape), dtype), ((*batch, shape[1]), INT32), ((*batch, min(shape)), dtype)],
        batch=len(batch),
        aliases={0: 0, 1: 1},
        magma=_magma(use_magma),
    )


@gpu_rule(linalg.householder_product_p)
def _householder_product(gpu: str, a: Any, taus: Any) -> Any:
    batch, shape, dtype = parts(a, 2)
    results = [((*batch, *shape), dtype)]
    return kernel(f"{gpu}solver_orgqr_ffi", [a, taus], results, batch=len(batch), aliases={0: 0})[0]


@gpu_rule(linalg.ormqr_p)
def _ormqr(gpu: str, a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    batch, shape, dtype = parts(c, 2)
    return kernel(
        f"{gpu}solver_ormqr_ffi",
        [a, taus, c],
        [((*batch, *shape), dtype)],
        batch=len(batch),
        aliases={2: 0},
        left=left,
        transpose=transpose,
    )[0]


@gpu_rule(linalg.tridiagonal_solve_p)
def _tridiagonal_solve(
    gpu: str, dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool
) -> Any:
    batch, shape, dtype = parts(b, 2)
    operands, results = [dl, d, du, b], [((*batch, *shape), dtype)]
    if perturb_singular:
        target = f"{gpu}_tridiagonal_solve_perturbed"
        return kernel(target, operands, results, batch=len(batch))[0]
    target = f"{gpu}sparse_gtsv2_ffi"
    return kernel(target, operands, results, batch=len(batch), aliases={3: 0})[0]


@gpu_rule(linalg.eig_p)
def _eig(
    gpu: str,
    x: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> Any:
    if implementation is linalg.EigImplementation.CUSOLVER:
        raise NotImplementedError(
            "eigenvalues of general matrices by cuSOLVER are not supported; leave implementation "
            "out, or choose MAGMA or LAPACK"
        )
    batch, shape, dtype = parts(x, 2)
    wide = complex_dtype(dtype)
    several = [((*batch, shape[0]), dtype)] * (1 if dtype == wide else 2)
    vectors = ((*batch, *shape), wide)
    wants_magma = (
        None if implementation is None else implementation is linalg.EigImplementation.MAGMA
    )
    _jaxlib.prepare_hybrid_routines()
    *found, left, right, info = kernel(
        f"{gpu}hybrid_eig_{'comp' if dtype == wide else 'real'}",
        [x],
        [*several, vectors, vectors, (batch, INT32)],
        batch=len(batch),
        left=compute_left_eigenvectors,
        right=compute_right_eigenvectors,
        magma=_magma(wants_magma),
    )
    ok = succeeded(info)
    results = [found[0] if dtype == wide else lax.complex(*found)]
    results += [left] * compute_left_eigenvectors + [right] * compute_right_eigenvectors
    return [nan_unless(ok, result) for result in results]


@gpu_rule(linalg.eigh_p)
def _eigh(
    gpu: str,
    x: Any,
    *,
    lower: bool,
    compute_eigenvectors: bool = True,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> Any:
    choices = linalg.EighImplementation
    if algorithm is choices.QDWH:
        raise NotImplementedError("QDWH is not supported on GPUs; choose QR or JACOBI")
    batch, shape, dtype = parts(x, 2)
    vectors, values, info = kernel(
        f"{gpu}solver_syevd_ffi",
        [x],
        [((*batch, *shape), dtype), ((*batch, shape[0]), real_dtype(dtype)), (batch, INT32)],
        batch=len(batch),
        aliases={0: 0},
        algorithm=ui8({None: 0, choices.QR: 1, choices.JACOBI: 2}[algorithm]),
        lower=lower,
    )
    ok = succeeded(info)
    vectors, values = nan_unless(ok, vectors), nan_unless(ok, values)
    return part_of_spectrum(vectors, values, subset_by_index, compute_eigenvectors)


@gpu_rule(linalg.tridiagonal_p)
def _tridiagonal(gpu: str, x: Any, *, lower: bool) -> Any:
    batch, shape, dtype = parts(x, 2)
    *results, info = kernel(
        f"{gpu}solver_sytrd_ffi",
        [x],
        [*tridiagonal_results(batch, shape[0], dtype), (batch, INT32)],
        batch=len(batch),
        aliases={0: 0},
        lower=lower,
    )
    ok = succeeded(info)
    return [nan_unless(ok, result) for result in results]


@gpu_rule(linalg.svd_p)
def _svd(
    gpu: str,
    x: Any,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: Any = None,
) -> Any:
    choices = linalg.SvdAlgorithm
    _, (rows, columns), _ = parts(x, 2)
    if not rows or not columns:
        return empty_svd(x, full_matrices, compute_uv)
    count = min(rows, columns)
    if algorithm in (None, choices.DEFAULT):
        small = max(rows, columns) <= _LARGEST_FOR_JACOBI
        algorithm = choices.JACOBI if small else choices.QR
    if algorithm is choices.DIVIDE_AND_CONQUER:
        raise NotImplementedError("divide and conquer is not supported on GPUs; leave it out")
    if algorithm is choices.QR:
        found = _svd_by_qr(gpu, x, full_matrices, compute_uv)
    else:
        found = _svd_by_rotations(gpu, x, full_matrices, compute_uv, algorithm)
    values, left, right = found
    if not full_matrices:
        left = lax.slice_in_dim(left, 0, count, axis=-1)
        right = lax.slice_in_dim(right, 0, count, axis=-2)
    return part_of_svd(values, left, right, subset_by_index, compute_uv)


def _svd_by_rotations(
    gpu: str, x: Any, full_matrices: bool, compute_uv: bool, algorithm: Any
) -> list[Any]:
    """Lowers to Jacobi rotations, which give full matrices, or to the polar decomposition."""
    batch, (rows, columns), dtype = parts(x, 2)
    polar = algorithm is linalg.SvdAlgorithm.POLAR
    count = min(rows, columns)
    left, right = (count, count) if polar and not full_matrices else (rows, columns)
    _, values, u, v, info = kernel(
        f"{gpu}solver_gesvd{'p' if polar else 'j'}_ffi",
        [x],
        [
            ((*batch, rows, columns), dtype),
            ((*batch, count), real_dtype(dtype)),
            ((*batch, rows, left), dtype),
            ((*batch, columns, right), dtype),
            (batch, INT32),
        ],
        batch=len(batch),
        aliases={0: 0},
        compute_uv=compute_uv,
        full_matrices=full_matrices if polar else True,
    )
    ok = succeeded(info)
    return [nan_unless(ok, result) for result in (values, u, adjoint(v))]


def _svd_by_qr(gpu: str, x: Any, full_matrices: bool, compute_uv: bool) -> list[Any]:
    """Lowers to the QR algorithm; transposes if there are fewer rows than columns."""
    batch, (rows, columns), dtype = parts(x, 2)
    count = min(rows, columns)
    flipped = rows < columns
    left, right = (rows, columns) if full_matrices else (count, count)
    u = ((*batch, rows, left), dtype)
    vh = ((*batch, right, columns), dtype)
    _, values, first, second, info = kernel(
        f"{gpu}solver_gesvd_ffi",
        [x],
        [
            ((*batch, rows, columns), dtype),
            ((*batch, count), real_dtype(dtype)),
            *((vh, u) if flipped else (u, vh)),
            (batch, INT32),
        ],
        batch=len(batch),
        aliases={0: 0},
        # A row-major matrix is the transpose in column-major order.
        column_major=not flipped,
        compute_uv=compute_uv,
        full_matrices=full_matrices,
        transposed=flipped,
    )
    ok = succeeded(info)
    factors = (second, first) if flipped else (first, second)
    return [nan_unless(ok, result) for result in (values, *factors)]
