# SPDX-License-Identifier: Apache-2.0
"""Operations on large arrays, written as by users of NumPy, PyTorch, JAX and OLYMPUS.

Each operation is a pair of programs: the first uses names that NumPy, SciPy and similar libraries
share; the second uses PyTorch. The results of all libraries are compared. `peers` measures all four
libraries; the workloads of this module compare OLYMPUS with JAX.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .operands import arrays
from .workloads import workload


@dataclasses.dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes:
      name: the name in the tables.
      group: the kind of operation.
      operands: makes the arrays with NumPy.
      run: the operation as a function of a library's names; see `names_of`.
      torch: the operation in PyTorch; None if PyTorch lacks it.
      in_numpy: whether NumPy or SciPy has the operation.
      is_compiled: whether `run` can be compiled by `jit`.
      is_wide: whether the operands have 64 bits.
    """

    name: str
    group: str
    operands: Callable[[], tuple[np.ndarray, ...]]
    run: Callable[..., Any]
    torch: Callable[..., Any] | None
    in_numpy: bool = True
    is_compiled: bool = True
    is_wide: bool = False


def names_of(library: str) -> SimpleNamespace:
    """Returns the names that operations use, from NumPy and SciPy or from a library such as JAX."""
    if library == "numpy":
        special = importlib.import_module("scipy.special")
        return SimpleNamespace(
            np=np,
            special=special,
            softmax=special.softmax,
            permutation=np.random.default_rng(0).permutation,
            running_sum=np.cumsum,
            generator=np.random.default_rng(0),
        )
    top = importlib.import_module(library)
    return SimpleNamespace(
        np=importlib.import_module(f"{library}.numpy"),
        special=importlib.import_module(f"{library}.scipy.special"),
        lax=top.lax,
        nn=top.nn,
        grad=top.grad,
        random=top.random,
        softmax=top.nn.softmax,
        permutation=lambda x: top.random.permutation(top.random.key(0), x),
        running_sum=lambda x: top.lax.associative_scan(lambda a, b: a + b, x),
        segment_sum=importlib.import_module(f"{library}.ops").segment_sum,
        segments=functools.partial(getattr, importlib.import_module(f"{library}.ops")),
        resize=importlib.import_module(f"{library}.image").resize,
        map_coordinates=importlib.import_module(f"{library}.scipy.ndimage").map_coordinates,
    )


OPERATIONS: list[Operation] = []


def adding_to(operations: list[Operation]) -> Callable[..., None]:
    """Returns a function that adds an operation to a list."""

    def add(
        group: str, operands: Any, name: str, run: Any, torch: Any = None, **options: Any
    ) -> None:
        operations.append(Operation(name, group, operands, run, torch, **options))

    return add


_add = adding_to(OPERATIONS)


# ---- operands ----


def _random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


_vector, _rows = arrays((1_000_000,)), arrays((1000, 1000))
_two_vectors = arrays((1_000_000,), (1_000_000,))


def _positive() -> tuple[np.ndarray, ...]:
    return (np.abs(_random(1_000_000)) + np.float32(0.1),)


def _within_one() -> tuple[np.ndarray, ...]:
    return (np.tanh(_random(1_000_000)) * np.float32(0.999),)


def _distinct() -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(0).permutation(1_000_000).astype(np.float32),)


def _labels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 1000, 1_000_000).astype(np.int32)


def _sorted_and_vector() -> tuple[np.ndarray, ...]:
    return np.sort(_random(1_000_000, seed=1)), _random(1_000_000)


def _definite() -> np.ndarray:
    x = _random(500, 500)
    return x @ x.T + 500 * np.eye(500, dtype=np.float32)


# ---- sorting ----

_add("sorting", _vector, "sort", lambda k, x: k.np.sort(x), lambda t, x: t.sort(x)[0])
_add("sorting", _rows, "sort of rows", lambda k, x: k.np.sort(x), lambda t, x: t.sort(x)[0])
_add("sorting", _distinct, "argsort", lambda k, x: k.np.argsort(x), lambda t, x: t.argsort(x))
_add(
    "sorting",
    _vector,
    "median",
    lambda k, x: k.np.median(x),
    lambda t, x: (t.kthvalue(x, 500_000)[0] + t.kthvalue(x, 500_001)[0]) / 2,
)
_add(
    "sorting",
    _rows,
    "median of rows",
    lambda k, x: k.np.median(x, axis=1),
    lambda t, x: t.quantile(x, 0.5, dim=1),
)
_add(
    "sorting",
    _rows,
    "quantile of rows",
    lambda k, x: k.np.quantile(x, 0.9, axis=1),
    lambda t, x: t.quantile(x, 0.9, dim=1),
)
_add(
    "sorting",
    lambda: (_labels(),),
    "unique of small integers",
    lambda k, x: k.np.unique(x),
    lambda t, x: t.unique(x),
    is_compiled=False,
)
_add(
    "sorting",
    _vector,
    "unique",
    lambda k, x: k.np.unique(x),
    lambda t, x: t.unique(x),
    is_compiled=False,
)
_add(
    "sorting",
    lambda: (_distinct()[0], _labels()),
    "lexsort",
    lambda k, x, y: k.np.lexsort((x, y)),
    None,
)
_add(
    "sorting",
    _sorted_and_vector,
    "searchsorted",
    lambda k, x, y: k.np.searchsorted(x, y),
    lambda t, x, y: t.searchsorted(x, y),
)
_add(
    "sorting",
    _rows,
    "top 10 of rows",
    lambda k, x: k.lax.top_k(x, 10)[0],
    lambda t, x: t.topk(x, 10)[0],
    in_numpy=False,
)

# The sum makes the results of all libraries equal.
_add(
    "sorting",
    _vector,
    "permutation",
    lambda k, x: k.permutation(x).sum(),
    lambda t, x: x[t.randperm(x.shape[0])].sum(),
)

# ---- extremes and scans ----

for _name in ("argmax", "argmin"):
    _add(
        "extremes",
        _vector,
        _name,
        lambda k, x, name=_name: getattr(k.np, name)(x),
        lambda t, x, name=_name: getattr(t, name)(x),
    )
    for _axis, _axis_name in ((1, "rows"), (0, "columns")):
        _add(
            "extremes",
            _rows,
            f"{_name} of {_axis_name}",
            lambda k, x, name=_name, axis=_axis: getattr(k.np, name)(x, axis=axis),
            lambda t, x, name=_name, axis=_axis: getattr(t, name)(x, dim=axis),
        )
_add("scans", _vector, "cumsum", lambda k, x: k.np.cumsum(x), lambda t, x: t.cumsum(x, dim=0))
for _axis, _axis_name in ((1, "rows"), (0, "columns")):
    _add(
        "scans",
        _rows,
        f"cumsum of {_axis_name}",
        lambda k, x, axis=_axis: k.np.cumsum(x, axis=axis),
        lambda t, x, axis=_axis: t.cumsum(x, dim=axis),
    )
_add(
    "scans",
    _vector,
    "associative_scan of sums",
    lambda k, x: k.running_sum(x),
    lambda t, x: t.cumsum(x, dim=0),
)
_add(
    "scans",
    _rows,
    "cummax of rows",
    lambda k, x: k.lax.cummax(x, axis=1),
    lambda t, x: t.cummax(x, dim=1)[0],
    in_numpy=False,
)
_add(
    "scans",
    _rows,
    "cumlogsumexp of rows",
    lambda k, x: k.lax.cumlogsumexp(x, axis=1),
    lambda t, x: t.logcumsumexp(x, dim=1),
    in_numpy=False,
)

# ---- elementwise ----

for _name in "exp exp2 expm1 sin cos tan sinh cosh tanh arcsinh arctan abs floor sign".split():
    _add(
        "elementwise",
        _vector if _name not in ("sinh", "cosh") else _within_one,
        _name,
        lambda k, x, name=_name: getattr(k.np, name)(x),
        lambda t, x, name=_name: getattr(t, name)(x),
    )
for _name in ("log", "log1p", "sqrt"):
    _add(
        "elementwise",
        _positive,
        _name,
        lambda k, x, name=_name: getattr(k.np, name)(x),
        lambda t, x, name=_name: getattr(t, name)(x),
    )
for _name in ("arcsin", "arccos", "arctanh"):
    _add(
        "elementwise",
        _within_one,
        _name,
        lambda k, x, name=_name: getattr(k.np, name)(x),
        lambda t, x, name=_name: getattr(t, name)(x),
    )
for _name in ("exp", "sin", "tanh"):
    _add(
        "elementwise",
        lambda: (_random(1_000_000).astype(np.float64),),
        f"{_name} of float64",
        lambda k, x, name=_name: getattr(k.np, name)(x),
        lambda t, x, name=_name: getattr(t, name)(x),
        is_wide=True,
    )
_add("elementwise", _vector, "cbrt", lambda k, x: k.np.cbrt(x), None)
_add(
    "elementwise",
    _two_vectors,
    "arctan2",
    lambda k, x, y: k.np.arctan2(x, y),
    lambda t, x, y: t.atan2(x, y),
)
_add(
    "elementwise",
    lambda: (_positive()[0], _random(1_000_000, seed=1)),
    "power",
    lambda k, x, y: k.np.power(x, y),
    lambda t, x, y: t.pow(x, y),
)
_add(
    "elementwise",
    _two_vectors,
    "x * y + 1",
    lambda k, x, y: x * y + 1,
    lambda t, x, y: x * y + 1,
)
_add(
    "elementwise",
    _two_vectors,
    "where",
    lambda k, x, y: k.np.where(x > y, x, y * 2),
    lambda t, x, y: t.where(x > y, x, y * 2),
)
for _name, _torch in {"erf": "erf", "erfc": "erfc", "expit": "sigmoid"}.items():
    _add(
        "elementwise",
        _vector,
        _name,
        lambda k, x, name=_name: getattr(k.special, name)(x),
        lambda t, x, name=_torch: getattr(t, name)(x),
    )
for _name, _torch in {"gammaln": "lgamma", "digamma": "digamma"}.items():
    _add(
        "elementwise",
        _positive,
        _name,
        lambda k, x, name=_name: getattr(k.special, name)(x),
        lambda t, x, name=_torch: getattr(t, name)(x),
    )
_add(
    "elementwise",
    _within_one,
    "erfinv",
    lambda k, x: k.special.erfinv(x),
    lambda t, x: t.erfinv(x),
)

# ---- reductions ----

for _name, _torch in {"sum": "sum", "max": "amax", "mean": "mean", "std": "std"}.items():
    _more = {"correction": 0} if _name == "std" else {}
    _add(
        "reductions",
        _vector,
        _name,
        lambda k, x, name=_name: getattr(k.np, name)(x),
        lambda t, x, name=_torch, more=_more: getattr(t, name)(x, dim=0, **more),
    )
for _axis, _axis_name in ((1, "rows"), (0, "columns")):
    _add(
        "reductions",
        _rows,
        f"sum of {_axis_name}",
        lambda k, x, axis=_axis: k.np.sum(x, axis=axis),
        lambda t, x, axis=_axis: t.sum(x, dim=axis),
    )
_add(
    "reductions",
    _rows,
    "logsumexp of rows",
    lambda k, x: k.special.logsumexp(x, axis=1),
    lambda t, x: t.logsumexp(x, dim=1),
)
_add(
    "reductions",
    _rows,
    "softmax of rows",
    lambda k, x: k.softmax(x, axis=1),
    lambda t, x: t.softmax(x, dim=1),
)
_add(
    "reductions",
    lambda: (_labels(),),
    "bincount",
    lambda k, x: k.np.bincount(x, **({} if k.np is np else {"length": 1000})),
    lambda t, x: t.bincount(x),
)
_add(
    "reductions",
    _vector,
    "histogram of 100 bins",
    lambda k, x: k.np.histogram(x, bins=100, range=(-5, 5))[0],
    lambda t, x: t.histc(x, bins=100, min=-5, max=5),
)
_add(
    "reductions",
    lambda: (_random(1_000_000), _labels()),
    "sums of 1000 segments",
    lambda k, x, y: (
        np.bincount(y, weights=x, minlength=1000) if k.np is np else k.segment_sum(x, y, 1000)
    ),
    lambda t, x, y: t.zeros(1000).index_add_(0, y, x),
)

# ---- indexing and shapes ----

_add(
    "indexing",
    lambda: (_random(1_000_000), np.random.default_rng(1).permutation(1_000_000).astype(np.int32)),
    "gather",
    lambda k, x, y: x[y],
    lambda t, x, y: x[y],
)
_add(
    "indexing",
    _rows,
    "transposition",
    lambda k, x: k.np.array(x.T, order="C") if k.np is np else x.T,
    lambda t, x: x.T.contiguous(),
)
_add("indexing", _vector, "reversal", lambda k, x: x[::-1] + 0, lambda t, x: t.flip(x, (0,)))
_add(
    "indexing",
    arrays((1000, 500), (1000, 500)),
    "concatenation of rows",
    lambda k, x, y: k.np.concatenate([x, y], axis=1),
    lambda t, x, y: t.cat([x, y], dim=1),
)

# ---- linear algebra ----

_add(
    "linear algebra",
    arrays((1000, 1000), (1000,)),
    "matrix times vector",
    lambda k, x, y: x @ y,
    lambda t, x, y: x @ y,
)
_add(
    "linear algebra",
    arrays((1000, 1000), (1000, 1000)),
    "product of matrices",
    lambda k, x, y: x @ y,
    lambda t, x, y: x @ y,
)
_add(
    "linear algebra",
    arrays((1000, 64, 64), (1000, 64, 64)),
    "product of 1000 of 64x64",
    lambda k, x, y: x @ y,
    lambda t, x, y: x @ y,
)
_add(
    "linear algebra",
    arrays((5000, 8, 8)),
    "determinant of 5000 of 8x8",
    lambda k, x: k.np.linalg.det(x),
    lambda t, x: t.linalg.det(x),
)
_add(
    "linear algebra",
    lambda: (_definite(), _random(500)),
    "solve 500x500",
    lambda k, x, y: k.np.linalg.solve(x, y),
    lambda t, x, y: t.linalg.solve(x, y),
)
_add(
    "linear algebra",
    lambda: (_definite(),),
    "Cholesky factor of 500x500",
    lambda k, x: k.np.linalg.cholesky(x),
    lambda t, x: t.linalg.cholesky(x),
)
_add(
    "linear algebra",
    lambda: (_definite()[:200, :200],),
    "eigenvalues of 200x200, symmetric",
    lambda k, x: k.np.linalg.eigvalsh(x),
    lambda t, x: t.linalg.eigvalsh(x),
)
_add(
    "linear algebra",
    arrays((2**18,)),
    "FFT of 2^18",
    lambda k, x: k.np.abs(k.np.fft.fft(x)),
    lambda t, x: t.abs(t.fft.fft(x)),
)

# ---- networks ----


def _convolution(k: Any, x: Any, w: Any, groups: int = 1, pad: int = 1) -> Any:
    return k.lax.conv_general_dilated(x, w, (1, 1), ((pad, pad),) * 2, feature_group_count=groups)


def _convolution_in_torch(t: Any, x: Any, w: Any, groups: int = 1, pad: int = 1) -> Any:
    return t.nn.functional.conv2d(x, w, padding=pad, groups=groups)


_images = (8, 32, 56, 56)
_add(
    "networks",
    arrays(_images, (64, 32, 3, 3)),
    "convolution",
    _convolution,
    _convolution_in_torch,
    in_numpy=False,
)
_add(
    "networks",
    arrays(_images, (64, 32, 3, 3)),
    "gradient of a convolution",
    lambda k, x, w: k.grad(lambda x, w: (_convolution(k, x, w) ** 2).sum(), (0, 1))(x, w)[0],
    lambda t, x, w: t.func.grad(lambda x, w: (_convolution_in_torch(t, x, w) ** 2).sum(), (0, 1))(
        x, w
    )[0],
    in_numpy=False,
)
_add(
    "networks",
    arrays(_images, (32, 1, 3, 3)),
    "depthwise convolution",
    lambda k, x, w: _convolution(k, x, w, 32),
    lambda t, x, w: _convolution_in_torch(t, x, w, 32),
    in_numpy=False,
)
_add(
    "networks",
    arrays(_images, (64, 8, 3, 3)),
    "convolution in 4 groups",
    lambda k, x, w: _convolution(k, x, w, 4),
    lambda t, x, w: _convolution_in_torch(t, x, w, 4),
    in_numpy=False,
)
_add(
    "networks",
    arrays(_images, (64, 32, 1, 1)),
    "pointwise convolution",
    lambda k, x, w: _convolution(k, x, w, pad=0),
    lambda t, x, w: _convolution_in_torch(t, x, w, pad=0),
    in_numpy=False,
)
_add(
    "networks",
    arrays((1_000_000,), (31,)),
    "convolve with 31 weights",
    lambda k, x, w: k.np.convolve(x, w, mode="valid"),
    lambda t, x, w: t.nn.functional.conv1d(x[None, None], w.flip(0)[None, None])[0, 0],
)
_add(
    "networks",
    arrays(*[(4, 256, 8, 64)] * 3),
    "attention",
    lambda k, q, key, v: k.nn.dot_product_attention(q, key, v),
    lambda t, q, key, v: t.nn.functional.scaled_dot_product_attention(
        *(each.transpose(1, 2) for each in (q, key, v))
    ).transpose(1, 2),
    in_numpy=False,
)


def _layer_norm(k: Any, x: Any) -> Any:
    mean, variance = k.np.mean(x, axis=1, keepdims=True), k.np.var(x, axis=1, keepdims=True)
    return (x - mean) / k.np.sqrt(variance + 1e-5)


_add(
    "networks",
    _rows,
    "layer norm",
    _layer_norm,
    lambda t, x: t.nn.functional.layer_norm(x, (1000,)),
)
_add(
    "networks",
    _rows,
    "gelu",
    lambda k, x: k.nn.gelu(x, approximate=False),
    lambda t, x: t.nn.functional.gelu(x),
    in_numpy=False,
)


# ---- odd lengths ----

_odd_vector = arrays((999_999,))


def _halves() -> tuple[np.ndarray, ...]:
    return (_random(999_999).astype(np.float16),)


_add(
    "odd lengths",
    _odd_vector,
    "x * 2 of 999,999",
    lambda k, x: x * 2,
    lambda t, x: x * 2,
)
_add(
    "odd lengths",
    _halves,
    "x * 2 of 999,999 halves",
    lambda k, x: x * 2,
    lambda t, x: x * 2,
)
_add(
    "odd lengths",
    _odd_vector,
    "x > 0 of 999,999",
    lambda k, x: x > 0,
    lambda t, x: x > 0,
)
_add(
    "odd lengths",
    _odd_vector,
    "exp(x) + 1 of 999,999",
    lambda k, x: k.np.exp(x) + 1,
    lambda t, x: t.exp(x) + 1,
)
_add(
    "odd lengths",
    _vector,
    "differences of neighbors",
    lambda k, x: k.np.diff(x),
    lambda t, x: t.diff(x),
)
_add(
    "odd lengths",
    arrays((999, 1001)),
    "x * 2 of 999x1001",
    lambda k, x: x * 2,
    lambda t, x: x * 2,
)


# ---- beside JAX ----


# The lowerings for CPUs that the benchmarks guard, and the groups of these operations.
_GUARDED = {"sorting", "extremes", "scans", "networks", "odd lengths"}


def _define(operation: Operation) -> None:
    @workload(f"{operation.name}, large arrays", operation.group, short=operation.name == "sin")
    def _(lib: Any) -> Callable[[], Any]:
        names = names_of(lib.top.__name__)
        arrays = [lib.np.asarray(operand) for operand in operation.operands()]
        run = lambda *xs: operation.run(names, *xs)  # noqa: E731
        run = lib.top.jit(run) if operation.is_compiled else run
        return lambda: lib.top.block_until_ready(run(*arrays))


for _operation in OPERATIONS:
    if _operation.is_wide:
        continue
    if _operation.group in _GUARDED or _operation.name in ("sin", "arcsin", "arctan2"):
        _define(_operation)
