# SPDX-License-Identifier: Apache-2.0
"""Operations from more of the APIs of arrays, for the comparison of libraries by `peers`.

Batches of small matrices, layers of networks, statistics, narrow dtypes, complex numbers,
cumulative operations along the first axis, copies, scatters and segments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .operands import arrays, integers, joined
from .operations import Operation, adding_to

WIDER_OPERATIONS: list[Operation] = []

_add = adding_to(WIDER_OPERATIONS)

_vector, _square = arrays((1_000_000,)), arrays((1000, 1000))
_two_vectors, _two_squares = arrays(*[(1_000_000,)] * 2), arrays(*[(1000, 1000)] * 2)


def _definite(count: int, size: int) -> Any:
    def make() -> tuple[np.ndarray, ...]:
        x = np.random.default_rng(0).normal(size=(count, size, size)).astype(np.float32)
        return (x @ x.transpose(0, 2, 1) + size * np.eye(size, dtype=np.float32),)

    return make


# ---- batches of small matrices ----

for _size in (3, 4, 8, 16):
    _many = _definite(5000, _size)
    _right = joined(_many, arrays((5000, _size, 1)))
    _add(
        "batches of matrices",
        _right,
        f"5000 systems of {_size}x{_size}",
        lambda k, x, y: k.np.linalg.solve(x, y),
        lambda t, x, y: t.linalg.solve(x, y),
    )
    _add(
        "batches of matrices",
        _many,
        f"5000 inverses, {_size}x{_size}",
        lambda k, x: k.np.linalg.inv(x),
        lambda t, x: t.linalg.inv(x),
    )
    _add(
        "batches of matrices",
        _many,
        f"5000 determinants, {_size}x{_size}",
        lambda k, x: k.np.linalg.slogdet(x)[1],
        lambda t, x: t.linalg.slogdet(x)[1],
    )
    _add(
        "batches of matrices",
        _many,
        f"5000 Cholesky factors, {_size}x{_size}",
        lambda k, x: k.np.linalg.cholesky(x),
        lambda t, x: t.linalg.cholesky(x),
    )
    _add(
        "batches of matrices",
        _many,
        f"5000 symmetric eigenvalues, {_size}x{_size}",
        lambda k, x: k.np.linalg.eigh(x)[0],
        lambda t, x: t.linalg.eigh(x)[0],
    )
    _add(
        "batches of matrices",
        _many,
        f"5000 triangular factors, {_size}x{_size}",
        lambda k, x: k.np.abs(k.np.linalg.qr(x)[1]),
        lambda t, x: t.linalg.qr(x)[1].abs(),
    )
    _add(
        "batches of matrices",
        _many,
        f"5000 singular values, {_size}x{_size}",
        lambda k, x: k.np.linalg.svd(x)[1],
        lambda t, x: t.linalg.svd(x)[1],
    )

# ---- layers of networks ----

_images = arrays((8, 32, 56, 56))
_tokens = arrays((8, 256, 512))


def _attended(k: Any, q: Any, key: Any, v: Any) -> Any:
    mask = k.np.tril(np.ones((256, 256), bool))
    return k.nn.dot_product_attention(q, key, v, mask=mask[None, None])


_add(
    "layers",
    arrays(*[(4, 256, 8, 64)] * 3),
    "causal attention",
    _attended,
    lambda t, q, key, v: t.nn.functional.scaled_dot_product_attention(
        *(each.transpose(1, 2) for each in (q, key, v)), is_causal=True
    ).transpose(1, 2),
    in_numpy=False,
)
_add(
    "layers",
    _tokens,
    "rms norm",
    lambda k, x: x / k.np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5),
    lambda t, x: t.nn.functional.rms_norm(x, (512,), eps=1e-5),
)
_add(
    "layers",
    _images,
    "instance norm",
    lambda k, x: (
        (x - x.mean((2, 3), keepdims=True)) / k.np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    ),
    lambda t, x: t.nn.functional.instance_norm(x),
)
for _name, _torch_name in (
    ("silu", "silu"),
    ("softplus", "softplus"),
    ("elu", "elu"),
    ("selu", "selu"),
    ("leaky_relu", "leaky_relu"),
    ("hard_swish", "hardswish"),
    ("log_sigmoid", "logsigmoid"),
    ("mish", "mish"),
    ("relu6", "relu6"),
):
    _add(
        "layers",
        _vector,
        f"{_name} of a vector",
        lambda k, x, name=_name: getattr(k.nn, name)(x),
        lambda t, x, name=_torch_name: getattr(t.nn.functional, name)(x),
        in_numpy=False,
    )
_add(
    "layers",
    _vector,
    "gelu by tanh",
    lambda k, x: k.nn.gelu(x, approximate=True),
    lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    in_numpy=False,
)
_add(
    "layers",
    _square,
    "glu",
    lambda k, x: k.nn.glu(x, axis=1),
    lambda t, x: t.nn.functional.glu(x, 1),
    in_numpy=False,
)
for _method, _torch_method in (
    ("nearest", "nearest"),
    ("linear", "bilinear"),
    ("cubic", "bicubic"),
):
    _add(
        "layers",
        _images,
        f"images to twice the size, {_method}",
        lambda k, x, method=_method: k.resize(x, (8, 32, 112, 112), method),
        (
            None
            if _method == "cubic"
            else lambda t, x, method=_torch_method: t.nn.functional.interpolate(
                x, scale_factor=2, mode=method
            )
        ),
        in_numpy=False,
    )
_add(
    "layers",
    joined(_images, arrays((64, 32, 3, 3))),
    "convolution by strides of 2",
    lambda k, x, w: k.lax.conv_general_dilated(x, w, (2, 2), ((1, 1),) * 2),
    lambda t, x, w: t.nn.functional.conv2d(x, w, stride=2, padding=1),
    in_numpy=False,
)
_add(
    "layers",
    joined(_images, arrays((64, 32, 3, 3))),
    "dilated convolution",
    lambda k, x, w: k.lax.conv_general_dilated(x, w, (1, 1), ((2, 2),) * 2, rhs_dilation=(2, 2)),
    lambda t, x, w: t.nn.functional.conv2d(x, w, padding=2, dilation=2),
    in_numpy=False,
)
_add(
    "layers",
    joined(_images, arrays((32, 32, 4, 4))),
    "transposed convolution",
    lambda k, x, w: k.lax.conv_general_dilated(
        x, k.np.flip(k.np.swapaxes(w, 0, 1), (2, 3)), (1, 1), ((2, 2),) * 2, lhs_dilation=(2, 2)
    ),
    lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, stride=2, padding=1),
    in_numpy=False,
)
_add(
    "layers",
    arrays((16, 64, 1024), (64, 64, 5)),
    "convolution of sequences",
    lambda k, x, w: k.lax.conv_general_dilated(x, w, (1,), ((2, 2),)),
    lambda t, x, w: t.nn.functional.conv1d(x, w, padding=2),
    in_numpy=False,
)
_add(
    "layers",
    arrays((2, 16, 16, 32, 32), (16, 16, 3, 3, 3)),
    "convolution of volumes",
    lambda k, x, w: k.lax.conv_general_dilated(x, w, (1, 1, 1), ((1, 1),) * 3),
    lambda t, x, w: t.nn.functional.conv3d(x, w, padding=1),
    in_numpy=False,
)
_add(
    "layers",
    arrays((8, 256, 512), (2048, 512), (512, 2048)),
    "feed-forward layers",
    lambda k, x, w, v: k.nn.relu(x @ w.T) @ v.T,
    lambda t, x, w, v: t.relu(x @ w.T) @ v.T,
    in_numpy=False,
)

# ---- statistics and interpolation ----

for _name in ("var", "std"):
    _add(
        "statistics of arrays",
        _square,
        f"{_name} of columns",
        lambda k, x, name=_name: getattr(k.np, name)(x, axis=0),
        lambda t, x, name=_name: getattr(t, name)(x, dim=0, correction=0),
    )
for _name in ("nanmin", "nanmean", "nanvar", "nanargmax"):
    _add(
        "statistics of arrays",
        _square,
        f"{_name} of rows",
        lambda k, x, name=_name: getattr(k.np, name)(x, axis=1),
        (lambda t, x: t.nanmean(x, 1)) if _name == "nanmean" else None,
    )
_add(
    "statistics of arrays",
    _square,
    "nanmedian of rows",
    lambda k, x: k.np.nanmedian(x, axis=1),
    lambda t, x: t.nanquantile(x, 0.5, dim=1),
)
_add(
    "statistics of arrays",
    _vector,
    "percentiles of a vector",
    lambda k, x: k.np.percentile(x, np.array([5, 25, 75, 95], np.float32)),
    None,
)
_add(
    "statistics of arrays",
    _square,
    "average with weights",
    lambda k, x: k.np.average(x, axis=1, weights=abs(x[0])),
    lambda t, x: (x * x[0].abs()).sum(1) / x[0].abs().sum(),
)
_add(
    "statistics of arrays",
    lambda: (np.sort(_square()[0], axis=None)[::100], _vector()[0]),
    "searchsorted from the right",
    lambda k, x, y: k.np.searchsorted(x, y, side="right"),
    lambda t, x, y: t.searchsorted(x, y, right=True),
)
_add(
    "statistics of arrays",
    integers(1000, (1_000_000,)),
    "digitize of integers",
    lambda k, x: k.np.digitize(x, np.arange(0, 1000, 10, dtype=np.int32)),
    lambda t, x: t.bucketize(x, t.arange(0, 1000, 10, dtype=t.int32), right=True),
)
_add(
    "statistics of arrays",
    integers(10_000, (100_000,), (100_000,)),
    "intersect1d",
    lambda k, x, y: k.np.intersect1d(x, y),
    None,
    is_compiled=False,
)
_add(
    "statistics of arrays",
    integers(2, (1_000_000,)),
    "cumulative maximum of integers",
    lambda k, x: k.np.maximum.accumulate(x),
    lambda t, x: t.cummax(x, 0)[0],
)
_add(
    "statistics of arrays",
    _square,
    "convolution of images by FFT",
    lambda k, x: k.np.fft.irfft2(k.np.fft.rfft2(x) * k.np.fft.rfft2(x[::-1])),
    lambda t, x: t.fft.irfft2(t.fft.rfft2(x) * t.fft.rfft2(x.flip(0))),
)
_add(
    "statistics of arrays",
    _square,
    "FFT of rows of 1000",
    lambda k, x: k.np.abs(k.np.fft.fft(x)),
    lambda t, x: t.fft.fft(x).abs(),
)
_add(
    "statistics of arrays",
    arrays((500, 3), (500, 3)),
    "cross",
    lambda k, x, y: k.np.cross(x, y),
    lambda t, x, y: t.linalg.cross(x, y),
)

# ---- products with awkward layouts ----

_add(
    "layouts",
    arrays((64, 32, 50), (32, 50, 64)),
    "tensordot over two axes",
    lambda k, x, y: k.np.tensordot(x, y, ((1, 2), (0, 1))),
    lambda t, x, y: t.tensordot(x, y, ((1, 2), (0, 1))),
)
for _spec, _shapes in (
    ("abc,cd->abd", ((32, 50, 64), (64, 100))),
    ("abc,adc->abd", ((100, 50, 40), (100, 60, 40))),
    ("abc,dba->cd", ((40, 50, 60), (30, 50, 40))),
    ("ijk,ilk->jl", ((50, 100, 60), (50, 80, 60))),
    ("bik,bjk->kij", ((64, 30, 40), (64, 30, 40))),
    ("ij,kj->ikj", ((100, 100), (100, 100))),
    ("iij->ij", ((300, 300, 20),)),
    ("ijk->kji", ((100, 100, 100),)),
    ("bhqk,bkhd->bqhd", ((4, 8, 128, 128), (4, 128, 8, 64))),
    ("bi,bj,bk->ijk", ((100, 40), (100, 40), (100, 40))),
):
    _add(
        "layouts",
        arrays(*_shapes),
        f"einsum {_spec}",
        lambda k, *xs, spec=_spec: (k.np.einsum(spec, *xs, optimize=True) * 1).ravel(),
        lambda t, *xs, spec=_spec: (t.einsum(spec, *xs) * 1).reshape(-1),
    )
_add(
    "layouts",
    arrays((1000, 1000), (1000,)),
    "vector times matrix",
    lambda k, x, y: y @ x,
    lambda t, x, y: y @ x,
)
_add(
    "layouts",
    arrays((100_000, 8), (8, 8)),
    "product of a narrow matrix",
    lambda k, x, y: x @ y,
    lambda t, x, y: x @ y,
)
_add(
    "layouts",
    arrays((100_000, 8)),
    "Gram matrix of a narrow matrix",
    lambda k, x: x.T @ x,
    lambda t, x: x.T @ x,
)
_add(
    "layouts",
    _vector,
    "product of two vectors",
    lambda k, x: x @ x[::-1],
    lambda t, x: x @ x.flip(0),
)

# ---- narrow dtypes and complex numbers ----

for _dtype in (np.int8, np.uint8, np.int16):
    _pair = integers(50, (1_000_000,), (1_000_000,), low=1, dtype=_dtype)
    _name = np.dtype(_dtype).name
    _add(
        "dtypes",
        _pair,
        f"x * y + x of {_name}",
        lambda k, x, y: x * y + x,
        lambda t, x, y: x * y + x,
    )
    _add("dtypes", _pair, f"x // y of {_name}", lambda k, x, y: x // y, lambda t, x, y: x // y)
    _add(
        "dtypes",
        _pair,
        f"sum of {_name}",
        lambda k, x, y: k.np.sum(x, dtype=np.int32),
        lambda t, x, y: t.sum(x, dtype=t.int32),
    )
    _add(
        "dtypes",
        _pair,
        f"maximum of {_name}",
        lambda k, x, y: k.np.max(x),
        lambda t, x, y: x.amax(),
    )
_add(
    "dtypes",
    integers(50, (500, 500), (500, 500)),
    "product of matrices of int32",
    lambda k, x, y: x @ y,
    lambda t, x, y: x @ y,
)
_add(
    "dtypes",
    integers(50, (500, 500), (500, 500), dtype=np.int8),
    "product of matrices of int8",
    lambda k, x, y: k.np.matmul(x, y, preferred_element_type=np.int32),
    lambda t, x, y: t._int_mm(x, y),
    in_numpy=False,
)
for _name in ("float16", "bfloat16"):
    for _title, _run in (
        ("x * y + x", lambda m, x, y: x * y + x),
        ("exp(x)", lambda m, x, y: m.exp(x)),
        ("sum", lambda m, x, y: x.sum()),
        ("softmax", None),
    ):
        _add(
            "dtypes",
            _two_squares,
            f"{_title} of {_name}",
            (
                (lambda k, x, y, name=_name: k.nn.softmax(x.astype(name), 1).astype(np.float32))
                if _run is None
                else lambda k, x, y, name=_name, run=_run: run(
                    k.np, x.astype(name), y.astype(name)
                ).astype(np.float32)
            ),
            (
                (lambda t, x, y, name=_name: t.softmax(x.to(getattr(t, name)), 1).float())
                if _run is None
                else lambda t, x, y, name=_name, run=_run: run(
                    t, x.to(getattr(t, name)), y.to(getattr(t, name))
                ).float()
            ),
            in_numpy=False,
        )
_complex = lambda: (_two_vectors()[0] + 1j * _two_vectors()[1],)  # noqa: E731
for _name in ("exp", "log", "sqrt", "angle", "conj", "square", "reciprocal", "sin", "tanh"):
    _add(
        "dtypes",
        _complex,
        f"{_name} of complex numbers",
        lambda k, x, name=_name: k.np.abs(getattr(k.np, name)(x)),
        lambda t, x, name=_name: getattr(t, name)(x).abs(),
    )
_add(
    "dtypes",
    _complex,
    "sum of complex numbers",
    lambda k, x: x.sum().real,
    lambda t, x: x.sum().real,
)
_add(
    "dtypes",
    _complex,
    "x / y of complex numbers",
    lambda k, x: k.np.abs(x / x[::-1]),
    lambda t, x: (x / x.flip(0)).abs(),
)

# ---- cumulative operations along the first axis ----

for _name in ("cumsum", "cumprod"):
    _add(
        "first axis",
        _square,
        f"{_name} along axis 0",
        lambda k, x, name=_name: getattr(k.np, name)(x * 0.001 + 1, axis=0),
        lambda t, x, name=_name: getattr(t, name)(x * 0.001 + 1, dim=0),
    )
_add(
    "first axis",
    _square,
    "cummax along axis 0",
    lambda k, x: k.lax.cummax(x, axis=0),
    lambda t, x: t.cummax(x, dim=0)[0],
    in_numpy=False,
)
_add(
    "first axis",
    _square,
    "cumlogsumexp along axis 0",
    lambda k, x: k.lax.cumlogsumexp(x, axis=0),
    lambda t, x: t.logcumsumexp(x, dim=0),
    in_numpy=False,
)
_add(
    "first axis",
    arrays((64, 100, 100)),
    "cumsum of a middle axis",
    lambda k, x: k.np.cumsum(x, axis=1),
    lambda t, x: t.cumsum(x, dim=1),
)
_add(
    "first axis",
    _square,
    "argsort of columns",
    lambda k, x: k.np.take_along_axis(x, k.np.argsort(x, axis=0), axis=0),
    lambda t, x: t.take_along_dim(x, t.argsort(x, dim=0), dim=0),
)
_add(
    "first axis",
    _square,
    "argmax along axis 0",
    lambda k, x: k.np.argmax(x, axis=0),
    lambda t, x: t.argmax(x, dim=0),
)

# ---- copies ----

_add(
    "rearrangements",
    _square,
    "roll of rows",
    lambda k, x: k.np.roll(x, 7, axis=0),
    lambda t, x: t.roll(x, 7, 0),
)
_add(
    "rearrangements",
    _square,
    "flip of both axes",
    lambda k, x: k.np.flip(x) + 0,
    lambda t, x: t.flip(x, (0, 1)),
)
_add(
    "rearrangements",
    _square,
    "flip of rows",
    lambda k, x: k.np.flip(x, 1) + 0,
    lambda t, x: t.flip(x, (1,)),
)
_add(
    "rearrangements",
    _vector,
    "tile of a vector",
    lambda k, x: k.np.tile(x, 3),
    lambda t, x: x.tile(3),
)
_add(
    "rearrangements",
    _square,
    "repeat of rows",
    lambda k, x: k.np.repeat(x, 2, axis=0),
    lambda t, x: x.repeat_interleave(2, 0),
)
_add(
    "rearrangements",
    _square,
    "repeat of columns",
    lambda k, x: k.np.repeat(x, 2, axis=1),
    lambda t, x: x.repeat_interleave(2, 1),
)
for _mode, _torch_mode in (("edge", "replicate"), ("reflect", "reflect"), ("wrap", "circular")):
    _add(
        "rearrangements",
        arrays((32, 3, 128, 128)),
        f"pad of images, {_mode}",
        lambda k, x, mode=_mode: k.np.pad(x, ((0, 0), (0, 0), (4, 4), (4, 4)), mode=mode),
        lambda t, x, mode=_torch_mode: t.nn.functional.pad(x, (4, 4, 4, 4), mode=mode),
    )
_add(
    "rearrangements",
    _square,
    "triu",
    lambda k, x: k.np.triu(x, 1),
    lambda t, x: t.triu(x, 1),
)
_add(
    "rearrangements",
    arrays((1000,)),
    "diagonal matrix",
    lambda k, x: k.np.diag(x),
    lambda t, x: t.diag(x),
)
_add(
    "rearrangements",
    arrays((500, 500), (500, 500), (500, 500), (500, 500)),
    "block",
    lambda k, a, b, c, d: k.np.block([[a, b], [c, d]]),
    lambda t, a, b, c, d: t.cat((t.cat((a, b), 1), t.cat((c, d), 1)), 0),
)
_add(
    "rearrangements",
    arrays((1000,), (1000,)),
    "meshgrid",
    lambda k, x, y: sum(k.np.meshgrid(x, y)),
    lambda t, x, y: sum(t.meshgrid(x, y, indexing="xy")),
)
_add(
    "rearrangements",
    _square,
    "windows of 5 in rows",
    lambda k, x: (
        np.lib.stride_tricks.sliding_window_view(x, 5, axis=1).max(-1)
        if k.np is np
        else k.lax.reduce_window(x, -np.inf, k.lax.max, (1, 5), (1, 1), "valid")
    ),
    lambda t, x: t.nn.functional.max_pool1d(x[:, None], 5, 1)[:, 0],
)

# ---- scatters and segments ----

_places = joined(_vector, integers(1_000_000, (100_000,)), arrays((100_000,)))
for _name, _reduce in (("set", None), ("add", "sum"), ("max", "amax"), ("multiply", "prod")):
    _add(
        "updates",
        _places
        if _name != "set"
        else lambda: (
            _vector()[0],
            np.random.default_rng(0).permutation(1_000_000)[:100_000].astype(np.int32),
            arrays((100_000,))()[0],
        ),
        f"scatter: {_name}",
        lambda k, x, i, y, name=_name: getattr(x.at[i], name)(y),
        (
            (lambda t, x, i, y: x.index_put((i,), y))
            if _reduce is None
            else lambda t, x, i, y, reduce=_reduce: x.scatter_reduce(0, i.long(), y, reduce)
        ),
        in_numpy=False,
    )
_add(
    "updates",
    joined(_square, integers(1000, (1000,))),
    "scatter of a column to rows",
    lambda k, x, i: x.at[np.arange(1000), i].set(0),
    lambda t, x, i: x.scatter(1, i.long()[:, None], 0.0),
    in_numpy=False,
)
_add(
    "updates",
    joined(_square, integers(1000, (300,))),
    "columns by indices",
    lambda k, x, i: k.np.take(x, i, axis=1),
    lambda t, x, i: x[:, i],
)
_add(
    "updates",
    joined(_square, integers(1000, (100_000,), (100_000,))),
    "elements by two indices",
    lambda k, x, i, j: x[i, j],
    lambda t, x, i, j: x[i, j],
)
for _name, _reduce in (("max", "amax"), ("min", "amin"), ("prod", "prod")):
    _add(
        "updates",
        lambda: (_vector()[0], np.sort(integers(1000, (1_000_000,))()[0])),
        f"segments: {_name}",
        lambda k, x, i, name=_name: k.segments(f"segment_{name}")(x, i, 1000),
        lambda t, x, i, reduce=_reduce: t.full(
            (1000,), {"amax": -t.inf, "amin": t.inf, "prod": 1.0}[reduce]
        ).scatter_reduce(0, i.long(), x, reduce),
        in_numpy=False,
    )
_add(
    "updates",
    joined(arrays((100_000, 32)), lambda: (np.sort(integers(1000, (100_000,))()[0]),)),
    "segments of rows, sum",
    lambda k, x, i: k.segment_sum(x, i, 1000),
    lambda t, x, i: t.zeros(1000, 32).index_add(0, i, x),
    in_numpy=False,
)
