# SPDX-License-Identifier: Apache-2.0
"""Families of linear algebra, complex derivatives, transforms, sparse and polymorphic functions.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .elementwise import unary
from .programs import Kind, Value

__all__ = ["factored", "holomorphic", "polymorphic", "reduced_segments", "sparse", "transforms"]

# Functions of a matrix ``a``, which is positive definite, and of a matrix ``m``.
_FACTORS = (
    "jnp.linalg.cholesky(a).sum()",
    "jnp.linalg.solve(a, m[0]).sum()",
    "jax.scipy.linalg.solve_triangular(a, m, lower=True).sum()",
    "jax.scipy.linalg.solve_triangular(a, m, trans=1, unit_diagonal=True).sum()",
    "jnp.linalg.inv(a).sum()",
    "jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), m[0]).sum()",
    "jax.scipy.linalg.lu(a)[2].sum()",
    "jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(a), m[1], trans=1).sum()",
    "jnp.linalg.matrix_power(a / 4, -3).sum()",
    "jnp.linalg.lstsq(a, m)[0].sum()",
    "jnp.linalg.slogdet(a)[1]",
    "jnp.linalg.multi_dot([m, a, m[0]]).sum()",
    "jnp.linalg.norm(a, 'nuc')",
    "jnp.linalg.eigh(a)[0][-1]",
    "jnp.linalg.qr(a)[1].sum() ** 2",
    "jnp.trace(jax.scipy.linalg.expm(m / 8))",
    "lax.linalg.tridiagonal_solve(m[0] / 9, 2 + a[0], m[1] / 9, m).sum()",
    "jnp.linalg.det(a @ a.T) / 99",
    "jnp.sum(jnp.linalg.pinv(a[:, :2]))",
    "lax.linalg.triangular_solve(a, m, left_side=False, lower=True, transpose_a=True).sum()",
    "jnp.sum(jnp.kron(a, m)[::2])",
    "jnp.linalg.vector_norm(jnp.cross(m[0], a[1]) + 1, ord=3)",
)
_DERIVATIVES = (
    "jax.vmap(jax.grad(lambda m: {value}))($0)",
    "jax.vmap(jax.jacfwd(lambda m: {value}))($0)",
    "jax.grad(lambda x: jax.vmap(lambda m: {value})(x).sum())($0)",
    "jax.vmap(lambda x: jax.jvp(jax.grad(lambda m: {value}), (x,), (x,))[1])($0)",
    "jax.vmap(lambda m: m * ({value}), 1, 1)($0)",
)


def factored(draft: Draft) -> Value:
    """Appends derivatives of factorizations and solutions, under `vmap`."""
    x = draft.fit(draft.pick("float"), Kind((3, 3, 3), draft.dtypes.real))
    factor = draft.chooser.choice(_FACTORS)
    a = "2 * jnp.eye(3).astype(m.dtype) + jnp.tanh(m) @ jnp.tanh(m).T"
    value = f"(lambda m, a: {factor})(jnp.tanh(m), {a})"
    text = draft.chooser.choice(_DERIVATIVES).replace("{value}", value)
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)


_HOLOMORPHIC = (
    "jax.grad(lambda z: jnp.sum(z * z * jnp.sin(z)), holomorphic=True)($0)",
    "jax.vmap(jax.grad(lambda z: jnp.exp(z) * z, holomorphic=True))($0)",
    "jax.jacfwd(jnp.tanh, holomorphic=True)($0).sum(1)",
    "jax.jacrev(lambda z: jnp.cumsum(z * z), holomorphic=True)($0).sum(0)",
    "jax.hessian(lambda z: jnp.sum(z ** 3), holomorphic=True)($0).sum(0)",
    "jax.jvp(lambda z: jnp.conj(z) * z, ($0,), (1j * $0,))[1]",
    "jax.vjp(lambda z: jnp.abs(1 + z) ** 2, $0)[1](jnp.cos($0.real))[0]",
    "jax.grad(lambda z: jnp.sum(jnp.abs(z + 3)))($0)",
    "jax.grad(lambda z: jnp.sum(jnp.angle(z + 3)))($0)",
    "jax.jvp(lambda z: jnp.log(z + 4j), ($0,), ($0,))[1]",
    "jax.vjp(lambda z: jnp.sqrt(z * z + 5), $0)[1]($0)[0]",
    "jax.grad(lambda z: jnp.sum(jnp.real(z) * jnp.imag(z)))($0)",
    "jax.grad(lambda z: jnp.vdot(z, jnp.sin(z)).real)($0)",
    "jax.vjp(lambda z: lax.scan(lambda c, r: (c * r, c), 1j + 0 * z[0], z)[1], $0)[1]($0)[0]",
    "jax.grad(lambda z: jnp.sum(jnp.linalg.norm(z + 1)))($0)",
    "jax.linear_transpose(lambda z: z * (1 + 2j), $0)($0)[0]",
    "jax.vjp(lambda z: jnp.power(z + 2, 1.5 + 1j), $0)[1]($0)[0]",
    "jax.jvp(lambda z: lax.complex(z.imag, z.real), ($0,), ($0,))[1]",
    "jax.grad(lambda z: jnp.sum(jnp.real(jnp.prod(z))))($0)",
    "jax.vjp(lambda z: jnp.where(z.real > 0, z, jnp.conj(z)), $0)[1]($0)[0]",
)


def holomorphic(draft: Draft) -> Value:
    """Appends a derivative with respect to a vector of complex numbers."""
    x = draft.fit(draft.pick("inexact"), Kind((draft.chooser.randint(1, 3),), draft.dtypes.complex))
    return draft.add(draft.chooser.choice(_HOLOMORPHIC), [x], x.kind.shape, x.kind.dtype)


_TRANSFORMS = (
    "jnp.fft.irfft(jnp.fft.rfft($0), n=$0.shape[-1])",
    "jnp.fft.irfft2(jnp.fft.rfft2($0), s=$0.shape)",
    "jnp.fft.fft($0, axis=0, norm='ortho').real",
    "jnp.fft.ifftn($0, axes=(1, 0), norm='forward').imag",
    "jnp.fft.fftshift(jnp.fft.fft2($0)).real",
    "jnp.fft.rfft($0, n=2 * $0.shape[1], norm='forward')[:, : $0.shape[1]].imag",
    "jnp.fft.hfft($0, n=$0.shape[1])",
    "jnp.fft.ifft($0, n=$0.shape[0], axis=0)[: $0.shape[0], : $0.shape[1]].real",
    "jax.scipy.fft.dct($0, axis=0)",
    "jax.scipy.fft.idctn($0, norm='ortho')",
    "jax.scipy.signal.fftconvolve($0, $0, mode='same')",
    "jax.scipy.signal.convolve2d($0, $0[::-1], mode='same')",
    "jax.vmap(lambda r: jnp.fft.fft(r, 4)[: $0.shape[1]].real, 1, 1)($0[:4])[: $0.shape[0]]",
    "jnp.fft.ihfft($0, n=2 * $0.shape[1])[:, : $0.shape[1]].real",
)


def transforms(draft: Draft) -> Value:
    """Appends Fourier and cosine transforms of a matrix with lengths, axes and norms."""
    shape = (draft.chooser.randint(1, 4), draft.chooser.randint(1, 4))
    x = draft.fit(draft.pick("float"), Kind(shape, draft.dtypes.real))
    text = draft.chooser.choice(_TRANSFORMS)
    if "r, 4" in text:
        x = draft.fit(x, Kind((4, 4), x.kind.dtype))
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)


_SPARSE = (
    "sparse.BCOO.fromdense($0, nse=6) @ ($0.T @ $0)",
    "sparse.BCOO.fromdense($0, nse=4).todense()",
    "(sparse.BCOO.fromdense($0, nse=6) * $0).todense()",
    "sparse.BCOO.fromdense($0, nse=6).T.todense().T",
    "$0 @ (sparse.BCOO.fromdense($0, nse=6).T @ $0)",
    "sparse.sparsify(lambda a, v: a * 2)(sparse.BCOO.fromdense($0, nse=6), $0).todense()",
    "$0 * sparse.bcoo_reduce_sum(sparse.BCOO.fromdense($0, nse=6), axes=(0,)).todense()",
    "sparse.BCSR.fromdense($0, nse=6) @ jnp.eye(3).astype($0.dtype)",
    ("sparse.bcoo_concatenate([sparse.BCOO.fromdense($0, nse=6)] * 2, dimension=0).todense()[1:3]"),
    "sparse.BCOO.fromdense($0, nse=6).sum_duplicates(nse=6).todense()",
    "(sparse.BCOO.fromdense($0, nse=6) + sparse.BCOO.fromdense(jnp.sin($0), nse=6)).todense()",
    "jax.vmap(lambda r: sparse.BCOO.fromdense(r, nse=3).todense() * 2)($0)",
    "sparse.BCOO.fromdense($0, nse=2, n_batch=1).todense()",
    "sparse.BCOO((($0.ravel()[:3]), jnp.array([[0, 1], [1, 5], [0, 1]])), shape=(2, 3)).todense()",
    (
        "sparse.bcoo_slice(sparse.BCOO.fromdense($0, nse=6), start_indices=(0, 0), "
        "limit_indices=(2, 3)).todense()"
    ),
    "sparse.grad(lambda m: jnp.sum((m @ $0.T) ** 2))(sparse.BCOO.fromdense($0, nse=6)).todense()",
    "lax.fori_loop(0, 2, lambda i, c: sparse.BCOO.fromdense(c, nse=6) @ (c.T @ c) / 9, $0)",
    "jax.jit(lambda m: m.todense())(sparse.BCOO.fromdense($0, nse=6))",
)


def sparse(draft: Draft) -> Value:
    """Appends a function of a sparse matrix, made from a dense one."""
    if draft.smooth:
        return unary(draft)
    x = draft.fit(draft.pick("float"), Kind((2, 3), draft.dtypes.real))
    text = draft.chooser.choice(_SPARSE).replace("sparse.", "jax.experimental.sparse.")
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)


_POLYMORPHIC = (
    "lambda v: jnp.sin(v) * v.shape[0]",
    "lambda v: v.reshape(-1).reshape(v.shape)",
    "lambda v: v - v.mean(0, keepdims=True)",
    "lambda v: v @ v.T @ v / (v.shape[0] * v.shape[1])",
    "lambda v: v * jnp.arange(v.shape[0])[:, None]",
    "lambda v: jnp.concatenate([v, v])[v.shape[0] :]",
    "lambda v: lax.scan(lambda c, r: (c + r, c), jnp.zeros(v.shape[1:], v.dtype), v)[1]",
    "lambda v: jax.vmap(lambda r: jnp.cumsum(r))(v)",
    "lambda v: jnp.pad(v, ((1, 1), (0, 0)))[1:-1]",
    "lambda v: jnp.sort(v, axis=0)[::-1]",
    "lambda v: jnp.flip(jnp.roll(v, 1, 0), 1)",
    "lambda v: lax.fori_loop(0, v.shape[0], lambda i, c: c.at[i].multiply(2), v)",
    "lambda v: jnp.broadcast_to(v.max(0), v.shape)",
    "lambda v: v.at[-1].set(0)",
    "lambda v: lax.dynamic_slice(v, (v.shape[0] - 1, 0), (1, v.shape[1])) + v",
    "lambda v: jnp.where(jnp.eye(v.shape[0], v.shape[1], dtype=bool), v, v * 2)",
    "lambda v: jnp.repeat(v, 2, axis=0)[: v.shape[0]]",
    "lambda v: jax.grad(lambda w: jnp.sum(w ** 2) / w.shape[0])(v)",
    "lambda v: jnp.einsum('ij,kj->ki', v, v) @ v",
    "lambda v: jax.nn.softmax(v, axis=1)",
    "lambda v: jnp.take(v, jnp.arange(v.shape[0])[::-1], axis=0)",
    "lambda v: v[:, :, None].sum(2) + jnp.ones(v.shape[1], v.dtype) * v.size",
)


def polymorphic(draft: Draft) -> Value:
    """Appends a call of an exported function whose dimensions are symbols."""
    if draft.depth:
        return unary(draft)
    shape = (draft.chooser.randint(1, 3), draft.chooser.randint(1, 3))
    x = draft.fit(draft.pick("float"), Kind(shape, draft.dtypes.real))
    fun = draft.chooser.choice(_POLYMORPHIC)
    symbols = draft.chooser.choice(("a, b", "a, b", "a, _", "_, b", "a, b")).split(", ")
    written = ", ".join(
        str(size) if symbol == "_" else symbol for symbol, size in zip(symbols, shape, strict=True)
    )
    text = (
        f"jax.export.export(jax.jit({fun}))(jax.ShapeDtypeStruct(jax.export.symbolic_shape("
        f"'{written}'), $0.dtype)).call($0)"
    )
    return draft.add(text, [x], shape, x.kind.dtype)


def reduced_segments(draft: Draft) -> Value:
    """Appends segment reductions with ids out of bounds, promises and buckets."""
    x = draft.sized("float", lambda rank: rank > 0)
    rows = Kind(x.kind.shape[:1], draft.dtypes.integer)
    ids = draft.fit(draft.pick("integer"), rows)
    names = ("sum",) if draft.smooth else ("sum", "max", "min")
    name = draft.chooser.choice(names)
    options = draft.chooser.choice(
        ("", ", indices_are_sorted=True", ", bucket_size=2", ", mode='clip'", ", mode='drop'")
    )
    written = "jnp.sort($1)" if "sorted" in options else "$1"
    # Segments without elements are infinite, and would hide what the program computes from them.
    segments = f"jax.ops.segment_{name}($0, {written}, num_segments=4{options})"
    text = f"jnp.nan_to_num({segments}, posinf=0, neginf=0)"
    return draft.add(text, [x, ids], (4, *x.kind.shape[1:]), x.kind.dtype)
