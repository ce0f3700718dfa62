# SPDX-License-Identifier: Apache-2.0
"""Operations of everyday programs, for the comparison of libraries by `peers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operands import arrays, integers, joined
from .operations import Operation, adding_to

EVERYDAY_OPERATIONS: list[Operation] = []

_add = adding_to(EVERYDAY_OPERATIONS)

_vector, _square = arrays((1_000_000,)), arrays((1000, 1000))


def _definite(size: int) -> tuple[np.ndarray, ...]:
    x = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    return x @ x.T + size * np.eye(size, dtype=np.float32), x[:, 0].copy()


def _with_nans(shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    x[np.random.default_rng(1).uniform(size=shape) < 0.01] = np.nan
    return (x,)


def _torch_gradients(t: Any, run: Any, *tensors: Any) -> Any:
    """Returns the gradients of a sum with respect to tensors, by PyTorch."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    return t.autograd.grad(run(*leaves).sum(), leaves)


# ---- distances and neighbors ----

_points = arrays((1000, 16), (1000, 16))
_add(
    "distances",
    _points,
    "squared distances by broadcasting",
    lambda k, x, y: ((x[:, None] - y[None]) ** 2).sum(-1),
    lambda t, x, y: ((x[:, None] - y[None]) ** 2).sum(-1),
)
_add(
    "distances",
    _points,
    "distances by products",
    lambda k, x, y: k.np.sqrt(
        k.np.maximum((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T, 0)
    ),
    lambda t, x, y: t.cdist(x, y),
)
_add(
    "distances",
    arrays((1000, 16), (1000, 16)),
    "sums of absolute differences",
    lambda k, x, y: k.np.abs(x[:, None] - y[None]).sum(-1),
    lambda t, x, y: t.cdist(x, y, p=1),
)
_add(
    "distances",
    arrays((1000, 64), (1000, 64)),
    "cosine similarities",
    lambda k, x, y: (
        (x / k.np.linalg.norm(x, axis=1, keepdims=True))
        @ (y / k.np.linalg.norm(y, axis=1, keepdims=True)).T
    ),
    lambda t, x, y: (x / x.norm(dim=1, keepdim=True)) @ (y / y.norm(dim=1, keepdim=True)).T,
)
_add(
    "distances",
    _square,
    "nearest of 1000 for 1000",
    lambda k, x: k.np.argmin(((x[:, None, :3] - x[None, :, :3]) ** 2).sum(-1), 1),
    lambda t, x: ((x[:, None, :3] - x[None, :, :3]) ** 2).sum(-1).argmin(1),
)

# ---- learning ----

_add(
    "learning",
    lambda: (
        arrays((8, 8, 256, 256))()[0],
        np.random.default_rng(0).uniform(size=(8, 1, 256, 256)) < 0.7,
    ),
    "softmax of masked weights",
    lambda k, x, m: k.softmax(k.np.where(m, x, np.float32(-1e9)), axis=-1),
    lambda t, x, m: t.softmax(x.masked_fill(~m, -1e9), -1),
)
_labels = joined(arrays((2048, 1000)), integers(1000, (2048,)))
_add(
    "learning",
    _labels,
    "cross entropy of labels",
    lambda k, x, y: -k.np.take_along_axis(k.nn.log_softmax(x), y[:, None], axis=1).mean(),
    lambda t, x, y: t.nn.functional.cross_entropy(x, y.long()),
    in_numpy=False,
)
_add(
    "learning",
    _labels,
    "gradient of cross entropy of labels",
    lambda k, x, y: k.grad(
        lambda z: -k.np.take_along_axis(k.nn.log_softmax(z), y[:, None], axis=1).mean()
    )(x),
    lambda t, x, y: _torch_gradients(t, lambda z: t.nn.functional.cross_entropy(z, y.long()), x)[0],
    in_numpy=False,
)


def _normalized(k: Any, x: Any, scale: Any, shift: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered / k.np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


_add(
    "learning",
    arrays((2048, 512), (512,), (512,)),
    "layer norm and its gradients",
    lambda k, x, s, b: k.grad(
        lambda v: (_normalized(k, *v) ** 2).sum(),
    )((x, s, b)),
    lambda t, x, s, b: _torch_gradients(
        t, lambda *v: t.nn.functional.layer_norm(v[0], (512,), v[1], v[2]) ** 2, x, s, b
    ),
    in_numpy=False,
)
_embedding = joined(arrays((20_000, 64)), integers(20_000, (16_384,)), arrays((16_384, 64)))
_add(
    "learning",
    _embedding,
    "embeddings",
    lambda k, w, i, y: w[i],
    lambda t, w, i, y: w[i],
)
_add(
    "learning",
    _embedding,
    "gradient of embeddings",
    lambda k, w, i, y: k.grad(lambda v: (v[i] * y).sum())(w),
    lambda t, w, i, y: _torch_gradients(t, lambda v: v[i] * y, w)[0],
    in_numpy=False,
)


def _adam(sqrt: Any, *leaves: Any) -> list[Any]:
    size = len(leaves) // 4
    results = []
    for place in range(size):
        parameter, gradient, first, second = leaves[place::size]
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient * gradient
        results += [parameter - 1e-3 * first / (sqrt(second) + 1e-8), first, second]
    return results


_leaves = [(256, 256), (256,)] * 12


def _adam_operands() -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(0)
    return tuple(
        abs(generator.normal(size=shape)).astype(np.float32) for _ in range(4) for shape in _leaves
    )


_add(
    "learning",
    _adam_operands,
    "an update of Adam",
    lambda k, *leaves: _adam(k.np.sqrt, *leaves),
    lambda t, *leaves: _adam(t.sqrt, *leaves),
)
_add(
    "learning",
    joined(arrays((8, 64, 1024), (128, 64, 5))),
    "conv1d",
    lambda k, x, w: k.lax.conv_general_dilated(x, w, (1,), "SAME"),
    lambda t, x, w: t.conv1d(x, w, padding=2),
    in_numpy=False,
)
_add(
    "learning",
    joined(arrays((8, 64, 1024), (128, 64, 5))),
    "gradients of conv1d",
    lambda k, x, w: k.grad(lambda v: (k.lax.conv_general_dilated(*v, (1,), "SAME") ** 2).sum())(
        (x, w)
    ),
    lambda t, x, w: _torch_gradients(t, lambda *v: t.conv1d(*v, padding=2) ** 2, x, w),
    in_numpy=False,
)
_images_last = arrays((8, 56, 56, 32), (3, 3, 32, 64))
_LAST = ("NHWC", "HWIO", "NHWC")
_add(
    "learning",
    _images_last,
    "convolution, features last",
    lambda k, x, w: k.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=_LAST),
    lambda t, x, w: t.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1).permute(
        0, 2, 3, 1
    ),
    in_numpy=False,
)
_add(
    "learning",
    _images_last,
    "gradients of a convolution, features last",
    lambda k, x, w: k.grad(
        lambda v: (
            k.lax.conv_general_dilated(*v, (1, 1), "SAME", dimension_numbers=_LAST) ** 2
        ).sum()
    )((x, w)),
    lambda t, x, w: _torch_gradients(
        t,
        lambda x, w: t.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1) ** 2,
        x,
        w,
    ),
    in_numpy=False,
)
_depthwise_last = arrays((8, 56, 56, 32), (3, 3, 1, 32))
_add(
    "learning",
    _depthwise_last,
    "gradients of a depthwise convolution, features last",
    lambda k, x, w: k.grad(
        lambda v: (
            k.lax.conv_general_dilated(
                *v, (1, 1), "SAME", dimension_numbers=_LAST, feature_group_count=32
            )
            ** 2
        ).sum()
    )((x, w)),
    lambda t, x, w: _torch_gradients(
        t,
        lambda x, w: (
            t.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1, groups=32) ** 2
        ),
        x,
        w,
    ),
    in_numpy=False,
)


def _lstm(k: Any, xs: Any, w: Any, u: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = k.np.split(x @ w + h @ u, 4, axis=-1)
        c = k.nn.sigmoid(f) * c + k.nn.sigmoid(i) * k.np.tanh(g)
        h = k.nn.sigmoid(o) * k.np.tanh(c)
        return (h, c), h

    zeros = k.np.zeros((32, 128), np.float32)
    return k.lax.scan(step, (zeros, zeros), xs)[1]


def _torch_lstm(t: Any, xs: Any, w: Any, u: Any) -> Any:
    h = c = t.zeros(32, 128)
    results = []
    for x in xs:
        i, f, g, o = (x @ w + h @ u).chunk(4, -1)
        c = t.sigmoid(f) * c + t.sigmoid(i) * t.tanh(g)
        h = t.sigmoid(o) * t.tanh(c)
        results.append(h)
    return t.stack(results)


_sequences = lambda: tuple(  # noqa: E731
    x * np.float32(s)
    for x, s in zip(arrays((64, 32, 64), (64, 512), (128, 512))(), (1.0, 0.1, 0.1), strict=True)
)
_add("learning", _sequences, "LSTM of 64 steps", _lstm, _torch_lstm, in_numpy=False)
_add(
    "learning",
    _vector,
    "dropout",
    lambda k, x: (
        k.np.abs(k.np.where(k.random.bernoulli(k.random.key(0), 0.5, x.shape), x / 0.5, 0)).mean()
        * 0
    ),
    lambda t, x: t.dropout(x, 0.5, True).abs().mean() * 0,
    in_numpy=False,
)
_add(
    "learning",
    joined(integers(100, (10_000,)), arrays((100, 64))),
    "one_hot times a matrix",
    lambda k, i, w: k.nn.one_hot(i, 100) @ w,
    lambda t, i, w: t.nn.functional.one_hot(i.long(), 100).float() @ w,
    in_numpy=False,
)
_add(
    "learning",
    arrays((64, 16, 128, 32), (64, 16, 32, 128)),
    "products of 1024 of 128x32 and 32x128",
    lambda k, x, y: x @ y,
    lambda t, x, y: x @ y,
)

# ---- order of elements ----

for _dtype in ("int32", "int16", "uint8", "float64"):
    _add(
        "orders",
        integers(200, (1000, 1000), dtype=_dtype),
        f"sort of rows of {_dtype}",
        lambda k, x: k.np.sort(x, axis=1),
        lambda t, x: t.sort(x, 1)[0],
        is_wide=_dtype == "float64",
    )
    _add(
        "orders",
        integers(200, (1000, 1000), dtype=_dtype),
        f"stable argsort of rows of {_dtype}",
        lambda k, x: k.np.argsort(x, axis=1, stable=True),
        lambda t, x: t.argsort(x, dim=1, stable=True),
        is_wide=_dtype == "float64",
    )
    _add(
        "orders",
        integers(200, (1000, 1000), dtype=_dtype),
        f"argmax of rows of {_dtype}",
        lambda k, x: k.np.argmax(x, axis=1),
        None,
        is_wide=_dtype == "float64",
    )
_add(
    "orders",
    _vector,
    "partition of a vector",
    lambda k, x: k.np.partition(x, 500_000)[500_000],
    lambda t, x: t.kthvalue(x, 500_001)[0],
)
_add(
    "orders",
    _square,
    "partition of rows near the end",
    lambda k, x: k.np.partition(x, 990, axis=1)[:, 990],
    lambda t, x: t.kthvalue(x, 991, 1)[0],
)
_add(
    "orders",
    _square,
    "argpartition of rows",
    lambda k, x: k.np.take_along_axis(x, k.np.argpartition(x, 500, axis=1), axis=1)[:, 500],
    lambda t, x: t.kthvalue(x, 501, 1)[0],
)
_add(
    "orders",
    _square,
    "top 100 of rows",
    lambda k, x: k.lax.top_k(x, 100)[0],
    lambda t, x: t.topk(x, 100)[0],
    in_numpy=False,
)
_add(
    "orders",
    integers(1000, (1000, 1000)),
    "top 10 of rows of int32",
    lambda k, x: k.lax.top_k(x, 10)[0],
    lambda t, x: t.topk(x, 10)[0],
    in_numpy=False,
)
_add(
    "orders",
    _vector,
    "top 1000 of a vector",
    lambda k, x: k.lax.top_k(x, 1000)[0],
    lambda t, x: t.topk(x, 1000)[0],
    in_numpy=False,
)
_add(
    "orders",
    integers(1_000_000, (1_000_000,), (1000,)),
    "isin of a wide range",
    lambda k, x, y: k.np.isin(x, y),
    lambda t, x, y: t.isin(x, y),
)
_add(
    "orders",
    _vector,
    "elements by a mask, of known number",
    lambda k, x: (
        x.at[k.np.nonzero(x > 1, size=200_000, fill_value=x.size)[0]]
        .get(mode="fill", fill_value=0)
        .sum()
    ),
    lambda t, x: x[x > 1].sum(),
    in_numpy=False,
)

# ---- missing values ----

for _name in ("nanmean", "nansum", "nanmin", "nanmax", "nanstd", "nanargmin"):
    for _axis, _direction in ((0, "columns"), (1, "rows"), (None, "all")):
        _add(
            "missing values",
            lambda: _with_nans((1000, 1000)),
            f"{_name} of {_direction} with NaNs",
            lambda k, x, name=_name, axis=_axis: getattr(k.np, name)(x, axis=axis),
            (
                {
                    "nanmean": lambda t, x, axis=_axis: t.nanmean(x, axis),
                    "nansum": lambda t, x, axis=_axis: t.nansum(x, axis),
                }.get(_name)
            ),
        )

# ---- scans of integers ----

for _dtype in ("int64", "bool"):
    for _axis in (0, 1):
        _add(
            "integer scans",
            integers(2, (1000, 1000), dtype=_dtype),
            f"cumsum of {_dtype}, axis {_axis}",
            lambda k, x, axis=_axis: k.np.cumsum(x, axis=axis),
            lambda t, x, axis=_axis: t.cumsum(x, axis),
            is_wide=True,
        )
for _axis in (0, 1):
    _add(
        "integer scans",
        integers(100, (1000, 1000)),
        f"cumprod of int32, axis {_axis}",
        lambda k, x, axis=_axis: k.np.cumprod(x | 1, axis=axis, dtype=np.int32),
        lambda t, x, axis=_axis: t.cumprod(x | 1, axis, dtype=t.int32),
    )
    _add(
        "integer scans",
        integers(100, (1000, 1000)),
        f"cummax of int32, axis {_axis}",
        lambda k, x, axis=_axis: (
            np.maximum.accumulate(x, axis) if k.np is np else k.lax.cummax(x, axis)
        ),
        lambda t, x, axis=_axis: t.cummax(x, axis)[0],
    )
_add(
    "integer scans",
    integers(100, (1_000_000,)),
    "cumsum of int32, a vector",
    lambda k, x: k.np.cumsum(x, dtype=np.int32),
    lambda t, x: t.cumsum(x, 0, dtype=t.int32),
)

# ---- interpolation and signals ----

_add(
    "signals",
    lambda: (
        np.random.default_rng(0).uniform(0, 255, (2, 100_000)).astype(np.float32),
        arrays((256, 256))()[0],
    ),
    "map_coordinates, linear",
    lambda k, c, x: (
        __import__("scipy.ndimage").ndimage.map_coordinates(x, c, order=1)
        if k.np is np
        else k.map_coordinates(x, [c[0], c[1]], order=1)
    ),
    None,
)
_add(
    "signals",
    arrays((100_000,), (1000,)),
    "convolution of signals by FFT",
    lambda k, x, w: k.np.fft.irfft(k.np.fft.rfft(x, 101_250) * k.np.fft.rfft(w, 101_250), 101_250),
    lambda t, x, w: t.fft.irfft(t.fft.rfft(x, 101_250) * t.fft.rfft(w, 101_250), 101_250),
)
_add(
    "signals",
    arrays((64, 4096)),
    "rfft of 64 rows of 4096",
    lambda k, x: abs(k.np.fft.rfft(x)),
    lambda t, x: abs(t.fft.rfft(x)),
)
for _axis in (0, 1, 2):
    _add(
        "signals",
        arrays((100, 100, 100)),
        f"roll of a volume, axis {_axis}",
        lambda k, x, axis=_axis: k.np.roll(x, 1, axis) - x,
        lambda t, x, axis=_axis: t.roll(x, 1, axis) - x,
    )
_add(
    "signals",
    _square,
    "Laplacian by rolls",
    lambda k, x: sum(k.np.roll(x, s, a) for s in (1, -1) for a in (0, 1)) - 4 * x,
    lambda t, x: sum(t.roll(x, s, a) for s in (1, -1) for a in (0, 1)) - 4 * x,
)
_add(
    "signals",
    _square,
    "Laplacian by slices",
    lambda k, x: x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1],
    lambda t, x: x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1],
)
_add(
    "signals",
    arrays((100_000,), (100_000,), (100_000,), (100_000,)),
    "stack of 4 vectors, last axis",
    lambda k, *xs: k.np.stack(xs, axis=-1),
    lambda t, *xs: t.stack(xs, -1),
)
_add(
    "signals",
    arrays((64, 128, 128), (64, 128, 128)),
    "stack of 2 volumes, last axis",
    lambda k, *xs: k.np.stack(xs, axis=-1),
    lambda t, *xs: t.stack(xs, -1),
)
_add(
    "signals",
    arrays((1000, 3), (1000, 3)),
    "cross of 1000",
    lambda k, x, y: k.np.cross(x, y),
    lambda t, x, y: t.linalg.cross(x, y),
)
_add(
    "signals",
    arrays((300_000, 3), (300_000, 3)),
    "cross of 300,000",
    lambda k, x, y: k.np.cross(x, y),
    lambda t, x, y: t.linalg.cross(x, y),
)
_add(
    "signals",
    arrays((1000, 1000)),
    "trace, diagonal and einsum ii->i",
    lambda k, x: k.np.einsum("ii->i", x) + k.np.diagonal(x) + k.np.trace(x),
    lambda t, x: t.einsum("ii->i", x) + t.diagonal(x) + t.trace(x),
)

# ---- matrices of all sizes ----

for _size in (2, 8, 32, 128, 512):
    _add(
        "matrices",
        lambda size=_size: _definite(size),
        f"cholesky of {_size}",
        lambda k, a, b: k.np.linalg.cholesky(a),
        lambda t, a, b: t.linalg.cholesky(a),
    )
    _add(
        "matrices",
        lambda size=_size: _definite(size),
        f"solve of {_size}",
        lambda k, a, b: k.np.linalg.solve(a, b[:, None]),
        lambda t, a, b: t.linalg.solve(a, b[:, None]),
    )
    _add(
        "matrices",
        lambda size=_size: _definite(size),
        f"eigenvalues of {_size}",
        lambda k, a, b: k.np.linalg.eigvalsh(a),
        lambda t, a, b: t.linalg.eigvalsh(a),
    )
    _add(
        "matrices",
        lambda size=_size: _definite(size),
        f"singular values of {_size}",
        lambda k, a, b: k.np.linalg.svd(a, compute_uv=False),
        lambda t, a, b: t.linalg.svdvals(a),
    )
    _add(
        "matrices",
        lambda size=_size: _definite(size),
        f"qr of {_size}",
        lambda k, a, b: abs(k.np.linalg.qr(a)[1]),
        lambda t, a, b: abs(t.linalg.qr(a)[1]),
    )

# ---- segments ----

_segments = lambda: (_vector()[0], integers(1000, (1_000_000,))()[0])  # noqa: E731
for _name, _reduce in (("max", "amax"), ("min", "amin"), ("sum", "sum")):
    _add(
        "segments",
        _segments,
        f"segments in any order: {_name}",
        lambda k, x, i, name=_name: k.segments(f"segment_{name}")(x, i, 1000),
        lambda t, x, i, reduce=_reduce: t.full(
            (1000,), {"amax": -t.inf, "amin": t.inf, "sum": 0.0}[reduce]
        ).scatter_reduce(0, i.long(), x, reduce),
        in_numpy=False,
    )
_add(
    "segments",
    lambda: (_vector()[0], np.sort(_segments()[1])),
    "segments in order: sum",
    lambda k, x, i: k.segment_sum(x, i, 1000),
    lambda t, x, i: t.zeros(1000).scatter_add(0, i.long(), x),
    in_numpy=False,
)
_add(
    "segments",
    _segments,
    "product of a sparse matrix and a vector",
    lambda k, x, i: (
        np.bincount(i, x * x[i], 1000) if k.np is np else k.segment_sum(x * x[i], i, 1000)
    ),
    lambda t, x, i: t.zeros(1000).index_add(0, i, x * x[i]),
)
_add(
    "segments",
    lambda: (integers(64, (32, 100_000))()[0], arrays((100_000,))()[0]),
    "histograms of 32 features",
    lambda k, i, x: (
        np.stack([np.bincount(row, x, 64) for row in i])
        if k.np is np
        else k.np.stack([k.segment_sum(x, row, 64) for row in i])
    ),
    lambda t, i, x: t.zeros(32, 64).scatter_add(1, i.long(), x.expand(32, -1)),
)

# ---- random numbers ----

_none = lambda: (np.zeros((1,), np.float32),)  # noqa: E731
for _name, _numpy_draw, _draw, _torch_draw in (
    (
        "beta",
        lambda g: g.beta(2.0, 3.0, 100_000),
        lambda r, key: r.beta(key, 2.0, 3.0, (100_000,)),
        lambda t: t.distributions.Beta(2.0, 3.0).sample((100_000,)),
    ),
    (
        "poisson",
        lambda g: g.poisson(4.0, 100_000),
        lambda r, key: r.poisson(key, 4.0, (100_000,)),
        lambda t: t.poisson(t.full((100_000,), 4.0)),
    ),
    (
        "choice with replacement",
        lambda g: g.choice(1000, 100_000),
        lambda r, key: r.choice(key, 1000, (100_000,)),
        lambda t: t.randint(0, 1000, (100_000,)),
    ),
    (
        "choice by probabilities",
        lambda g: g.choice(1000, 100_000, p=np.full(1000, 0.001)),
        lambda r, key: r.choice(key, 1000, (100_000,), p=np.full(1000, 0.001, np.float32)),
        lambda t: t.multinomial(t.full((1000,), 0.001), 100_000, True),
    ),
    (
        "multivariate_normal",
        lambda g: g.multivariate_normal(np.zeros(8), np.eye(8) + 1, 10_000),
        lambda r, key: r.multivariate_normal(
            key, np.zeros(8, np.float32), np.eye(8, dtype=np.float32) + 1, (10_000,)
        ),
        lambda t: t.distributions.MultivariateNormal(t.zeros(8), t.eye(8) + 1).sample((10_000,)),
    ),
    (
        "truncated_normal",
        None,
        lambda r, key: r.truncated_normal(key, -2.0, 2.0, (100_000,)),
        lambda t: t.nn.init.trunc_normal_(t.empty(100_000)),
    ),
):
    _add(
        "draws",
        _none,
        f"random {_name}",
        lambda k, x, in_numpy=_numpy_draw, draw=_draw: (
            in_numpy(k.generator).sum() * 0.0 + x
            if k.np is np
            else draw(k.random, k.random.key(0)).sum() * 0.0 + x
        ),
        lambda t, x, draw=_torch_draw: draw(t).sum() * 0.0 + x,
        in_numpy=_numpy_draw is not None,
    )
