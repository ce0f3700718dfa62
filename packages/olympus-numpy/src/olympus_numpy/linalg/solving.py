# SPDX-License-Identifier: Apache-2.0
"""Solutions of systems of linear equations, inverses, ranks and condition numbers."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.lax import linalg as lax_linalg
from olympus_ir.lax.core.declarations import real_dtype
from olympus_ir.lax.core.sizes import max_dim
from olympus_ir.lax.linalg.matrices import adjoint, permute_rows
from olympus_ir.loading import deferred
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval

from ..arrays import selection, shaping
from ..core.compilation import compiled
from ..core.custom_derivatives import custom_jvp
from ..core.promotion import check_arraylike, check_ranks, ensure_array, promote_dtypes_inexact
from ..elementwise.vectorization import vectorize
from ..products import contractions, matrices
from ..reductions.extremes import largest
from ..reductions.sums import sum_along
from .factoring import floating, svd
from .norms import norm

if TYPE_CHECKING:
    from olympus_autodiff.custom import solves
else:
    solves = deferred("olympus_autodiff.custom.solves", milliseconds=40.0)

__all__ = [
    "cond",
    "inv",
    "lstsq",
    "matrix_rank",
    "pinv",
    "solve",
    "tensorinv",
    "tensorsolve",
]

_matmul = functools.partial(contractions.matmul, precision=lax.Precision.HIGHEST)


# ---- solutions ----


def _lu_solution_of(packed: Any, permutation: Any, b: Any, trans: int) -> Any:
    vector = b.ndim == 1
    x = b[:, None] if vector else b
    solve_with = functools.partial(lax_linalg.triangular_solve, packed, left_side=True)
    if trans == 0:
        x = permute_rows(x, permutation)
        x = solve_with(x, lower=True, unit_diagonal=True)
        x = solve_with(x, lower=False)
    else:
        options = {"transpose_a": True, "conjugate_a": trans == 2}
        x = solve_with(x, lower=False, **options)
        x = solve_with(x, lower=True, unit_diagonal=True, **options)
        positions = lax.iota(np.int32, permutation.shape[0])
        inverse = lax.sort((permutation, positions), 0, num_keys=1)[1]
        x = permute_rows(x, inverse)
    return x[:, 0] if vector else x


# Solves with the factors of one matrix: `lu_solution(packed, permutation, b, trans)`, where the
# matrix is used unchanged (0), transposed (1) or adjoint (2). It is a separate `jit` equation,
# traced once for all matrices of a shape.
lu_solution = compiled(_lu_solution_of, ("trans",), name="_lu_solve")


@functools.cache
def _factored_solve() -> Any:
    """Returns the solver that uses the factors of `lax.linalg.lu`.

    Its derivative rules follow from the equation ``a @ x = b``. They do not differentiate the
    factorization.
    """
    return solves.FactoredSolve(
        _matmul,
        functools.partial(lu_solution, trans=0),
        functools.partial(lu_solution, trans=1),
    )


def _solution(a: Any, b: Any) -> Any:
    """Solves for one matrix, or for stacked matrices with stacked right-hand sides."""
    if not a.size:
        return b
    packed, _, permutation = lax_linalg.lu(lax.stop_gradient_p.bind(a))
    return _factored_solve()(a, (packed, permutation), b, a.ndim - 2)


_solve_vectors = vectorize(_solution, signature="(m,m),(m)->(m)")
_solve_matrices = vectorize(_solution, signature="(m,m),(m,n)->(m,n)")


def _is_aligned(a: Any, b: Any) -> bool:
    """Returns whether matrices and right-hand sides have the same batch shape."""
    if a.ndim == 2:
        return 1 <= b.ndim <= 2 and a.shape[0] == a.shape[1] == b.shape[0]
    sizes = a.shape[:-2]
    return (
        sizes == b.shape[:-2]
        and all(size != 1 for size in sizes)
        and a.shape[-1] == a.shape[-2] == b.shape[-2]
        and get_aval(a).sharding is get_aval(b).sharding is None
    )


def _solve_of(a: Any, b: Any) -> Any:
    a, b = promote_dtypes_inexact(ensure_array(a), ensure_array(b))
    if a.ndim < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got a.shape={a.shape}")
    rows = b.shape[0 if b.ndim == 1 else -2] if b.ndim else None
    if a.shape[-1] != a.shape[-2]:
        raise ShapeError(
            f"solve takes square matrices `a`, got a.shape={a.shape}, b.shape={b.shape}. For "
            "more or fewer equations than unknowns use olympus.numpy.linalg.lstsq."
        )
    # As in NumPy 2, b is a vector only if it has one dimension.
    if b.ndim == a.ndim - 1 and b.ndim > 1 and a.shape[-1] == b.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"Invalid shapes for solve: {a.shape}, {b.shape}. To solve for a batch of "
            "vectors, call solve(a, b[..., None]).squeeze(-1)."
        )
    if rows != a.shape[-1]:
        raise ShapeError(
            f"solve: inconsistent size: `b` must have as many rows as `a`, got a.shape={a.shape}, "
            f"b.shape={b.shape}. A vector has shape (n,), and right-hand sides in columns have "
            "shape (..., n, k)."
        )
    if _is_aligned(a, b):
        return _solution(a, b)  # In the common case, there is nothing to vectorize.
    return (_solve_vectors if b.ndim == 1 else _solve_matrices)(a, b)


_solve = compiled(_solve_of, inline=True, name="solve")


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solves ``a @ x = b`` for ``x``.

    Args:
      a: square matrices.
      b: the right-hand sides: a vector, or matrices.

    Returns:
      An array ``x``; infinities or NaNs if ``a`` is singular.

    Example:
      >>> from olympus_numpy import array
      >>> solve(array([[2.0, 0], [1, 1]]), array([2.0, 3]))
      Array([1., 2.], dtype=float32)
    """
    check_arraylike("jnp.linalg.solve", a, b)
    shapes = np.shape(a), np.shape(b)
    check_ranks("linalg.solve", shapes, [shape[:-2] for shape in shapes])
    return _solve(a, b)


def _inv_of(a: Any) -> Any:
    (a,) = floating("inv", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {a.shape}.")
    identity = matrices.unit(a.shape[-2:], a.dtype, 0)
    if a.ndim == 2:
        return _solution(a, identity)
    return _solve_of(a, lax.broadcast(identity, a.shape[:-2]))


_inv = compiled(_inv_of, inline=True, name="inv")


def inv(a: ArrayLike) -> Array:
    """Returns the inverses of matrices.

    Args:
      a: square matrices.

    Returns:
      The inverses; infinities or NaNs if a matrix is singular.

    Example:
      >>> from olympus_numpy import array
      >>> inv(array([[2.0, 0], [0, 4]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    check_arraylike("jnp.linalg.inv", a)
    return _inv(a)


# ---- least squares ----


def _precision(dtype: Any) -> float:
    return float(dtypes.finfo(dtype).eps)


def _pinv_of(a: Any, *rtols: Any, hermitian: bool) -> Any:
    if not a.size:
        return lax.full((*a.shape[:-2], a.shape[-1], a.shape[-2]), 0, a.dtype)
    real = real_dtype(a.dtype)
    if rtols:
        rtol = ensure_array(rtols[0]).astype(real)
    else:
        count = lax.size_array(10 * max_dim(*a.shape[-2:]), real)
        rtol = lax.mul(count, np.array(_precision(a.dtype), real))
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    cutoff = lax.expand_dims(rtol, (np.ndim(rtol),)) * s[..., :1]
    s = selection.where(s > cutoff, s, np.inf)
    return _matmul(adjoint(vh), adjoint(u) / s[..., None].astype(u.dtype))


@functools.cache
def _pseudo_inverse(hermitian: bool) -> Any:
    function = compiled(functools.partial(_pinv_of, hermitian=hermitian), name="_pinv")

    @custom_jvp
    def _pinv(*operands: Any) -> Any:
        return function(*operands)

    @_pinv.defjvp
    def _pinv_jvp(primals: Any, tangents: Any) -> Any:
        # This formula holds where the rank is locally constant. Source: Golub and Pereyra, "The
        # differentiation of pseudo-inverses and nonlinear least squares problems whose variables
        # separate" (1973).
        a, da = primals[0], tangents[0]
        p = _pinv(*primals)
        ph, dah = adjoint(p), adjoint(da)
        rows = _matmul(_matmul(p, ph), dah)
        columns = _matmul(dah, _matmul(ph, p))
        change = -_matmul(_matmul(p, da), p)
        change = change + rows - _matmul(_matmul(rows, a), p)
        return p, change + columns - _matmul(p, _matmul(a, columns))

    return _pinv


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """Returns the pseudo-inverses of matrices.

    Args:
      a: matrices.
      rtol: singular values up to this fraction of the largest one count as zero. The default is ten
        times the dtype's precision times the larger of the two sizes.
      hermitian: whether ``a`` is Hermitian, which makes the computation quicker.
      rcond: another name for ``rtol``.

    Returns:
      An array of the shape of ``a`` with its last two dimensions exchanged.

    Raises:
      ValueError: if both ``rtol`` and ``rcond`` are given, or ``a`` has less than two dimensions.

    Example:
      >>> from olympus_numpy import array
      >>> pinv(array([[2.0], [0.0]]))
      Array([[0.5, 0. ]], dtype=float32)
    """
    (a,) = floating("pinv", a)
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: only one of rtol and rcond may be specified.")
        rtol = rcond
    if a.ndim < 2:
        raise ValueError(f"pinv takes matrices, got an array of shape {a.shape}")
    return _pseudo_inverse(bool(hermitian))(a, *(() if rtol is None else (rtol,)))


def _lstsq_of(a: Any, b: Any, rcond: Any, numpy_resid: bool) -> Any:
    a, b = promote_dtypes_inexact(ensure_array(a), ensure_array(b))
    if not a.ndim or not b.ndim or a.shape[0] != b.shape[0]:
        raise ValueError(
            f"Leading dimensions of input arrays must match; got shapes {a.shape} and {b.shape}"
        )
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    vector = b.ndim == 1
    if not vector and b.ndim != 2:
        raise TypeError(f"{b.ndim}-dimensional array given. Array must be one or two-dimensional")
    b = b[:, None] if vector else b
    rows, columns = a.shape
    real = real_dtype(a.dtype)
    if not a.size:
        s = lax.full((0,), 0, real)
        rank = np.zeros((), np.int32)
        x = lax.full((columns, b.shape[1]), 0, a.dtype)
    else:
        if rcond is None:
            count = lax.size_array(max_dim(rows, columns), real)
            rcond = lax.mul(count, np.array(_precision(a.dtype), real))
        else:
            rcond = selection.where(rcond < 0, _precision(a.dtype), rcond).astype(real)
        u, s, vh = svd(a, full_matrices=False)
        mask = (s > 0) & (s >= rcond * s[0])
        rank = sum_along(mask.astype(np.int32), None, None, False, None, None)
        safe = selection.where(mask, s, 1)
        inverse = selection.where(mask, 1 / safe, 0)[:, None].astype(a.dtype)
        projected = _matmul(adjoint(u), b)
        x = _matmul(adjoint(vh), inverse * projected)
    if numpy_resid and (not a.size or rows <= columns):
        residual = lax.full((0,), 0, real)
    else:
        residual = norm(b - _matmul(a, x), axis=0) ** 2
    return x.ravel() if vector else x, residual, rank, s


_lstsq = compiled(_lstsq_of, ("numpy_resid",), name="_lstsq")


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Solves ``a @ x = b`` by least squares; returns the ``x`` of smallest norm.

    Args:
      a: a matrix.
      b: the right-hand side, a vector or a matrix.
      rcond: singular values up to this fraction of the largest one count as zero. The default is
        the dtype's precision times the larger of the two sizes.
      numpy_resid: whether the residuals are empty if the rank is not full, as in NumPy. The rank
        depends on values, so such a call cannot be compiled.

    Returns:
      The solution, the sums of squared residuals, the rank of ``a`` and its singular values.

    Example:
      >>> from olympus_numpy import array
      >>> lstsq(array([[1.0], [1.0]]), array([1.0, 3.0]))[0].round(3)
      Array([2.], dtype=float32)
    """
    check_arraylike("jnp.linalg.lstsq", a, b)
    if not numpy_resid:
        return _lstsq(a, b, rcond, False)
    x, residual, rank, s = _lstsq_of(a, b, rcond, True)
    if int(rank) < np.shape(a)[1]:
        residual = lax.full((0,), 0, residual.dtype)
    return x, residual, rank, s


# ---- rank and condition ----


def _matrix_rank_of(M: Any, rtol: Any, hermitian: bool) -> Any:
    (M,) = floating("matrix_rank", M)
    if M.ndim < 2:
        return (M != 0).any().astype(np.int32)
    s = svd(M, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if rtol is None:
        count = lax.size_array(max_dim(*M.shape[-2:]), s.dtype)
        bound = largest(s, (s.ndim - 1,), False) * count * _precision(s.dtype)
    else:
        bound = ensure_array(rtol)
    above = s > bound[..., None]
    return sum_along(above.astype(np.int32), (above.ndim - 1,), None, False, None, None)


_matrix_rank = compiled(_matrix_rank_of, ("hermitian",), name="matrix_rank")


def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """Returns the ranks of matrices, which are the numbers of nonzero singular values.

    Args:
      M: matrices.
      rtol: singular values up to this bound count as zero. The default is the product of the
        largest singular value, the larger of the two sizes, and the dtype's precision.
      hermitian: whether ``M`` is Hermitian, which makes the computation quicker.
      tol: another name for ``rtol``.

    Returns:
      An integer array of shape ``M.shape[:-2]``.

    Raises:
      ValueError: if both ``rtol`` and ``tol`` are given.

    Example:
      >>> from olympus_numpy import array
      >>> matrix_rank(array([[1.0, 2], [2, 4]]))
      Array(1, dtype=int32)
    """
    check_arraylike("jnp.linalg.matrix_rank", M)
    if tol is not None:
        if rtol is not None:
            raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
        rtol = tol
    return _matrix_rank(M, rtol, bool(hermitian))


def _cond_of(x: Any, p: Any) -> Any:
    (x,) = promote_dtypes_inexact(ensure_array(x))
    if p in (None, 2, -2):
        s = svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    ratio = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    # For a singular matrix without NaN elements, the computation returns NaN. Replace it by
    # infinity.
    broken = (x != x).any(axis=(-2, -1))
    return selection.where((ratio != ratio) & ~broken, np.inf, ratio)


_cond = compiled(_cond_of, ("p",), name="cond")


def cond(x: ArrayLike, p: int | float | str | None = None) -> Array:
    """Returns the condition numbers of matrices.

    Args:
      x: matrices.
      p: the order of the norm, as in `norm`. By default, the condition number is the ratio of the
        largest singular value to the smallest.

    Returns:
      A real array of shape ``x.shape[:-2]``.

    Raises:
      ValueError: if ``x`` has less than two dimensions or no elements, or is not square and ``p``
        is a norm other than 2 and -2.

    Example:
      >>> from olympus_numpy import array
      >>> cond(array([[2.0, 0], [0, 1]]))
      Array(2., dtype=float32)
    """
    check_arraylike("cond", x)
    shape = np.shape(x)
    if len(shape) < 2:
        raise ValueError(f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={shape}")
    if 0 in shape[-2:]:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got arr.shape={shape}")
    if p not in (None, 2, -2) and shape[-1] != shape[-2]:
        raise ValueError(f"jnp.linalg.cond: for {p=}, array must be square; got arr.shape={shape}")
    return _cond(x, p)


# ---- tensors ----


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Returns the inverse of the linear map that `tensordot` with an array computes.

    Args:
      a: the array of the map from ``x`` to ``tensordot(a, x, x.ndim)``.
      ind: the number of leading dimensions of ``a``: the dimensions of the map's values.

    Returns:
      An array of shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises:
      ValueError: if ``ind`` is not positive, or the two groups of dimensions differ in their number
        of elements.

    Example:
      >>> from olympus_numpy import array
      >>> tensorinv(array([[[2.0], [0]], [[0], [4]]]), ind=1).shape
      (2, 1, 2)
    """
    check_arraylike("tensorinv", a)
    ind = operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    (a,) = promote_dtypes_inexact(ensure_array(a))
    first, rest = a.shape[:ind], a.shape[ind:]
    size = int(np.prod(first))
    if size != int(np.prod(rest)):
        raise ValueError(
            "tensorinv is only possible when the product of the first `ind` dimensions equals that "
            f"of the remaining dimensions. got arr.shape={a.shape} with ind={ind}."
        )
    return inv(a.reshape(size, size)).reshape(*rest, *first)


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Array:
    """Solves ``tensordot(a, x, x.ndim) = b`` for ``x``.

    Args:
      a: the array of the linear map.
      b: the right-hand side.
      axes: dimensions of ``a`` that are moved to the end first.

    Returns:
      An array of shape ``a.shape[b.ndim:]``.

    Raises:
      ValueError: if the shapes of ``a`` and ``b`` do not fit.

    Example:
      >>> from olympus_numpy import array
      >>> tensorsolve(array([[[2.0, 0]], [[0, 4.0]]]), array([2.0, 4.0]))
      Array([[1., 1.]], dtype=float32)
    """
    check_arraylike("tensorsolve", a, b)
    a, b = promote_dtypes_inexact(ensure_array(a), ensure_array(b))
    if axes is not None:
        a = shaping.moveaxis(a, axes, range(a.ndim - len(axes), a.ndim))
    if a.shape[: b.ndim] != b.shape:
        raise ValueError(
            "After moving axes to end, leading shape of a must match shape of b. got "
            f"a.shape={a.shape}, b.shape={b.shape}"
        )
    shape = a.shape[b.ndim :]
    if int(np.prod(shape)) != b.size:
        raise ValueError(
            "Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); got "
            f"a.shape={a.shape}, b.ndim={b.ndim}."
        )
    return solve(a.reshape(b.size, b.size), b.ravel()).reshape(shape)
