# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of decompositions and solvers of linear algebra.

A diagonal is added to the random elements, so that matrices are well conditioned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir.lax import linalg

from .declarations import Operand, Operation, sample

INEXACT = (np.float32, np.float64, np.complex64, np.complex128)
REALS = (np.float32, np.float64)
DOUBLES = (np.float64, np.complex128)
SINGLE = (np.float32,)

Draw = Callable[[np.random.Generator, Any], np.ndarray]


def matrices(*shape: int, hermitian: bool = False, dominant: float = 0.0) -> Draw:
    """Returns a function that draws random matrices.

    Args:
      *shape: the shape of the matrices.
      hermitian: whether the matrices are Hermitian.
      dominant: the number added to the diagonal, increased by one in each row.
    """

    def draw(generator: np.random.Generator, dtype: Any) -> np.ndarray:
        x = generator.uniform(-1, 1, shape)
        if np.dtype(dtype).kind == "c":
            x = x + 1j * generator.uniform(-1, 1, shape)
        if hermitian:
            x = (x + np.swapaxes(x, -1, -2).conj()) / 2
        if dominant:
            rows, columns = shape[-2:]
            x = x + np.eye(rows, columns) * (dominant + np.arange(columns))
        return x.astype(dtype)

    return draw


def triangular(size: int) -> Draw:
    """Returns a function that draws upper triangular matrices with distinct diagonal elements."""
    full = matrices(size, size, dominant=2.0)
    return lambda generator, dtype: np.triu(full(generator, dtype))


def reflections(rows: int, columns: int) -> list[Draw]:
    """Returns functions that draw Householder vectors and scalar factors tau, as `geqrf` returns.

    The vectors are the columns of a matrix of shape (rows, columns).
    """

    def pair(generator: np.random.Generator, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        a = matrices(rows, columns)(np.random.default_rng(int(generator.integers(2**31))), dtype)
        below = np.tril(a, -1)
        return a, (2 / (1 + (np.abs(below) ** 2).sum(0))).astype(dtype)

    # The two functions draw independently, so the factors tau do not match the Householder vectors.
    # The operations accept any factors.
    return [
        lambda generator, dtype: pair(generator, dtype)[0],
        lambda generator, dtype: pair(generator, dtype)[1][: min(rows, columns)],
    ]


def lines(vectors: np.ndarray) -> np.ndarray:
    """Returns the projection ``v v^H`` for each column ``v``. The phase of ``v`` cancels."""
    return np.einsum("...ij,...kj->...jik", vectors, vectors.conj())


# ---- solutions ----

sample(
    linalg.triangular_solve_p,
    *[
        Operation(
            f"left{left_side}_lower{lower}_transposed{transpose_a}_unit{unit_diagonal}",
            (matrices(3, 3, dominant=2.0), Operand((3, 2) if left_side else (2, 3))),
            {
                "left_side": left_side,
                "lower": lower,
                "transpose_a": transpose_a,
                "conjugate_a": False,
                "unit_diagonal": unit_diagonal,
            },
            dtypes=INEXACT if lower and not unit_diagonal else (np.float64,),
        )
        for left_side in (False, True)
        for lower in (False, True)
        for transpose_a in (False, True)
        for unit_diagonal in (False, True)
    ],
    *[
        Operation(
            f"conjugated_transposed{transpose_a}_{len(batch)}",
            (matrices(*batch, 3, 3, dominant=2.0), Operand((*batch, 3, 2))),
            {
                "left_side": True,
                "lower": False,
                "transpose_a": transpose_a,
                "conjugate_a": True,
                "unit_diagonal": False,
            },
            dtypes=(np.complex64, np.complex128),
        )
        for transpose_a in (False, True)
        for batch in ((), (2,))
    ],
    Operation(
        "empty",
        (Operand((0, 0)), Operand((0, 2))),
        {
            "left_side": True,
            "lower": False,
            "transpose_a": False,
            "conjugate_a": False,
            "unit_diagonal": False,
        },
        dtypes=SINGLE,
        differentiable=False,
    ),
)

sample(
    linalg.tridiagonal_solve_p,
    *[
        Operation(
            f"perturb{perturb_singular}_{len(batch)}",
            (
                Operand((*batch, 4), (-1, 1)),
                Operand((*batch, 4), (3, 4)),
                Operand((*batch, 4), (-1, 1)),
                Operand((*batch, 4, 2)),
            ),
            {"perturb_singular": perturb_singular},
            dtypes=REALS if perturb_singular else INEXACT,
        )
        for perturb_singular in (False, True)
        for batch in ((), (2,))
    ],
)

# ---- factors ----

sample(
    linalg.cholesky_p,
    # The derivative exists for Hermitian tangents only; the tests of the rules cover it.
    Operation(
        "matrix",
        (matrices(3, 3, hermitian=True, dominant=4.0),),
        dtypes=INEXACT,
        differentiable=False,
    ),
    Operation(
        "matrices",
        (matrices(2, 3, 3, hermitian=True, dominant=4.0),),
        dtypes=INEXACT,
        differentiable=False,
    ),
    Operation("indefinite", (-np.eye(2, dtype=np.float32),), dtypes=SINGLE, differentiable=False),
    Operation("empty", (Operand((2, 0, 0)),), dtypes=SINGLE, differentiable=False),
)

sample(
    linalg.cholesky_update_p,
    Operation("matrix", (triangular(3), Operand((3,), (0.5, 2.0))), dtypes=REALS),
)

sample(
    linalg.symmetric_product_p,
    Operation("matrix", (Operand((3, 2)), Operand((3, 3))), {"alpha": 2.0, "beta": 0.5}, REALS),
    Operation(
        "matrices", (Operand((2, 3, 2)), Operand((2, 3, 3))), {"alpha": 1.0, "beta": 0.0}, REALS
    ),
)

sample(
    linalg.lu_p,
    Operation("square", (matrices(3, 3),), dtypes=INEXACT),
    Operation("tall", (matrices(4, 2),), dtypes=INEXACT),
    Operation("wide", (matrices(2, 2, 4),), dtypes=INEXACT),
    Operation("singular", (np.ones((2, 2), np.float32),), dtypes=SINGLE, differentiable=False),
    Operation("empty", (Operand((3, 0)),), dtypes=SINGLE, differentiable=False),
)

sample(
    linalg.lu_pivots_to_permutation_p,
    Operation(
        "vector",
        (Operand((3,), (0, 4), np.int32),),
        {"permutation_size": 5},
        dtypes=(np.int32,),
        differentiable=False,
    ),
    Operation(
        "vectors",
        (Operand((2, 3), (0, 2), np.int32),),
        {"permutation_size": 3},
        dtypes=(np.int32,),
        differentiable=False,
    ),
)

sample(
    linalg.geqrf_p,
    Operation("tall", (matrices(4, 2),), dtypes=INEXACT),
    Operation("wide", (matrices(2, 2, 4),), dtypes=INEXACT),
    Operation("empty", (Operand((0, 2)),), dtypes=SINGLE, differentiable=False),
)

sample(
    linalg.geqp3_p,
    *[
        Operation(
            label,
            (matrices(*shape), np.zeros((*shape[:-2], shape[-1]), np.int32)),
            {"use_magma": None},
            dtypes=INEXACT,
            differentiable=(0,),
            batchable=(0,),
        )
        for label, shape in (("tall", (4, 3)), ("wide", (2, 2, 4)))
    ],
)

sample(
    linalg.householder_product_p,
    Operation("tall", reflections(4, 2), dtypes=INEXACT),
    Operation("square", reflections(3, 3), dtypes=INEXACT),
)

sample(
    linalg.ormqr_p,
    *[
        Operation(
            f"left{left}_transpose{transpose}",
            (*reflections(4, 2), Operand((4, 3) if left else (3, 4))),
            {"left": left, "transpose": transpose},
            dtypes=INEXACT if transpose else DOUBLES,
        )
        for left in (False, True)
        for transpose in (False, True)
    ],
)

_QR = {"pivoting": False, "full_matrices": False, "use_magma": None}
sample(
    linalg.qr_p,
    Operation("square", (matrices(3, 3),), {**_QR, "full_matrices": True}, INEXACT),
    Operation("tall", (matrices(2, 4, 2),), _QR, INEXACT),
    Operation("pivoted", (matrices(4, 3),), {**_QR, "pivoting": True}, INEXACT),
    *[
        Operation(
            f"{label}_full{full_matrices}",
            (matrices(*shape),),
            {**_QR, "full_matrices": full_matrices},
            DOUBLES,
            differentiable=False,
        )
        for label, shape in (("wide", (2, 4)), ("high", (4, 2)))
        for full_matrices in ((False, True) if label == "wide" else (True,))
    ],
)

# ---- eigenvalues and singular values ----


def _eig_params(left: bool, right: bool, derivatives: bool = False) -> dict[str, Any]:
    return {
        "compute_left_eigenvectors": left,
        "compute_right_eigenvectors": right,
        "enable_eigvec_derivs": derivatives,
        "implementation": None,
    }


def _sorted_spectrum(results: list[np.ndarray]) -> list[np.ndarray]:
    """Returns the sorted eigenvalues, and the projections onto the eigenvectors."""
    values, *vectors = results
    order = np.lexsort([np.imag(values).round(3), np.real(values).round(3)], axis=-1)
    found = [np.take_along_axis(values, order, -1)]
    for vector in vectors:
        found.append(lines(np.take_along_axis(vector, order[..., None, :], -1)))
    return found


sample(
    linalg.eig_p,
    Operation(
        "values",
        (matrices(3, 3, dominant=1.0),),
        _eig_params(False, False),
        INEXACT,
        canonical=_sorted_spectrum,
    ),
    Operation(
        "right",
        (matrices(2, 3, 3, dominant=1.0),),
        _eig_params(False, True, True),
        INEXACT,
        canonical=_sorted_spectrum,
    ),
    Operation(
        "both",
        (matrices(3, 3, dominant=1.0),),
        _eig_params(True, True, True),
        DOUBLES,
        canonical=_sorted_spectrum,
    ),
    Operation(
        "not_a_number",
        (np.full((2, 2), np.nan, np.float32),),
        _eig_params(True, True, True),
        SINGLE,
        differentiable=False,
    ),
)


def _lines_and_values(results: list[np.ndarray]) -> list[np.ndarray]:
    *vectors, values = results
    return [*map(lines, vectors), values]


_EIGH = {
    "lower": True,
    "sort_eigenvalues": True,
    "subset_by_index": None,
    "algorithm": None,
}
sample(
    linalg.eigh_p,
    # As with Cholesky factors, derivatives exist for Hermitian tangents only.
    *[
        Operation(
            label,
            (matrices(*shape, hermitian=True, dominant=1.0),),
            params,
            INEXACT,
            differentiable=False,
            canonical=_lines_and_values,
        )
        for label, shape, params in (
            ("matrix", (3, 3), _EIGH),
            ("matrices", (2, 3, 3), _EIGH),
            ("upper", (3, 3), {**_EIGH, "lower": False}),
            ("values", (2, 3, 3), {**_EIGH, "compute_eigenvectors": False}),
            ("empty", (0, 0), _EIGH),
        )
    ],
    Operation(
        "not_a_number",
        (np.full((2, 2), np.nan, np.float32),),
        _EIGH,
        SINGLE,
        differentiable=False,
    ),
)


def _singular_lines(results: list[np.ndarray]) -> list[np.ndarray]:
    """Returns arrays that do not depend on the phases of the singular vectors.

    The arrays are the singular values, the outer product of each left singular vector with its
    right one, and the `lines` of the left singular vectors.
    """
    values, *vectors = results
    if not vectors:
        return results
    left, right = vectors
    count = values.shape[-1]
    return [
        values,
        np.einsum("...ik,...kj->...kij", left[..., :count], right[..., :count, :]),
        lines(left[..., :count]),
    ]


_SVD = {"full_matrices": False, "compute_uv": True, "subset_by_index": None, "algorithm": None}
sample(
    linalg.svd_p,
    # For complex matrices, phases leave the tangents of singular vectors undetermined.
    *[
        Operation(
            f"{label}_{kind}",
            (matrices(*shape),),
            {**_SVD, "full_matrices": label == "square"},
            dtypes,
            differentiable=kind == "real",
            canonical=_singular_lines,
        )
        for label, shape in (("tall", (4, 2)), ("wide", (2, 2, 4)), ("square", (3, 3)))
        for kind, dtypes in (("real", REALS), ("complex", (np.complex64, np.complex128)))
    ],
    Operation("values", (matrices(3, 2),), {**_SVD, "compute_uv": False}, INEXACT),
    Operation(
        "full",
        (matrices(3, 2),),
        {**_SVD, "full_matrices": True},
        DOUBLES,
        differentiable=False,
        canonical=_singular_lines,
    ),
    Operation(
        "not_a_number", (np.full((2, 2), np.nan, np.float32),), _SVD, SINGLE, differentiable=False
    ),
)

sample(
    linalg.hessenberg_p,
    Operation("matrix", (matrices(4, 4),), dtypes=INEXACT),
    Operation("matrices", (matrices(2, 3, 3),), dtypes=SINGLE),
)

sample(
    linalg.tridiagonal_p,
    *[
        Operation(
            f"lower{lower}", (matrices(4, 4, hermitian=True),), {"lower": lower}, dtypes=INEXACT
        )
        for lower in (False, True)
    ],
)

_SCHUR = {"compute_schur_vectors": True, "sort_eig_vals": False, "select_callable": None}
sample(
    linalg.schur_p,
    # The Schur form of a triangular matrix is the matrix itself, so that no phase is arbitrary.
    Operation("triangular", (triangular(3),), _SCHUR, INEXACT, differentiable=False),
    Operation(
        "form",
        (triangular(3),),
        {**_SCHUR, "compute_schur_vectors": False},
        SINGLE,
        differentiable=False,
    ),
)
