# SPDX-License-Identifier: Apache-2.0
"""Common operations on arrays, for the comparison of libraries by `peers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operands import arrays, integers, joined
from .operations import Operation, adding_to

COMMON_OPERATIONS: list[Operation] = []


_add = adding_to(COMMON_OPERATIONS)


def _complex() -> tuple[np.ndarray, ...]:
    real, imaginary, *others = arrays(*[(1_000_000,)] * 4)()
    return real + 1j * imaginary, others[0] + 1j * others[1]


_square, _two_squares = arrays((1000, 1000)), arrays(*[(1000, 1000)] * 2)
_whole = integers(1000, (1_000_000,), low=-1000)
_two_whole = integers(1000, *[(1_000_000,)] * 2, low=1)

# ---- products ----

for _name, _formula, _shapes in (
    ("einsum bij,bjk->bik", "bij,bjk->bik", ((64, 128, 64), (64, 64, 128))),
    ("einsum bhid,bhjd->bhij", "bhid,bhjd->bhij", ((8, 8, 128, 32), (8, 8, 128, 32))),
    ("einsum ij,ij->i", "ij,ij->i", ((1000, 1000), (1000, 1000))),
    ("einsum ij,ji->", "ij,ji->", ((1000, 1000), (1000, 1000))),
    ("einsum i,j->ij", "i,j->ij", ((1000,), (1000,))),
):
    _add(
        "products",
        arrays(*_shapes),
        _name,
        lambda k, x, y, formula=_formula: k.np.einsum(formula, x, y),
        lambda t, x, y, formula=_formula: t.einsum(formula, x, y),
    )
_add(
    "products",
    arrays((40, 40), (25, 25)),
    "kron",
    lambda k, x, y: k.np.kron(x, y),
    lambda t, x, y: t.kron(x, y),
)
_add(
    "products",
    arrays((2, 2), (500, 500)),
    "kron of 2x2 and 500x500",
    lambda k, x, y: k.np.kron(x, y),
    lambda t, x, y: t.kron(x, y),
)
_add(
    "products",
    joined(integers(1000, (1024,)), arrays((1000, 256))),
    "product with one_hot",
    lambda k, i, x: k.nn.one_hot(i, 1000) @ x,
    lambda t, i, x: t.nn.functional.one_hot(i.long(), 1000).float() @ x,
    in_numpy=False,
)
_add(
    "products",
    _complex,
    "product of complex numbers",
    lambda k, x, y: x * y,
    lambda t, x, y: x * y,
)
_add(
    "products",
    arrays((500, 500), (500, 500), dtype=np.float16),
    "product of halves",
    lambda k, x, y: x @ y,
    lambda t, x, y: x @ y,
    in_numpy=False,
)

# ---- moving elements ----

_add(
    "moving",
    joined(_square, integers(1000, (1000, 1000))),
    "take_along_axis",
    lambda k, x, i: k.np.take_along_axis(x, i, axis=1),
    lambda t, x, i: t.take_along_dim(x, i.long(), dim=1),
)
_add(
    "moving",
    _square,
    "roll",
    lambda k, x: k.np.roll(x, 17, axis=1),
    lambda t, x: t.roll(x, 17, 1),
)
_add(
    "moving",
    arrays((8, 3, 224, 224)),
    "roll of images",
    lambda k, x: k.np.roll(x, 5, axis=3),
    lambda t, x: t.roll(x, 5, 3),
)
_add(
    "moving",
    _square,
    "pad",
    lambda k, x: k.np.pad(x, 2),
    lambda t, x: t.nn.functional.pad(x, (2, 2, 2, 2)),
)
_add("moving", _square, "tril", lambda k, x: k.np.tril(x), lambda t, x: t.tril(x))
_add(
    "moving",
    _square,
    "repeat",
    lambda k, x: k.np.repeat(x, 2, axis=1),
    lambda t, x: t.repeat_interleave(x, 2, 1),
)
_add(
    "moving",
    joined(integers(10_000, (16, 512)), arrays((10_000, 128))),
    "gradient of an embedding",
    lambda k, i, x: k.grad(lambda x: (x[i] ** 2).sum())(x),
    lambda t, i, x: t.func.grad(lambda x: (t.nn.functional.embedding(i, x) ** 2).sum())(x),
    in_numpy=False,
)

# ---- statistics ----

for _name, _torch in {"nanmean": "nanmean", "var": "var", "argmin": "argmin"}.items():
    for _axis in (0, 1):
        _more = {"correction": 0} if _name == "var" else {}
        _add(
            "statistics",
            _square,
            f"{_name}, axis {_axis}",
            lambda k, x, name=_name, axis=_axis: getattr(k.np, name)(x, axis=axis),
            lambda t, x, name=_torch, axis=_axis, more=_more: getattr(t, name)(x, dim=axis, **more),
        )
for _name in ("any", "all"):
    _add(
        "statistics",
        _square,
        f"{_name} of rows",
        lambda k, x, name=_name: getattr(k.np, name)(x > 3, axis=1),
        lambda t, x, name=_name: getattr(t, name)(x > 3, dim=1),
    )
_add(
    "statistics",
    _square,
    "percentiles of columns",
    lambda k, x: k.np.percentile(x, np.array([10.0, 90.0], np.float32), axis=0),
    lambda t, x: t.quantile(x, t.tensor([0.1, 0.9]), dim=0),
)
_add(
    "statistics",
    joined(arrays((1_000_000,)), lambda: (np.linspace(-3, 3, 101, dtype=np.float32),)),
    "digitize",
    lambda k, x, edges: k.np.digitize(x, edges),
    lambda t, x, edges: t.bucketize(x, edges, right=True),
)
_add(
    "statistics",
    joined(
        arrays((1_000_000,)),
        lambda: (np.linspace(-3, 3, 101, dtype=np.float32),),
        arrays((101,)),
    ),
    "interp",
    lambda k, x, places, values: k.np.interp(x, places, values),
)
_add(
    "statistics",
    arrays((500_000,), (500_000,)),
    "histogram2d",
    lambda k, x, y: k.np.histogram2d(x, y, 50, ((-3, 3), (-3, 3)))[0],
    lambda t, x, y: t.histogramdd(t.stack((x, y), 1), [50, 50], range=[-3.0, 3.0, -3.0, 3.0])[0],
)
_add(
    "statistics",
    integers(1000, (1_000_000,)),
    "unique with counts",
    lambda k, x: k.np.unique(x, return_counts=True),
    lambda t, x: t.unique(x, return_counts=True),
    is_compiled=False,
)

# ---- sorts and scans of other dtypes ----

_add("sorting", _whole, "sort of int32", lambda k, x: k.np.sort(x), lambda t, x: t.sort(x)[0])
_add(
    "sorting",
    arrays((1_000_000,), dtype=np.float16),
    "sort of float16",
    lambda k, x: k.np.sort(x),
    lambda t, x: t.sort(x)[0],
)
_add(
    "sorting",
    _square,
    "sort of columns",
    lambda k, x: k.np.sort(x, axis=0),
    lambda t, x: t.sort(x, dim=0)[0],
)
_add(
    "sorting",
    _square,
    "median of columns",
    lambda k, x: k.np.median(x, axis=0),
    lambda t, x: t.quantile(x, 0.5, dim=0),
)
for _axis in (0, 1):
    _add(
        "scans",
        integers(1000, (1000, 1000)),
        f"cumsum of int32, axis {_axis}",
        lambda k, x, axis=_axis: k.np.cumsum(x, axis=axis, dtype=np.int32),
        lambda t, x, axis=_axis: t.cumsum(x, axis, dtype=t.int32),
    )
    _add(
        "scans",
        arrays((1000, 1000), dtype=np.float64),
        f"cumsum of float64, axis {_axis}",
        lambda k, x, axis=_axis: k.np.cumsum(x, axis=axis),
        lambda t, x, axis=_axis: t.cumsum(x, axis),
        is_wide=True,
    )

# ---- arithmetic ----

_add("arithmetic", _two_whole, "x // y of int32", lambda k, x, y: x // y, lambda t, x, y: x // y)
_add("arithmetic", _two_whole, "x % y of int32", lambda k, x, y: x % y, lambda t, x, y: x % y)
_add("arithmetic", _whole, "x ** 3 of int32", lambda k, x: x**3, lambda t, x: x**3)
_add(
    "arithmetic",
    _two_whole,
    "bitwise operations",
    lambda k, x, y: ((x & y) | (x ^ 7)) << 2,
    lambda t, x, y: ((x & y) | (x ^ 7)) << 2,
)
_add("arithmetic", _two_whole, "bitcount", lambda k, x, y: k.np.bitwise_count(x & y))
_add(
    "arithmetic",
    _two_squares,
    "a chain of where",
    lambda k, x, y: k.np.where(x > 1, y, k.np.where(x > 0, x, k.np.where(y > 0, -x, -y))),
    lambda t, x, y: t.where(x > 1, y, t.where(x > 0, x, t.where(y > 0, -x, -y))),
)
_add(
    "arithmetic",
    arrays((1_000_000,), (1_000_000,), dtype=np.float16),
    "exp(x) * y of float16",
    lambda k, x, y: k.np.exp(x) * y,
    lambda t, x, y: t.exp(x) * y,
)
_add(
    "arithmetic",
    lambda: (arrays((3**5 * 1000,))()[0].astype(np.complex64),),
    "FFT of 243,000",
    lambda k, x: k.np.fft.fft(x),
    lambda t, x: t.fft.fft(x),
    in_numpy=False,
)
_add(
    "arithmetic",
    arrays((1000, 1009)),
    "FFT of rows of 1009",
    lambda k, x: k.np.abs(k.np.fft.rfft(x)),
    lambda t, x: t.fft.rfft(x).abs(),
)

# ---- networks ----

_images = arrays((16, 64, 28, 28))


def _pool(k: Any, x: Any) -> Any:
    return k.lax.reduce_window(x, -np.inf, k.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def _mean_pool(k: Any, x: Any) -> Any:
    sums = k.lax.reduce_window(
        x, np.float32(0), k.lax.add, (1, 1, 3, 3), (1, 1, 1, 1), ((0, 0), (0, 0), (1, 1), (1, 1))
    )
    return sums / 9


for _name, _run, _torch in (
    ("max_pool", _pool, lambda t, x: t.nn.functional.max_pool2d(x, 2)),
    ("avg_pool", _mean_pool, lambda t, x: t.nn.functional.avg_pool2d(x, 3, 1, 1)),
):
    _add("networks", _images, _name, _run, _torch, in_numpy=False)
    _add(
        "networks",
        _images,
        f"gradient of {_name}",
        lambda k, x, run=_run: k.grad(lambda x: (run(k, x) ** 2).sum())(x),
        lambda t, x, run=_torch: t.func.grad(lambda x: (run(t, x) ** 2).sum())(x),
        in_numpy=False,
    )


def _normalized(k: Any, x: Any, axes: tuple[int, ...]) -> Any:
    mean, variance = k.np.mean(x, axes, keepdims=True), k.np.var(x, axes, keepdims=True)
    return (x - mean) / k.np.sqrt(variance + 1e-5)


_add(
    "networks",
    _images,
    "batch norm",
    lambda k, x: _normalized(k, x, (0, 2, 3)),
    lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
)
_add(
    "networks",
    _images,
    "gradient of batch norm",
    lambda k, x: k.grad(lambda x: (_normalized(k, x, (0, 2, 3)) ** 3).sum())(x),
    lambda t, x: t.func.grad(
        lambda x: (t.nn.functional.batch_norm(x, None, None, training=True) ** 3).sum()
    )(x),
    in_numpy=False,
)
_add(
    "networks",
    _images,
    "group norm",
    lambda k, x: _normalized(k, x.reshape(16, 8, 8, 28, 28), (2, 3, 4)).reshape(x.shape),
    lambda t, x: t.nn.functional.group_norm(x, 8),
)
_add(
    "networks",
    _square,
    "log_softmax",
    lambda k, x: k.nn.log_softmax(x),
    lambda t, x: t.log_softmax(x, 1),
    in_numpy=False,
)


def _cross_entropy(k: Any, x: Any, labels: Any) -> Any:
    scores = k.nn.log_softmax(x)
    return -k.np.take_along_axis(scores, labels[:, None], axis=1).mean()


_labeled = joined(_square, integers(1000, (1000,)))
_add(
    "networks",
    _labeled,
    "gradient of cross entropy",
    lambda k, x, labels: k.grad(lambda x: _cross_entropy(k, x, labels))(x),
    lambda t, x, labels: t.func.grad(lambda x: t.nn.functional.cross_entropy(x, labels.long()))(x),
    in_numpy=False,
)
_add(
    "networks",
    joined(arrays((128, 256), (128, 256), (256, 768), (256, 768))),
    "GRU cell",
    lambda k, x, h, w, u: _gru(k.np, k.nn.sigmoid, x @ w, h, h @ u),
    lambda t, x, h, w, u: _gru_in_torch(t, x @ w, h, h @ u),
    in_numpy=False,
)


def _gru(np: Any, sigmoid: Any, inputs: Any, state: Any, recurrent: Any) -> Any:
    (r, z, n), (a, b, c) = np.split(inputs, 3, axis=1), np.split(recurrent, 3, axis=1)
    update = sigmoid(z + b)
    return (1 - update) * np.tanh(n + sigmoid(r + a) * c) + update * state


def _gru_in_torch(t: Any, inputs: Any, state: Any, recurrent: Any) -> Any:
    (r, z, n), (a, b, c) = inputs.chunk(3, 1), recurrent.chunk(3, 1)
    update = t.sigmoid(z + b)
    return (1 - update) * t.tanh(n + t.sigmoid(r + a) * c) + update * state
