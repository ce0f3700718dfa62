# SPDX-License-Identifier: Apache-2.0
"""Further operations of programs on arrays, for the comparison of libraries by `peers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operands import arrays, integers, joined
from .operations import Operation, adding_to

FURTHER_OPERATIONS: list[Operation] = []


_add = adding_to(FURTHER_OPERATIONS)


def _definite(count: int, size: int) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(count, size, size)).astype(np.float32)
    return x @ x.transpose(0, 2, 1) + size * np.eye(size, dtype=np.float32)


_vector, _square = arrays((1_000_000,)), arrays((1000, 1000))
_two_vectors, _two_squares = arrays(*[(1_000_000,)] * 2), arrays(*[(1000, 1000)] * 2)

# ---- elements ----

for _name in ("hypot", "logaddexp", "copysign", "fmod"):
    _add(
        "elements",
        _two_vectors,
        _name,
        lambda k, x, y, name=_name: getattr(k.np, name)(x, y),
        lambda t, x, y, name=_name: getattr(t, name)(x, y),
    )
for _name in ("round", "rint", "sinc", "square", "reciprocal", "isnan", "log2", "log10"):
    _torch_name = "round" if _name == "rint" else _name
    _add(
        "elements",
        _vector,
        f"{_name} of a vector",
        lambda k, x, name=_name: getattr(k.np, name)(abs(x) + 1 if "log" in name else x),
        lambda t, x, name=_torch_name: getattr(t, name)(abs(x) + 1 if "log" in name else x),
    )
_add("elements", _vector, "clip", lambda k, x: k.np.clip(x, -1, 1), lambda t, x: t.clip(x, -1, 1))
_add(
    "elements",
    _vector,
    "a polynomial of degree 5",
    lambda k, x: k.np.polyval(np.arange(1, 7, dtype=np.float32), x),
    lambda t, x: ((((x + 2) * x + 3) * x + 4) * x + 5) * x + 6,
)
_add(
    "elements",
    _vector,
    "float32 to int32",
    lambda k, x: (x * 100).astype(np.int32),
    lambda t, x: (x * 100).int(),
)
_add(
    "elements",
    integers(100, (1_000_000,), dtype=np.uint8),
    "uint8 to float32",
    lambda k, x: x.astype(np.float32) / 255,
    lambda t, x: x.float() / 255,
)
_add(
    "elements",
    _vector,
    "exp of imaginary numbers",
    lambda k, x: k.np.exp(1j * x),
    lambda t, x: t.exp(1j * x),
)
_add(
    "elements",
    lambda: (_two_vectors()[0] + 1j * _two_vectors()[1],),
    "abs of complex numbers",
    lambda k, x: k.np.abs(x),
    lambda t, x: t.abs(x),
)

# ---- counts and statistics ----

_add(
    "counts",
    _vector,
    "count in an interval",
    lambda k, x: ((x > 0) & (x < 1)).sum(),
    lambda t, x: ((x > 0) & (x < 1)).sum(),
)
_add(
    "counts",
    _square,
    "count of nonzeros of rows",
    lambda k, x: k.np.count_nonzero(x > 1, axis=1),
    lambda t, x: t.count_nonzero(x > 1, dim=1),
)
_add(
    "counts",
    _vector,
    "elements by a mask",
    lambda k, x: x[x > 0],
    lambda t, x: x[x > 0],
    is_compiled=False,
)
_add(
    "counts",
    _vector,
    "nonzero",
    lambda k, x: k.np.nonzero(x > 1)[0],
    lambda t, x: t.nonzero(x > 1)[:, 0],
    is_compiled=False,
)
_add(
    "counts",
    integers(10_000, (1_000_000,), (1000,)),
    "isin",
    lambda k, x, y: k.np.isin(x, y),
    lambda t, x, y: t.isin(x, y),
)
_add("counts", _square, "cov", lambda k, x: k.np.cov(x[:200]), lambda t, x: t.cov(x[:200]))
_add(
    "counts",
    _square,
    "corrcoef",
    lambda k, x: k.np.corrcoef(x[:200]),
    lambda t, x: t.corrcoef(x[:200]),
)
for _name in ("nanmax", "nansum", "ptp", "prod"):
    _torch_form = {
        "nanmax": lambda t, x: t.nan_to_num(x, -t.inf).amax(0),
        "nansum": lambda t, x: t.nansum(x, 0),
        "ptp": lambda t, x: t.amax(x, 0) - t.amin(x, 0),
        "prod": lambda t, x: t.prod(x, 0),
    }[_name]
    _add(
        "counts",
        _square,
        f"{_name} of columns",
        lambda k, x, name=_name: getattr(k.np, name)(x, axis=0),
        _torch_form,
    )
_add(
    "counts",
    _square,
    "softmax of columns",
    lambda k, x: k.softmax(x, axis=0),
    lambda t, x: t.softmax(x, 0),
)
_add(
    "counts",
    _square,
    "logsumexp of columns",
    lambda k, x: k.special.logsumexp(x, axis=0),
    lambda t, x: t.logsumexp(x, 0),
)
_add(
    "counts",
    _square,
    "norms of rows",
    lambda k, x: k.np.linalg.norm(x, axis=1),
    lambda t, x: t.linalg.norm(x, dim=1),
)
_add(
    "counts",
    arrays((1000, 64), (1000, 64)),
    "distances of 1000 and 1000 points",
    lambda k, x, y: k.np.sqrt(((x[:, None] - y) ** 2).sum(-1)),
    lambda t, x, y: t.sqrt(((x[:, None] - y) ** 2).sum(-1)),
)

# ---- differences and filters ----

_add(
    "filters",
    _square,
    "gradient along rows",
    lambda k, x: k.np.gradient(x, axis=1),
    lambda t, x: t.gradient(x, dim=1)[0],
)
_add(
    "filters",
    _square,
    "differences of columns",
    lambda k, x: k.np.diff(x, axis=1),
    lambda t, x: t.diff(x, dim=1),
)
_add(
    "filters",
    _square,
    "trapezoid",
    lambda k, x: k.np.trapezoid(x, axis=1),
    lambda t, x: t.trapezoid(x, dim=1),
)
_add(
    "filters",
    arrays((100_000,), (1000,)),
    "convolve with 1000 weights",
    lambda k, x, w: k.np.convolve(x, w),
    lambda t, x, w: t.nn.functional.conv1d(
        x[None, None], w.flip(0)[None, None], padding=len(w) - 1
    )[0, 0],
)
_add(
    "filters",
    _square,
    "sums of 5 neighbors in rows",
    lambda k, x: x[:, :-4] + x[:, 1:-3] + x[:, 2:-2] + x[:, 3:-1] + x[:, 4:],
    lambda t, x: x[:, :-4] + x[:, 1:-3] + x[:, 2:-2] + x[:, 3:-1] + x[:, 4:],
)
_add(
    "filters",
    arrays((512, 512)),
    "FFT of 512x512",
    lambda k, x: k.np.abs(k.np.fft.rfft2(x)),
    lambda t, x: t.fft.rfft2(x).abs(),
)
_add(
    "filters",
    _square,
    "cumprod of rows",
    lambda k, x: k.np.cumprod(k.np.tanh(x) * 0.1 + 1, axis=1),
    lambda t, x: t.cumprod(t.tanh(x) * 0.1 + 1, 1),
)

# ---- order ----

for _dtype in (np.int8, np.int16, np.int64):
    _add(
        "order",
        integers(100, (1_000_000,), dtype=_dtype),
        f"sort of {np.dtype(_dtype).name}",
        lambda k, x: k.np.sort(x),
        lambda t, x: t.sort(x)[0],
        is_wide=_dtype is np.int64,
    )
_add(
    "order",
    _vector,
    "sort of bfloat16",
    lambda k, x: k.np.sort(x.astype("bfloat16")).astype(np.float32),
    lambda t, x: t.sort(x.bfloat16())[0].float(),
    in_numpy=False,
)
_add(
    "order",
    _vector,
    "top 10 of a vector",
    lambda k, x: k.lax.top_k(x, 10)[0],
    lambda t, x: t.topk(x, 10)[0],
    in_numpy=False,
)
_add(
    "order",
    _square,
    "argsort of rows",
    lambda k, x: k.np.take_along_axis(x, k.np.argsort(x, axis=1), axis=1),
    lambda t, x: t.take_along_dim(x, t.argsort(x, dim=1), dim=1),
)
_add(
    "order",
    arrays((10_000,), (1_000_000,)),
    "searchsorted in 10,000",
    lambda k, x, y: k.np.searchsorted(k.np.sort(x), y),
    lambda t, x, y: t.searchsorted(t.sort(x)[0], y),
)
_add(
    "order",
    _square,
    "partition of rows",
    lambda k, x: k.np.partition(x, 100, axis=1)[:, 100],
    lambda t, x: t.kthvalue(x, 101, dim=1)[0],
)

# ---- copies and transpositions ----

_add("copies", _square, "tile", lambda k, x: k.np.tile(x, (2, 2)), lambda t, x: x.tile(2, 2))
_add(
    "copies",
    arrays((32, 64, 64, 16)),
    "features last to first",
    lambda k, x: (k.np.transpose(x, (0, 3, 1, 2)) + 1).ravel(),
    lambda t, x: (x.permute(0, 3, 1, 2) + 1).reshape(-1),
)
_add(
    "copies",
    arrays((100, 100, 100)),
    "reversed dimensions",
    lambda k, x: (k.np.transpose(x, (2, 1, 0)) * 2).ravel(),
    lambda t, x: (x.permute(2, 1, 0) * 2).reshape(-1),
)
_add(
    "copies",
    arrays((16, 128, 8, 64)),
    "heads before places",
    lambda k, x: (k.np.swapaxes(x, 1, 2) + 1).ravel(),
    lambda t, x: (x.transpose(1, 2) + 1).reshape(-1),
)
_add(
    "copies", _square, "rot90", lambda k, x: k.np.rot90(x).ravel(), lambda t, x: t.rot90(x).ravel()
)
_add(
    "copies",
    _two_vectors,
    "stack of two vectors",
    lambda k, x, y: k.np.stack((x, y), axis=1),
    lambda t, x, y: t.stack((x, y), 1),
)
_add(
    "copies",
    _two_squares,
    "concatenation of columns",
    lambda k, x, y: k.np.concatenate((x, y), axis=1),
    lambda t, x, y: t.cat((x, y), 1),
)
_add(
    "copies",
    _square,
    "every second column",
    lambda k, x: x[:, ::2] + 0,
    lambda t, x: x[:, ::2].contiguous(),
)
_add(
    "copies",
    joined(arrays((100_000, 16)), integers(100_000, (100_000,))),
    "rows by indices",
    lambda k, x, i: x[i],
    lambda t, x, i: x[i],
)
_add(
    "copies",
    joined(integers(1000, (100_000,)), arrays((100_000, 16))),
    "rows added at repeated indices",
    lambda k, i, x: k.np.zeros((1000, 16), np.float32).at[i].add(x),
    lambda t, i, x: t.zeros(1000, 16).index_add(0, i, x),
    in_numpy=False,
)
_add(
    "copies",
    integers(100, (10_000,)),
    "one_hot",
    lambda k, i: k.nn.one_hot(i, 100),
    lambda t, i: t.nn.functional.one_hot(i.long(), 100).float(),
    in_numpy=False,
)

# ---- small matrices ----

_add(
    "small matrices",
    arrays((50_000, 4, 4), (50_000, 4, 4)),
    "50,000 products of 4x4",
    lambda k, x, y: x @ y,
    lambda t, x, y: x @ y,
)
_add(
    "small matrices",
    arrays((100_000, 3, 3), (100_000, 3)),
    "100,000 products of 3x3 and vectors",
    lambda k, x, y: k.np.einsum("nij,nj->ni", x, y),
    lambda t, x, y: t.einsum("nij,nj->ni", x, y),
)
_add(
    "small matrices",
    arrays((1000, 64), (1000, 64)),
    "64 outer products, added",
    lambda k, x, y: k.np.einsum("ni,nj->ij", x, y),
    lambda t, x, y: t.einsum("ni,nj->ij", x, y),
)
_add(
    "small matrices",
    arrays((40, 50, 60), (60, 30), (50, 20)),
    "einsum ijk,kl,jm->ilm",
    lambda k, x, y, z: k.np.einsum("ijk,kl,jm->ilm", x, y, z, optimize=True),
    lambda t, x, y, z: t.einsum("ijk,kl,jm->ilm", x, y, z),
)
_add(
    "small matrices",
    arrays((8, 128, 8, 64), (8, 128, 8, 64)),
    "einsum bqhd,bkhd->bhqk",
    lambda k, x, y: k.np.einsum("bqhd,bkhd->bhqk", x, y, optimize=True),
    lambda t, x, y: t.einsum("bqhd,bkhd->bhqk", x, y),
)
_add(
    "small matrices",
    lambda: (_definite(5000, 8),),
    "5000 Cholesky factors of 8x8",
    lambda k, x: k.np.linalg.cholesky(x),
    lambda t, x: t.linalg.cholesky(x),
)
_add(
    "small matrices",
    lambda: (_definite(5000, 4),),
    "5000 inverses of 4x4",
    lambda k, x: k.np.linalg.inv(x),
    lambda t, x: t.linalg.inv(x),
)
_add(
    "small matrices",
    lambda: (_definite(2000, 16), np.ones((2000, 16, 4), np.float32)),
    "2000 triangular solutions of 16x16",
    lambda k, x, y: k.lax.linalg.triangular_solve(x, y, left_side=True, lower=True),
    lambda t, x, y: t.linalg.solve_triangular(t.tril(x), y, upper=False),
    in_numpy=False,
)
_add(
    "small matrices",
    lambda: (_definite(2000, 8), np.ones((2000, 8, 1), np.float32)),
    "2000 solutions of 8x8",
    lambda k, x, y: k.np.linalg.solve(x, y),
    lambda t, x, y: t.linalg.solve(x, y),
)

# ---- random numbers; the rounded means are equal ----

_key = lambda: ()  # noqa: E731
for _name, _draw, _of_numpy, _torch in (
    (
        "normal",
        lambda r, key: r.normal(key, (1_000_000,)),
        lambda g: g.standard_normal(1_000_000, np.float32),
        lambda t: t.randn(1_000_000),
    ),
    (
        "uniform",
        lambda r, key: r.uniform(key, (1_000_000,)),
        lambda g: g.random(1_000_000, np.float32),
        lambda t: t.rand(1_000_000),
    ),
    (
        "randint",
        lambda r, key: r.randint(key, (1_000_000,), 0, 10) / 10,
        lambda g: g.integers(0, 10, 1_000_000, np.int32) / 10,
        lambda t: t.randint(0, 10, (1_000_000,), dtype=t.int32) / 10,
    ),
    (
        "bernoulli",
        lambda r, key: r.bernoulli(key, 0.3, (1_000_000,)) * 1.0,
        lambda g: g.random(1_000_000, np.float32) < 0.3,
        lambda t: t.rand(1_000_000).less(0.3).float(),
    ),
    (
        "exponential",
        lambda r, key: r.exponential(key, (1_000_000,)),
        lambda g: g.standard_exponential(1_000_000, np.float32),
        lambda t: t.empty(1_000_000).exponential_(),
    ),
    (
        "gamma",
        lambda r, key: r.gamma(key, 2.0, (100_000,)),
        lambda g: g.standard_gamma(2.0, 100_000, np.float32),
        lambda t: t._standard_gamma(t.full((100_000,), 2.0)),
    ),
    (
        "categorical",
        lambda r, key: r.categorical(key, np.zeros(10, np.float32), shape=(100_000,)) / 10,
        lambda g: g.choice(10, 100_000, p=np.full(10, 0.1)) / 10,
        lambda t: t.multinomial(t.full((10,), 0.1), 100_000, True) / 10,
    ),
    (
        "choice without replacement",
        lambda r, key: r.choice(key, 1_000_000, (1000,), replace=False) / 1e6,
        lambda g: g.permutation(1_000_000)[:1000] / 1e6,
        lambda t: t.randperm(1_000_000)[:1000] / 1e6,
    ),
):
    _add(
        "random numbers",
        lambda: (np.uint32(0),),
        f"random {_name}",
        lambda k, seed, draw=_draw, of_numpy=_of_numpy: k.np.round(
            (
                of_numpy(k.generator)
                if hasattr(k, "generator")
                else draw(k.random, k.random.key(seed))
            ).mean()
            * 1.2,
            0,
        ),
        lambda t, seed, torch=_torch: torch(t).mean().mul(1.2).round(),
    )

# ---- gradients ----


def _layer_norm(k: Any, x: Any) -> Any:
    x = x - x.mean(1, keepdims=True)
    return x / k.np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)


_add(
    "gradients",
    _square,
    "gradient of layer norm",
    lambda k, x: k.grad(lambda x: (_layer_norm(k, x) ** 3).sum())(x),
    lambda t, x: t.func.grad(lambda x: (t.nn.functional.layer_norm(x, (1000,)) ** 3).sum())(x),
    in_numpy=False,
)
for _name, _run, _torch in (
    ("softmax", lambda k, x: k.nn.softmax(x) ** 2, lambda t, x: t.softmax(x, 1) ** 2),
    ("gelu", lambda k, x: k.nn.gelu(x, False) ** 2, lambda t, x: t.nn.functional.gelu(x) ** 2),
    ("cumsum", lambda k, x: k.np.cumsum(x, 1) ** 2, lambda t, x: t.cumsum(x, 1) ** 2),
    ("sort", lambda k, x: k.np.sort(x, 1) ** 3, lambda t, x: t.sort(x, 1)[0] ** 3),
    ("max of rows", lambda k, x: x.max(1) ** 2, lambda t, x: x.amax(1) ** 2),
    ("logsumexp", lambda k, x: k.nn.logsumexp(x, 1), lambda t, x: t.logsumexp(x, 1)),
    ("std", lambda k, x: x.std(1), lambda t, x: x.std(1, correction=0)),
    ("tanh", lambda k, x: k.np.tanh(x) ** 2, lambda t, x: t.tanh(x) ** 2),
    ("x @ x.T", lambda k, x: (x @ x.T) ** 2, lambda t, x: (x @ x.T) ** 2),
):
    _add(
        "gradients",
        _square,
        f"gradient of {_name}",
        lambda k, x, run=_run: k.grad(lambda x: run(k, x).sum())(x),
        lambda t, x, run=_torch: t.func.grad(lambda x: run(t, x).sum())(x),
        in_numpy=False,
    )
_add(
    "gradients",
    joined(arrays((1_000_000,)), integers(1000, (100_000,))),
    "gradient of a gather from repeated places",
    lambda k, x, i: k.grad(lambda x: (x[i] ** 2).sum())(x),
    lambda t, x, i: t.func.grad(lambda x: (x[i] ** 2).sum())(x),
    in_numpy=False,
)
