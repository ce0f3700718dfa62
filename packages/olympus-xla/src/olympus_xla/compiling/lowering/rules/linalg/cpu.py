# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on CPUs, by LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.lax.core.declarations import real_dtype
from olympus_ir.lax.core.sizes import min_dim
from olympus_ir.lax.linalg.matrices import eye
from olympus_ir.lax.linalg.spectral import complex_dtype
from olympus_ir.types import dtypes
from olympus_ir.types.avals import get_aval

from ..... import _jaxlib
from ...context import LoweringContext
from ...cpu.products import factors
from ...tables import define_for_platform
from .kernels import INT32, kernel, nan_unless, parts, rule_for, succeeded, ui8

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
# Routines with another name for complex matrices.
_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


def lapack(routine: str, operands: Any, results: Any, **options: Any) -> list[Any]:
    """Calls a LAPACK routine.

    ``routine`` is the name for real numbers, without the first letter.
    """
    _jaxlib.register_lapack()
    dtype = get_aval(operands[0]).dtype
    letter = _LETTERS.get(dtype.name)
    if letter is None:
        raise NotImplementedError(
            f"linear algebra on CPUs takes float32, float64, complex64 and complex128, not "
            f"{dtypes.name_of(dtype)}: convert the operand"
        )
    if letter in "cz":
        routine = _COMPLEX_NAMES.get(routine, routine)
    return kernel(f"lapack_{letter}{routine}_ffi", operands, results, **options)


@rule_for(linalg.cholesky_p, "cpu")
def _cholesky(x: Any) -> Any:
    batch, shape, dtype = parts(x, 2)
    results = [((*batch, *shape), dtype), (batch, INT32)]
    factor, info = lapack("potrf", [x], results, batch=len(batch), aliases={0: 0}, uplo=ui8("L"))
    return nan_unless(succeeded(info), factor)


def _lu(x: Any) -> Any:
    batch, shape, dtype = parts(x, 2)
    results = [((*batch, *shape), dtype), ((*batch, min_dim(*shape)), INT32), (batch, INT32)]
    packed, pivots, info = lapack("getrf", [x], results, batch=len(batch), aliases={0: 0})
    # A positive status reports a singular matrix. Its factors are valid.
    ok = lax.ge(info, lax.full(batch, np.int32(0)))
    pivots = lax.sub(pivots, lax.full(get_aval(pivots).shape, np.int32(1)))
    permutation = linalg.lu_pivots_to_permutation(pivots, shape[0])
    return [nan_unless(ok, packed), pivots, permutation]


def _side_by_side_or(for_many: Any, by_lapack: Any) -> Any:
    """Returns the rule that computes many small matrices side by side, and others by LAPACK."""

    def rule(context: LoweringContext, *operands: Any, **params: Any) -> Any:
        function = for_many if factors.are_many_small(context) else by_lapack
        return context.inline_function(function, operands, params)

    return rule


define_for_platform(linalg.lu_p, "cpu", _side_by_side_or(factors.factored, _lu))


@rule_for(linalg.geqrf_p, "cpu")
def _geqrf(x: Any) -> Any:
    batch, shape, dtype = parts(x, 2)
    results = [((*batch, *shape), dtype), ((*batch, min_dim(*shape)), dtype)]
    return lapack("geqrf", [x], results, batch=len(batch), aliases={0: 0})


@rule_for(linalg.geqp3_p, "cpu")
def _geqp3(x: Any, jpvt: Any, *, use_magma: bool | None) -> Any:
    batch, shape, dtype = parts(x, 2)
    results = [
        ((*batch, *shape), dtype),
        ((*batch, shape[1]), INT32),
        ((*batch, min_dim(*shape)), dtype),
    ]
    if shape[0] == 0:  # The routine divides by the number of rows.
        order = lax.broadcasted_iota(INT32, (*batch, shape[1]), len(batch))
        order = lax.add(order, lax.full_like(order, 1))
        return [x, order, lax.full((*batch, 0), np.zeros((), dtype))]
    return lapack("geqp3", [x, jpvt], results, batch=len(batch), aliases={0: 0, 1: 1})


@rule_for(linalg.householder_product_p, "cpu")
def _householder_product(a: Any, taus: Any) -> Any:
    batch, shape, dtype = parts(a, 2)
    results = [((*batch, *shape), dtype)]
    return lapack("orgqr", [a, taus], results, batch=len(batch), aliases={0: 0})[0]


@rule_for(linalg.ormqr_p, "cpu")
def _ormqr(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    batch, shape, dtype = parts(c, 2)
    return lapack(
        "ormqr",
        [a, taus, c],
        [((*batch, *shape), dtype)],
        batch=len(batch),
        aliases={2: 0},
        left=left,
        transpose=transpose,
    )[0]


def _trsm(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    if conjugate_a and not transpose_a:
        a = lax.conj(a)
    batch, shape, dtype = parts(b, 2)
    return lapack(
        "trsm",
        [a, b],
        [((*batch, *shape), dtype)],
        batch=len(batch),
        aliases={1: 0},
        side=ui8("L" if left_side else "R"),
        uplo=ui8("L" if lower else "U"),
        trans_x=ui8("NTC"[transpose_a + (transpose_a and conjugate_a)]),
        diag=ui8("U" if unit_diagonal else "N"),
    )[0]


def _triangular_solve(a: Any, b: Any, **params: Any) -> Any:
    dtype = get_aval(b).dtype
    if dtype.name in _LETTERS:
        return _trsm(a, b, **params)
    # LAPACK has no routines for floats of fewer than 32 bits.
    a, b = lax.convert_element_type(a, np.float32), lax.convert_element_type(b, np.float32)
    return lax.convert_element_type(_trsm(a, b, **params), dtype)


define_for_platform(
    linalg.triangular_solve_p,
    "cpu",
    _side_by_side_or(factors.solutions, _triangular_solve),
)


@rule_for(linalg.tridiagonal_solve_p, "cpu")
def _tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    batch, shape, dtype = parts(b, 2)
    operands = [dl, d, du, b]
    if perturb_singular:
        _jaxlib.register_lapack()
        results = [((*batch, *shape), dtype)]
        return kernel("tridiagonal_solve_perturbed_ffi", operands, results, batch=len(batch))[0]
    diagonal = ((*batch, shape[0]), dtype)
    results = [diagonal, diagonal, diagonal, ((*batch, *shape), dtype), (batch, INT32)]
    *_, x, info = lapack(
        "gtsv", operands, results, batch=len(batch), aliases={0: 0, 1: 1, 2: 2, 3: 3}
    )
    return nan_unless(succeeded(info), x)


@rule_for(linalg.eig_p, "cpu")
def _eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> Any:
    if implementation not in (None, linalg.EigImplementation.LAPACK):
        raise ValueError(
            f"Only the lapack implementation is supported on CPU, not {implementation}"
        )
    batch, shape, dtype = parts(x, 2)
    wide = complex_dtype(dtype)
    values = ((*batch, shape[0]), dtype)
    vectors = ((*batch, *shape), wide)
    several = [values, values] if dtype != wide else [values]
    *found, left, right, info = lapack(
        "geev",
        [x],
        [*several, vectors, vectors, (batch, INT32)],
        batch=len(batch),
        compute_left=ui8("V" if compute_left_eigenvectors else "N"),
        compute_right=ui8("V" if compute_right_eigenvectors else "N"),
    )
    ok = succeeded(info)
    results = [lax.complex(*found) if dtype != wide else found[0]]
    results += [left] * compute_left_eigenvectors + [right] * compute_right_eigenvectors
    return [nan_unless(ok, result) for result in results]


@rule_for(linalg.eigh_p, "cpu")
def _eigh(
    x: Any,
    *,
    lower: bool,
    compute_eigenvectors: bool = True,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> Any:
    if algorithm not in (None, linalg.EighImplementation.QR):
        raise NotImplementedError(f"{algorithm} is not supported on CPU; leave it out")
    batch, shape, dtype = parts(x, 2)
    vectors, values, info = lapack(
        "syevd",
        [x],
        [((*batch, *shape), dtype), ((*batch, shape[0]), real_dtype(dtype)), (batch, INT32)],
        batch=len(batch),
        aliases={0: 0},
        mode=ui8("V" if compute_eigenvectors else "N"),
        uplo=ui8("L" if lower else "U"),
    )
    ok = succeeded(info)
    vectors, values = nan_unless(ok, vectors), nan_unless(ok, values)
    return part_of_spectrum(vectors, values, subset_by_index, compute_eigenvectors)


def part_of_spectrum(
    vectors: Any, values: Any, subset: tuple[int, int] | None, compute_eigenvectors: bool
) -> list[Any]:
    """Returns the requested eigenvectors and eigenvalues."""
    found = [vectors, values] if compute_eigenvectors else [values]
    if subset is None:
        return found
    return [lax.slice_in_dim(result, *subset, axis=-1) for result in found]


def part_of_svd(
    values: Any, left: Any, right: Any, subset: tuple[int, int] | None, compute_uv: bool
) -> list[Any]:
    """Returns the requested singular values and vectors."""
    if subset is not None:
        values, left = (lax.slice_in_dim(result, *subset, axis=-1) for result in (values, left))
        right = lax.slice_in_dim(right, *subset, axis=-2)
    return [values, left, right] if compute_uv else [values]


def empty_svd(x: Any, full_matrices: bool, compute_uv: bool) -> list[Any]:
    """Returns the decomposition of matrices without rows or without columns."""
    batch, (rows, columns), dtype = parts(x, 2)
    values = lax.full((*batch, 0), 0, real_dtype(dtype))
    if not compute_uv:
        return [values]

    def basis(shape: tuple[int, int]) -> Any:
        ndim = len(batch) + 2
        identity = eye(shape[0], dtype, shape[1])
        return lax.broadcast_in_dim(identity, (*batch, *shape), (ndim - 2, ndim - 1))

    left = basis((rows, rows if full_matrices else 0))
    return [values, left, basis((columns if full_matrices else 0, columns))]


@rule_for(linalg.svd_p, "cpu")
def _svd(
    x: Any,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: Any = None,
) -> Any:
    choices = linalg.SvdAlgorithm
    if algorithm in (choices.JACOBI, choices.POLAR):
        raise NotImplementedError(
            "The SVD Jacobi and Polar algorithms are not implemented on CPU; leave algorithm out."
        )
    batch, (rows, columns), dtype = parts(x, 2)
    if not rows or not columns:
        return empty_svd(x, full_matrices, compute_uv)
    count = min_dim(rows, columns)
    inner = (rows, columns) if full_matrices else (count, count)
    _, values, left, right, info = lapack(
        "gesvd" if algorithm is choices.QR else "gesdd",
        [x],
        [
            ((*batch, rows, columns), dtype),
            ((*batch, count), real_dtype(dtype)),
            ((*batch, rows, inner[0]), dtype),
            ((*batch, inner[1], columns), dtype),
            (batch, INT32),
        ],
        batch=len(batch),
        aliases={0: 0},
        mode=ui8(("A" if full_matrices else "S") if compute_uv else "N"),
    )
    ok = succeeded(info)
    values, left, right = (nan_unless(ok, result) for result in (values, left, right))
    return part_of_svd(values, left, right, subset_by_index, compute_uv)


@rule_for(linalg.hessenberg_p, "cpu")
def _hessenberg(x: Any) -> Any:
    batch, shape, dtype = parts(x, 2)
    packed, taus, info = lapack(
        "gehrd",
        [x],
        [((*batch, *shape), dtype), ((*batch, shape[0] - 1), dtype), (batch, INT32)],
        batch=len(batch),
        aliases={0: 0},
        low=np.int32(1),
        high=np.int32(shape[0]),
    )
    ok = succeeded(info)
    return [nan_unless(ok, packed), nan_unless(ok, taus)]


@rule_for(linalg.tridiagonal_p, "cpu")
def _tridiagonal(x: Any, *, lower: bool) -> Any:
    batch, shape, dtype = parts(x, 2)
    *results, info = lapack(
        "sytrd",
        [x],
        [*tridiagonal_results(batch, shape[0], dtype), (batch, INT32)],
        batch=len(batch),
        aliases={0: 0},
        uplo=ui8("L" if lower else "U"),
    )
    ok = succeeded(info)
    return [nan_unless(ok, result) for result in results]


def tridiagonal_results(batch: tuple[int, ...], size: int, dtype: Any) -> list[Any]:
    """Returns the types of the results of the reduction to tridiagonal form."""
    real = real_dtype(dtype)
    return [
        ((*batch, size, size), dtype),
        ((*batch, size), real),
        ((*batch, size - 1), real),
        ((*batch, size - 1), dtype),
    ]


@rule_for(linalg.schur_p, "cpu")
def _schur(
    x: Any, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> Any:
    batch, shape, dtype = parts(x, 2)
    values = [((*batch, shape[0]), dtype)] * (1 if dtype == complex_dtype(dtype) else 2)
    form, vectors, *_, info = lapack(
        "gees",
        [x],
        [((*batch, *shape), dtype)] * 2 + values + [(batch, INT32)] * 2,
        batch=len(batch),
        aliases={0: 0},
        mode=ui8("V" if compute_schur_vectors else "N"),
        sort=ui8("N"),
    )
    ok = succeeded(info)
    results = [form, vectors] if compute_schur_vectors else [form]
    return [nan_unless(ok, result) for result in results]
