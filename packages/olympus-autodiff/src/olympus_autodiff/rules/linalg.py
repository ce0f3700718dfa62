# SPDX-License-Identifier: Apache-2.0
"""Derivatives of matrix factors and of solutions, from the equations that define them.

The matrix is ``x`` and its tangent is ``dx``. If a factor is unique only up to phases, its tangent
is too. The derivative of a function of such factors is meaningful only if the function does not
depend on the phases.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.lax.linalg import expansions
from olympus_ir.lax.linalg.matrices import (
    adjoint,
    identity_like,
    is_complex,
    matmul,
    permute_rows,
    swap_last,
    tril,
    triu,
    zeros,
)
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings.config_states import strong_zeros
from olympus_ir.types import dtypes

from ..forward.linearize import linearize
from ..tables import jvp_rules, transpose_rules, zero_derivative
from ..zeros import UndefinedPrimal, Zero, add_tangents, aval_of, instantiate

# ---- solutions ----


def _conjugated(x: Any, condition: bool) -> Any:
    return lax.conj(x) if condition else x


@jvp_rules.define(linalg.triangular_solve_p)
def _triangular_solve_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    a, b = primals
    da, db = tangents
    params = {
        "left_side": left_side,
        "lower": lower,
        "transpose_a": transpose_a,
        "conjugate_a": conjugate_a,
        "unit_diagonal": unit_diagonal,
    }
    x = linalg.triangular_solve_p.bind(a, b, **params)
    change: Any = db
    if da.__class__ is not Zero:
        # a @ dx = db - da @ x, where da is the tangent of the triangle that is read.
        part = tril(da, -int(unit_diagonal)) if lower else triu(da, int(unit_diagonal))
        part = _conjugated(swap_last(part) if transpose_a else part, conjugate_a)
        product = lax.neg(matmul(part, x) if left_side else matmul(x, part))
        change = add_tangents(db, product)
    return x, linalg.triangular_solve_p.bind(a, change, **params)


@transpose_rules.define(linalg.triangular_solve_p)
def _triangular_solve_transpose(
    cotangent: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any
) -> list[Any]:
    if isinstance(a, UndefinedPrimal):
        raise ValueError("triangular_solve is linear in the right-hand side only")
    solved = linalg.triangular_solve_p.bind(a, cotangent, transpose_a=not transpose_a, **params)
    return [None, solved]


def shifted_rows(x: Any, count: int) -> Any:
    """Shifts the rows of a matrix down by ``count``, or up if negative. Fills with zeros."""
    aval = aval_of(x)
    widths = [(0, 0, 0)] * aval.ndim
    widths[-2] = (count, -count, 0)
    return lax.pad(x, np.zeros((), aval.dtype), widths)


def _shifted_vector(x: Any, count: int) -> Any:
    widths = [(0, 0, 0)] * (aval_of(x).ndim - 1) + [(count, -count, 0)]
    return lax.pad(x, np.zeros((), aval_of(x).dtype), widths)


def times_rows(diagonal: Any, x: Any) -> Any:
    shape = aval_of(x).shape
    return lax.mul(lax.broadcast_in_dim(diagonal, shape, tuple(range(len(shape) - 1))), x)


@jvp_rules.define(linalg.tridiagonal_solve_p)
def _tridiagonal_solve_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, perturb_singular: bool
) -> Any:
    *diagonals, b = primals
    *diagonal_tangents, change = tangents
    x = linalg.tridiagonal_solve_p.bind(*diagonals, b, perturb_singular=perturb_singular)
    for t, shift in zip(diagonal_tangents, (1, 0, -1), strict=True):
        if t.__class__ is not Zero:
            neighbor = shifted_rows(x, shift) if shift else x
            change = add_tangents(change, lax.neg(times_rows(t, neighbor)))
    solved = linalg.tridiagonal_solve_p.bind(
        *diagonals, instantiate(change), perturb_singular=perturb_singular
    )
    return x, solved


@transpose_rules.define(linalg.tridiagonal_solve_p)
def _tridiagonal_solve_transpose(
    cotangent: Any, dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool
) -> list[Any]:
    if any(isinstance(diagonal, UndefinedPrimal) for diagonal in (dl, d, du)):
        raise ValueError("tridiagonal_solve is linear in the right-hand side only")
    solved = linalg.tridiagonal_solve_p.bind(
        _shifted_vector(du, 1),
        d,
        _shifted_vector(dl, -1),
        cotangent,
        perturb_singular=perturb_singular,
    )
    return [None, None, None, solved]


# ---- factors ----

jvp_rules.define(linalg.lu_pivots_to_permutation_p, zero_derivative)


@jvp_rules.define(linalg.cholesky_p)
def _cholesky_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    # inv(l) @ dx @ inv(l).H = inv(l) @ dl + its adjoint. Only the lower triangle is used.
    factor = tril(linalg.cholesky_p.bind(*primals))
    solved = linalg.triangular_solve(
        factor, tangents[0], left_side=False, lower=True, transpose_a=True, conjugate_a=True
    )
    solved = tril(linalg.triangular_solve(factor, solved, left_side=True, lower=True))
    identity = identity_like(factor)
    halved = lax.div(solved, lax.add(np.ones((), aval_of(factor).dtype), identity))
    return factor, matmul(factor, halved)


@jvp_rules.define(linalg.lu_p)
def _lu_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    # l and u are extended to square matrices by parts of the identity. In inv(l) @ p @ dx @ inv(u),
    # the part below the diagonal is inv(l) @ dl, and the other part is du @ inv(u).
    packed, pivots, permutation = linalg.lu_p.bind(*primals)
    rows, columns = aval_of(packed).shape[-2:]
    lower = tril(_fitted(packed, rows, rows), -1)
    lower = lax.add(lower, identity_like(lower))
    upper = triu(_fitted(packed, columns, columns))
    if columns > rows:
        identity = identity_like(upper)
        aval = aval_of(identity)
        positions = lax.broadcasted_iota(np.int32, aval.shape, aval.ndim - 1)
        beyond = lax.ge(positions, lax.full(aval.shape, np.int32(rows)))
        upper = lax.add(upper, lax.select(beyond, identity, zeros(aval.shape, aval.dtype)))
    solved = linalg.triangular_solve(
        lower,
        permute_rows(tangents[0], permutation),
        left_side=True,
        lower=True,
        unit_diagonal=True,
    )
    solved = linalg.triangular_solve(upper, solved, left_side=False, lower=False)
    change = lax.add(matmul(lower, tril(solved, -1)), matmul(triu(solved), upper))
    return [packed, pivots, permutation], [change, Zero.of(pivots), Zero.of(permutation)]


def _fitted(x: Any, rows: int, columns: int) -> Any:
    """Returns matrices cropped or zero-padded to the given size."""
    aval = aval_of(x)
    if aval.shape[-2:] == (rows, columns):
        return x
    widths = [(0, 0, 0)] * (aval.ndim - 2)
    widths += [(0, rows - aval.shape[-2], 0), (0, columns - aval.shape[-1], 0)]
    return lax.pad(x, np.zeros((), aval.dtype), widths)


@jvp_rules.define(linalg.qr_p)
def _qr_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    pivoting: bool,
    full_matrices: bool,
    use_magma: bool | None,
) -> Any:
    q, r, *pivots = linalg.qr_p.bind(
        *primals, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma
    )
    dx = instantiate(tangents[0])
    if pivoting:
        dx = swap_last(permute_rows(swap_last(dx), pivots[0]))
    rows, columns = aval_of(dx).shape[-2:]
    size = min(rows, columns)
    thin = _column_range(q, 0, size)
    dq, dr = _thin_qr_tangents(thin, _fitted(r, size, size), _column_range(dx, 0, size))
    if columns > rows:
        # The remaining columns of r are those of q.H @ x.
        product = matmul(matmul(adjoint(dq), q), _column_range(r, size, columns))
        further = lax.add(product, matmul(adjoint(q), _column_range(dx, size, columns)))
        dr = lax.concatenate([dr, further], aval_of(dr).ndim - 1)
    elif full_matrices and rows > columns:
        dq = _complete_qr_tangent(q, dq)
        dr = _fitted(dr, rows, columns)
    return [q, r, *pivots], [dq, dr, *map(Zero.of, pivots)]


def _column_range(x: Any, start: int, stop: int) -> Any:
    return lax.slice_in_dim(x, start, stop, axis=aval_of(x).ndim - 1)


def _row_range(x: Any, start: int, stop: int) -> Any:
    return lax.slice_in_dim(x, start, stop, axis=aval_of(x).ndim - 2)


def _thin_qr_tangents(q: Any, r: Any, dx: Any) -> tuple[Any, Any]:
    """Returns the tangents of the factors of a QR decomposition with a square ``r``."""
    # With s = dx @ inv(r), q.H @ s = q.H @ dq + dr @ inv(r) is the sum of a skew-Hermitian matrix
    # and an upper triangular matrix with a real diagonal.
    s = linalg.triangular_solve(r, dx, left_side=False, lower=False)
    projected = matmul(adjoint(q), s)
    below = tril(projected, -1)
    skew = lax.sub(below, adjoint(below))
    if is_complex(skew):
        real = lax.convert_element_type(lax.real(projected), aval_of(projected).dtype)
        skew = lax.add(skew, lax.mul(identity_like(skew), lax.sub(projected, real)))
    dq = lax.add(matmul(q, lax.sub(skew, projected)), s)
    return dq, triu(matmul(lax.sub(projected, skew), r))


def _complete_qr_tangent(q: Any, dq: Any) -> Any:
    """Returns the tangent of a square q, given that of its first columns.

    As a product of reflections, q is 1 - v @ t @ v.H, where v has one column for each reflection.
    So the first columns determine the last columns. Let q_f be the first columns of q, 1_f those of
    the identity, and q_ff and q_lf the first and last rows of q_f. With z = q_lf @ inv(q_ff - 1),
    the last columns of q are those of the identity plus (q_f - 1_f) @ z.H.
    """
    rows, size = aval_of(dq).shape[-2:]
    first, last = _column_range(q, 0, size), _column_range(q, size, rows)
    corner = _row_range(first, 0, size)
    shifted = adjoint(lax.sub(corner, identity_like(corner)))
    packed, _, permutation = linalg.lu_p.bind(shifted)
    solved = permute_rows(adjoint(_row_range(first, size, rows)), permutation)
    solved = linalg.triangular_solve(packed, solved, left_side=True, lower=True, unit_diagonal=True)
    z_adjoint = linalg.triangular_solve(packed, solved, left_side=True, lower=False)
    z = adjoint(z_adjoint)
    # (q_f - 1_f) @ inv(q_ff - 1).H is -(q_f + q_l @ z), since q is unitary.
    change = lax.sub(_row_range(dq, size, rows), matmul(z, _row_range(dq, 0, size)))
    turned = matmul(lax.add(first, matmul(last, z)), adjoint(change))
    return lax.concatenate([dq, lax.sub(matmul(dq, z_adjoint), turned)], aval_of(dq).ndim - 1)


# ---- reflections: the derivative of the algorithm ----


def _by_expansion(primitive: Primitive, expansion: Callable[..., Any]) -> None:
    """Defines a primitive's derivative by an equivalent function of other operations."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        results = primitive.bind(*primals, **params)  # first, because it checks the operands
        # `linearize`, not `jvp`: a loop over values and tangents together cannot be transposed.
        _, derivative = linearize(functools.partial(expansion, **params), *primals)
        return results, derivative(*map(instantiate, tangents))

    jvp_rules.define(primitive, rule)


_by_expansion(linalg.cholesky_update_p, expansions.cholesky_update)
_by_expansion(linalg.geqrf_p, expansions.geqrf)
_by_expansion(linalg.hessenberg_p, expansions.hessenberg)
_by_expansion(linalg.householder_product_p, expansions.householder_product)
_by_expansion(linalg.ormqr_p, expansions.ormqr)
_by_expansion(linalg.symmetric_product_p, expansions.symmetric_product)
_by_expansion(linalg.tridiagonal_p, expansions.tridiagonal)


@jvp_rules.define(linalg.geqp3_p)
def _geqp3_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, use_magma: bool | None) -> Any:
    packed, order, taus = linalg.geqp3_p.bind(*primals, use_magma=use_magma)
    positions = lax.sub(order, np.int32(1))
    exchanged = [
        swap_last(permute_rows(swap_last(a), positions)) for a in (primals[0], tangents[0])
    ]
    _, derivative = linearize(expansions.geqrf, exchanged[0])
    packed_change, taus_change = derivative(exchanged[1])
    return [packed, order, taus], [packed_change, Zero.of(order), taus_change]


jvp_rules.exempt(
    linalg.schur_p,
    reason="its vectors are determined up to phases that no equation fixes, and for real matrices "
    "the block structure changes abruptly; functions that do not depend on them have derivatives",
)


# ---- eigenvalues and singular values ----


def _columns(vector: Any, like: Any) -> Any:
    """Broadcasts ``vector`` to the type of ``like``; column ``j`` is filled with ``vector[j]``."""
    aval = aval_of(like)
    vector = lax.convert_element_type(vector, aval.dtype)
    return lax.broadcast_in_dim(vector, aval.shape, (*range(aval.ndim - 2), aval.ndim - 1))


def _rows(vector: Any, like: Any) -> Any:
    """Broadcasts ``vector`` to the type of ``like``; row ``i`` is filled with ``vector[i]``."""
    aval = aval_of(like)
    vector = lax.convert_element_type(vector, aval.dtype)
    return lax.broadcast_in_dim(vector, aval.shape, tuple(range(aval.ndim - 1)))


def _diagonal(x: Any) -> Any:
    return lax.reduce_sum(lax.mul(x, identity_like(x)), (aval_of(x).ndim - 1,))


def _off_diagonal_inverse(differences: Any) -> Any:
    """Returns reciprocals of the off-diagonal elements, and zeros on the diagonal."""
    identity = identity_like(differences)
    return lax.sub(lax.integer_pow(lax.add(differences, identity), -1), identity)


def _separated(values: Any) -> Any:
    """Heuristic: moves equal eigenvalues or singular values apart.

    Applies only if ``olympus_strong_zeros`` is set. At equal values w, the derivative of a smooth
    function V g(w) V^H exists, but cannot be computed from the cotangents of V and w. If two
    neighboring values are closer than half a step, all values are therefore moved apart by
    multiples of the step: the square root of the machine epsilon, times the largest value. The
    derivative then has about eight correct digits in double precision. A second derivative cannot
    be computed in this way, so it is made infinite. Expressions that `recognition_rules` recognize
    have exact derivatives.
    """
    aval = aval_of(values)
    count = aval.shape[-1] if aval.shape else 0
    if not strong_zeros.value or count < 2:
        return values
    axis = aval.ndim - 1
    fixed = lax.stop_gradient(values)
    step = float(np.sqrt(dtypes.finfo(aval.dtype).eps))
    size = lax.reduce_max(lax.abs(fixed), (axis,))
    size = lax.select(lax.eq(size, zeros(size.shape, aval.dtype)), lax.full_like(size, 1), size)
    size = lax.broadcast_in_dim(size, aval.shape, tuple(range(axis)))
    after = lax.slice_in_dim(fixed, 1, count, axis=axis)
    before = lax.slice_in_dim(fixed, 0, count - 1, axis=axis)
    nearest = lax.reduce_min(lax.abs(lax.sub(after, before)), (axis,))
    nearest = lax.broadcast_in_dim(nearest, aval.shape, tuple(range(axis)))
    is_close = lax.lt(nearest, lax.mul(size, np.array(step / 2, aval.dtype)))
    ascending = lax.lt(_first(fixed, axis), _last(fixed, axis))
    positions = lax.broadcasted_iota(aval.dtype, aval.shape, axis)
    positions = lax.select(
        lax.broadcast_in_dim(ascending, aval.shape, tuple(range(axis))),
        positions,
        lax.neg(positions),
    )
    moved = lax.add(values, lax.mul(positions, lax.mul(size, np.array(step, aval.dtype))))
    # The square root is zero, but its infinite derivative makes second derivatives infinite.
    moved = lax.add(moved, lax.sqrt(lax.sub(values, fixed)))
    return lax.select(is_close, moved, values)


def _first(x: Any, axis: int) -> Any:
    return lax.index_in_dim(x, 0, axis, keepdims=False)


def _last(x: Any, axis: int) -> Any:
    return lax.index_in_dim(x, -1, axis, keepdims=False)


@jvp_rules.define(linalg.eigh_p)
def _eigh_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    compute_eigenvectors: bool = True,
    subset_by_index: Any,
    **params: Any,
) -> Any:
    if subset_by_index is not None:
        raise NotImplementedError(
            "Derivatives not defined for partial eigen decomposition: leave subset_by_index out "
            "and take a part of the result."
        )
    vectors, values = linalg.eigh_p.bind(*primals, subset_by_index=None, **params)
    values = _separated(values)
    projected = matmul(matmul(adjoint(vectors), tangents[0]), vectors)
    differences = lax.sub(_columns(values, projected), _rows(values, projected))
    change = _diagonal(projected)
    if is_complex(change):
        change = lax.real(change)
    if not compute_eigenvectors:
        return [values], [change]
    rotation = lax.mul(_off_diagonal_inverse(differences), projected)
    return [vectors, values], [matmul(vectors, rotation), change]


@jvp_rules.define(linalg.eig_p)
def _eig_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> Any:
    wants_vectors = compute_left_eigenvectors or compute_right_eigenvectors
    if wants_vectors and not enable_eigvec_derivs:
        raise NotImplementedError(
            "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the "
            "input that cannot be checked (see the enable_eigvec_derivs argument to "
            "olympus.lax.linalg.eig). Pass enable_eigvec_derivs=True to olympus.lax.linalg.eig to "
            "opt in."
        )
    values, *vectors = linalg.eig_p.bind(
        *primals,
        compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=True,
        # Derivatives of eigenvalues, of any order, do not depend on the vectors' phases. So
        # differentiating through these vectors is safe, even if the user did not opt in.
        enable_eigvec_derivs=True,
        implementation=implementation,
    )
    right = vectors[-1]
    dx = lax.convert_element_type(tangents[0], aval_of(values).dtype)
    # inv(v) @ dx @ v = dw + inv(v) @ dv @ w - w @ inv(v) @ dv
    projected = solve(right, matmul(dx, right))
    results, changes = [values], [_diagonal(projected)]
    if compute_left_eigenvectors:
        left = vectors[0]
        adjoint_projected = solve(left, matmul(adjoint(dx), left))
        results.append(left)
        changes.append(_eigenvector_tangent(left, lax.conj(values), adjoint_projected))
    if compute_right_eigenvectors:
        results.append(right)
        changes.append(_eigenvector_tangent(right, values, projected))
    return results, changes


def solve(a: Any, b: Any) -> Any:
    packed, _, permutation = linalg.lu(a)
    solved = linalg.triangular_solve(
        packed, permute_rows(b, permutation), left_side=True, lower=True, unit_diagonal=True
    )
    return linalg.triangular_solve(packed, solved, left_side=True, lower=False)


def _eigenvector_tangent(vectors: Any, values: Any, projected: Any) -> Any:
    """Returns the tangent of eigenvectors normalized to length 1 with a real largest component."""
    differences = lax.sub(_columns(values, projected), _rows(values, projected))
    change = matmul(vectors, lax.mul(_off_diagonal_inverse(differences), projected))
    row_dim = aval_of(vectors).ndim - 2
    stretch = lax.reduce_sum(lax.real(lax.mul(lax.conj(vectors), change)), (row_dim,))
    size = lax.abs(vectors)
    largest = lax.eq(
        size,
        lax.broadcast_in_dim(
            lax.reduce_max(size, (row_dim,)),
            aval_of(size).shape,
            (*range(row_dim), row_dim + 1),
        ),
    )
    weight = lax.convert_element_type(largest, aval_of(size).dtype)
    turned = lax.imag(lax.mul(lax.conj(vectors), change))
    turn = lax.div(
        lax.reduce_sum(lax.mul(weight, turned), (row_dim,)),
        lax.reduce_sum(lax.mul(weight, lax.mul(size, size)), (row_dim,)),
    )
    return lax.sub(change, lax.mul(vectors, _columns(lax.complex(stretch, turn), vectors)))


@jvp_rules.define(linalg.svd_p)
def _svd_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> Any:
    (x,), (dx,) = primals, tangents
    rows, columns = aval_of(x).shape[-2:]
    if compute_uv and full_matrices and rows != columns:
        raise NotImplementedError(
            "Singular value decomposition JVP not implemented for full matrices: the columns "
            "beyond the smaller dimension are arbitrary. Pass full_matrices=False."
        )
    if subset_by_index is not None:
        raise NotImplementedError(
            "Derivatives not defined for partial singular value decomposition: leave "
            "subset_by_index out and take a part of the result."
        )
    values, left, right = linalg.svd_p.bind(
        x, full_matrices=False, compute_uv=True, subset_by_index=None, algorithm=algorithm
    )
    values = _separated(values)
    v = adjoint(right)
    projected = matmul(matmul(adjoint(left), dx), v)
    change = _diagonal(projected)
    change = lax.real(change) if is_complex(change) else change
    if not compute_uv:
        return [values], [change]
    s_columns, s_rows = _columns(values, projected), _rows(values, projected)
    inverse = _off_diagonal_inverse(lax.mul(lax.add(s_columns, s_rows), lax.sub(s_columns, s_rows)))
    scaled = lax.mul(projected, s_columns)
    other = lax.mul(s_rows, projected)
    rotation = lax.mul(inverse, lax.add(scaled, adjoint(scaled)))
    right_rotation = lax.mul(inverse, lax.add(other, adjoint(other)))
    if is_complex(projected):
        # The product u @ s @ v.H determines the phases of u and v only up to a common phase. So
        # v keeps its phase, and u gets the whole change.
        phase = lax.sub(projected, adjoint(projected))
        phase = lax.div(phase, lax.mul(np.array(2, aval_of(phase).dtype), s_columns))
        rotation = lax.add(rotation, lax.mul(identity_like(phase), phase))
    du, dv = matmul(left, rotation), matmul(v, right_rotation)
    if rows > columns:
        du = lax.add(du, _outside(left, matmul(dx, v), values))
    elif columns > rows:
        dv = lax.add(dv, _outside(v, matmul(adjoint(dx), left), values))
    return [values, left, right], [change, du, adjoint(dv)]


def _outside(basis: Any, moved: Any, values: Any) -> Any:
    """Returns the component of ``moved`` orthogonal to ``basis``, divided by ``values``."""
    rest = lax.sub(moved, matmul(basis, matmul(adjoint(basis), moved)))
    return lax.div(rest, _columns(values, rest))
