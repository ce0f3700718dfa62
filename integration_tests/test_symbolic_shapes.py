# SPDX-License-Identifier: Apache-2.0
"""Programs of NumPy's interface with symbolic shapes, against JAX's result types and themselves.

The types of results are what JAX 0.10.2 infers. Values are those of the function of arrays.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import export, lax


class Case(NamedTuple):
    """A function, the shapes of its arguments, symbolic and not, and the types of its results."""

    name: str
    function: Any
    specs: list[str]
    shapes: list[tuple]
    results: str
    dtypes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


CASES = [
    Case(
        "sum",
        lambda x: (x.sum(), x.sum(0), x.max(1), x.mean(), x.mean(0), x.prod()),
        ["a,b"],
        [(2, 3)],
        "float32[]; float32[b]; float32[a]; float32[]; float32[b]; float32[]",
    ),
    Case("reshape-1", lambda x: x.reshape(-1), ["a,b"], [(2, 3)], "float32[a*b]"),
    Case("reshape2", lambda x: x.reshape(x.shape[0] * 2, -1), ["a,4"], [(2, 4)], "float32[2*a,2]"),
    Case(
        "reshape4",
        lambda x: jnp.reshape(x, (x.shape[1], x.shape[0])),
        ["a,b"],
        [(4, 3)],
        "float32[b,a]",
    ),
    Case("ravel", lambda x: x.ravel(), ["a,b"], [(4, 3)], "float32[a*b]"),
    Case(
        "bcast",
        lambda x: jnp.broadcast_to(x, (3, *x.shape)) + x,
        ["a,b"],
        [(4, 3)],
        "float32[3,a,b]",
    ),
    Case("add", lambda x, y: x + y, ["a,b", "b"], [(4, 3), (3,)], "float32[a,b]"),
    Case("add1", lambda x, y: x + y, ["a,1", "b"], [(4, 1), (3,)], "float32[a,b]"),
    Case("outer", lambda x, y: x[:, None] * y[None], ["a", "b"], [(4,), (3,)], "float32[a,b]"),
    Case("arange", lambda x: jnp.arange(x.shape[0]) + x, ["a"], [(4,)], "float32[a]"),
    Case("arange2", lambda x: jnp.arange(2, x.shape[0] * 3, 3), ["a"], [(4,)], "int32[a]"),
    Case("iota", lambda x: lax.iota(jnp.int32, x.shape[0]), ["a"], [(4,)], "int32[a]"),
    Case("zeros", lambda x: jnp.zeros((x.shape[0] + 1, 2)), ["a"], [(4,)], "float32[a + 1,2]"),
    Case("full", lambda x: jnp.full((x.shape[0],), x.shape[0]), ["a"], [(4,)], "~int32[a]"),
    Case("eye", lambda x: jnp.eye(x.shape[0]), ["a"], [(4,)], "float32[a,a]"),
    Case("tri", lambda x: jnp.tril(x), ["a,b"], [(4, 3)], "float32[a,b]"),
    Case("idx0", lambda x: x[0], ["a,b"], [(4, 2)], "float32[b]"),
    Case("idx-1", lambda x: x[-1], ["a,b"], [(4, 2)], "float32[b]"),
    Case("idx:,0", lambda x: x[:, 0], ["a,b"], [(4, 2)], "float32[a]"),
    Case("idx1:", lambda x: x[1:], ["a,b"], [(4, 2)], "float32[a - 1,b]"),
    Case("idx:-1", lambda x: x[:-1], ["a,b"], [(4, 2)], "float32[a - 1,b]"),
    Case("idx:2", lambda x: x[:2], ["a,b"], [(4, 2)], "float32[2,b]", constraints=("a>=2",)),
    Case("idx::2", lambda x: x[::2], ["a,b"], [(5, 2)], "float32[floordiv(a + 1, 2),b]"),
    Case("idx::-1", lambda x: x[::-1], ["a,b"], [(5, 2)], "float32[a,b]"),
    Case(
        "idx half", lambda x: x[: x.shape[0] // 2], ["a,b"], [(5, 2)], "float32[floordiv(a, 2),b]"
    ),
    Case(
        "idx half2",
        lambda x: x[x.shape[0] // 2 :],
        ["a,b"],
        [(5, 2)],
        "float32[- floordiv(a, 2) + a,b]",
    ),
    Case(
        "idx arr",
        lambda x, i: x[i],
        ["a,b", "c"],
        [(5, 2), (3,)],
        "float32[c,b]",
        dtypes=("float32", "int32"),
    ),
    Case(
        "idx dyn",
        lambda x, i: x[i],
        ["a,b", ""],
        [(5, 2), ()],
        "float32[b]",
        dtypes=("float32", "int32"),
    ),
    Case("idx mask", lambda x: jnp.where(x > 0, x, 0.0), ["a,b"], [(5, 2)], "float32[a,b]"),
    Case(
        "take",
        lambda x, i: jnp.take(x, i, axis=0),
        ["a,b", "c"],
        [(5, 2), (3,)],
        "float32[c,b]",
        dtypes=("float32", "int32"),
    ),
    Case("at", lambda x: x.at[0].set(1.0), ["a,b"], [(5, 2)], "float32[a,b]"),
    Case(
        "at2",
        lambda x: x.at[:, 1].add(1.0),
        ["a,b"],
        [(5, 2)],
        "float32[a,b]",
        constraints=("b>=2",),
    ),
    Case("at3", lambda x: x.at[-1].mul(2.0), ["a,b"], [(5, 2)], "float32[a,b]"),
    Case(
        "dynslice",
        lambda x, i: lax.dynamic_slice(x, (i, 0), (2, x.shape[1])),
        ["a,b", ""],
        [(5, 2), ()],
        "float32[2,b]",
        dtypes=("float32", "int32"),
        constraints=("a>=2",),
    ),
    Case(
        "dus",
        lambda x, y: lax.dynamic_update_slice(x, y, (0, 0)),
        ["a,b", "c,b"],
        [(5, 2), (3, 2)],
        "float32[a,b]",
        constraints=("a>=c",),
    ),
    Case(
        "slice", lambda x: lax.slice(x, (0, 0), (x.shape[0], 1)), ["a,b"], [(5, 2)], "float32[a,1]"
    ),
    Case(
        "concat",
        lambda x, y: jnp.concatenate([x, y]),
        ["a,b", "c,b"],
        [(5, 2), (3, 2)],
        "float32[c + a,b]",
    ),
    Case("stack", lambda x: jnp.stack([x, x], 1), ["a,b"], [(5, 2)], "float32[a,2,b]"),
    Case("split", lambda x: jnp.split(x, 2), ["2*a,b"], [(4, 2)], "float32[a,b]; float32[a,b]"),
    Case("tile", lambda x: jnp.tile(x, (2, 1)), ["a,b"], [(4, 2)], "float32[2*a,b]"),
    Case("tile2", lambda x: jnp.tile(x, (x.shape[1], 1)), ["a,b"], [(4, 2)], "float32[a*b,b]"),
    Case(
        "repeat2", lambda x: jnp.repeat(x, x.shape[1], axis=0), ["a,b"], [(4, 2)], "float32[a*b,b]"
    ),
    Case("pad", lambda x: jnp.pad(x, ((1, 2), (0, 3))), ["a,b"], [(4, 2)], "float32[a + 3,b + 3]"),
    Case(
        "reflect",
        lambda x: jnp.pad(x, ((0, 0), (1, 2)), mode="reflect"),
        ["a,3"],
        [(4, 3)],
        "float32[a,6]",
    ),
    Case("roll", lambda x: jnp.roll(x, 1, 0), ["a,b"], [(4, 2)], "float32[a,b]"),
    Case("flip", lambda x: jnp.flip(x, 0), ["a,b"], [(4, 2)], "float32[a,b]"),
    Case("transpose", lambda x: x.T, ["a,b"], [(4, 2)], "float32[b,a]"),
    Case("matmul", lambda x, y: x @ y, ["a,b", "b,c"], [(4, 2), (2, 3)], "float32[a,c]"),
    Case(
        "einsum",
        lambda x, y: jnp.einsum("ij,jk->ik", x, y),
        ["a,b", "b,c"],
        [(4, 2), (2, 3)],
        "float32[a,c]",
    ),
    Case(
        "einsum3",
        lambda x, y, z: jnp.einsum("ij,jk,kl->il", x, y, z),
        ["a,b", "b,c", "c,d"],
        [(4, 2), (2, 3), (3, 5)],
        "float32[a,d]",
    ),
    Case("einsum4", lambda x: jnp.einsum("...i->...", x), ["a,b"], [(4, 2)], "float32[a]"),
    Case("dot", lambda x, y: jnp.dot(x, y), ["a", "a"], [(4,), (4,)], "float32[]"),
    Case("cumsum", lambda x: jnp.cumsum(x, 0), ["a,b"], [(4, 2)], "float32[a,b]"),
    Case("cumlogsumexp", lambda x: lax.cumlogsumexp(x, 0), ["a,b"], [(4, 2)], "float32[a,b]"),
    Case("sort", lambda x: jnp.sort(x, 0), ["a,b"], [(4, 2)], "float32[a,b]"),
    Case("argmax", lambda x: jnp.argmax(x, 0), ["a,b"], [(4, 2)], "int32[b]"),
    Case(
        "topk",
        lambda x: lax.top_k(x, 2),
        ["a,b"],
        [(4, 3)],
        "float32[a,2]; int32[a,2]",
        constraints=("b>=2",),
    ),
    Case("softmax", lambda x: olympus.nn.softmax(x), ["a,b"], [(4, 3)], "float32[a,b]"),
    Case(
        "onehot",
        lambda x: olympus.nn.one_hot(x, 5),
        ["a"],
        [(4,)],
        "float32[a,5]",
        dtypes=("int32",),
    ),
    Case(
        "onehot2",
        lambda x, y: olympus.nn.one_hot(x, y.shape[0]),
        ["a", "b"],
        [(4,), (3,)],
        "float32[a,b]",
        dtypes=("int32", "float32"),
    ),
    Case("var", lambda x: (x.var(), x.std(0)), ["a,b"], [(4, 3)], "float32[]; float32[b]"),
    Case("median", lambda x: jnp.median(x), ["a"], [(4,)], "float32[]"),
    Case(
        "layernorm",
        lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-05),
        ["a,b"],
        [(4, 3)],
        "float32[a,b]",
    ),
    Case(
        "scan",
        lambda x: lax.scan(lambda c, y: (c + y, c * 2), 0.0, x),
        ["a"],
        [(4,)],
        "float32[]; ~float32[a]",
    ),
    Case(
        "while",
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x)),
        ["a"],
        [(4,)],
        "~int32[]; float32[a]",
    ),
    Case(
        "cond",
        lambda x: lax.cond(x.sum() > 0, lambda y: y, lambda y: -y, x),
        ["a"],
        [(4,)],
        "float32[a]",
    ),
    Case(
        "vmap",
        lambda x: olympus.vmap(lambda y: jnp.sin(y).sum())(x),
        ["a,b"],
        [(4, 2)],
        "float32[a]",
    ),
    Case(
        "vmap idx",
        lambda x, i: olympus.vmap(lambda u, j: u[j])(x, i),
        ["a,b", "a"],
        [(4, 2), (4,)],
        "float32[a]",
        dtypes=("float32", "int32"),
    ),
    Case(
        "vmap dynslice",
        lambda x, i: olympus.vmap(lambda u, j: lax.dynamic_slice(u, (j,), (2,)))(x, i),
        ["a,b", "a"],
        [(4, 2), (4,)],
        "float32[a,2]",
        dtypes=("float32", "int32"),
        constraints=("b>=2",),
    ),
    Case(
        "grad",
        lambda x: olympus.grad(lambda y: (jnp.sin(y) ** 2).sum())(x),
        ["a,b"],
        [(4, 2)],
        "float32[a,b]",
    ),
    Case(
        "grad mean",
        lambda x: olympus.grad(lambda y: (y**2).mean())(x),
        ["a,b"],
        [(4, 2)],
        "float32[a,b]",
    ),
    Case(
        "grad idx",
        lambda x: olympus.grad(lambda u: (u[1:] * u[:-1]).sum())(x),
        ["a"],
        [(4,)],
        "float32[a]",
    ),
    Case(
        "grad cumsum",
        lambda x: olympus.grad(lambda u: (jnp.cumsum(u) ** 2).sum())(x),
        ["a"],
        [(4,)],
        "float32[a]",
    ),
    Case(
        "grad softmax",
        lambda x: olympus.grad(lambda u: (olympus.nn.softmax(u) ** 2).sum())(x),
        ["a,b"],
        [(4, 2)],
        "float32[a,b]",
    ),
    Case(
        "grad max",
        lambda x: olympus.grad(lambda u: u.max(0).sum())(x),
        ["a,b"],
        [(4, 2)],
        "float32[a,b]",
    ),
    Case(
        "jvp",
        lambda x: olympus.jvp(jnp.sin, (x,), (x,)),
        ["a,b"],
        [(4, 2)],
        "float32[a,b]; float32[a,b]",
    ),
    Case(
        "jit inner",
        lambda x: (
            olympus.jit(lambda y: y * y.shape[0])(x) + olympus.jit(lambda y: y.reshape(-1).sum())(x)
        ),
        ["a,b"],
        [(4, 2)],
        "float32[a,b]",
    ),
    Case(
        "remat",
        lambda x: olympus.grad(
            lambda y: olympus.checkpoint(lambda u: jnp.sin(jnp.sin(u)))(y).sum()
        )(x),
        ["a"],
        [(4,)],
        "float32[a]",
    ),
    Case(
        "conv",
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME"),
        ["n,3,h,w", "4,3,3,3"],
        [(2, 3, 8, 8), (4, 3, 3, 3)],
        "float32[n,4,h,w]",
        constraints=("h>=3", "w>=3"),
    ),
    Case(
        "maxpool",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        ["n,h,w,c"],
        [(2, 8, 8, 3)],
        "float32[n,floordiv(h - 2, 2) + 1,floordiv(w - 2, 2) + 1,c]",
        constraints=("h>=2", "w>=2"),
    ),
    Case(
        "dim arr",
        lambda x: jnp.array(x.shape[0]) + jnp.asarray(x.shape[1]),
        ["a,b"],
        [(4, 2)],
        "~int32[]",
    ),
    Case("dim out", lambda x: (x.shape[0], x.size), ["a,b"], [(4, 2)], "~int32[]; ~int32[]"),
    Case(
        "dim ops",
        lambda x: jnp.array(
            [
                x.shape[0] // 3,
                x.shape[0] % 3,
                -x.shape[0] // 3,
                -x.shape[0] % 3,
                x.shape[0] * x.shape[1] - 7,
            ]
        ),
        ["a,b"],
        [(4, 2)],
        "int32[5]",
    ),
    Case(
        "attention",
        lambda q, k, v: (
            olympus.nn.softmax(
                jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(q.shape[-1]).astype(q.dtype)
            )
            @ v
        ),
        ["b,q,8", "b,k,8", "b,k,8"],
        [(2, 3, 8), (2, 5, 8), (2, 5, 8)],
        "float32[b,q,8]",
    ),
    Case(
        "causal",
        lambda x: jnp.where(jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool)), x, -1000000000.0),
        ["a,a"],
        [(4, 4)],
        "float32[a,a]",
    ),
    Case("diff", lambda x: jnp.diff(x), ["a"], [(4,)], "float32[a - 1]"),
    Case("trace", lambda x: jnp.trace(x), ["a,a"], [(4, 4)], "float32[]"),
    Case(
        "segsum",
        lambda x, i: olympus.ops.segment_sum(x, i, 3),
        ["a", "a"],
        [(4,), (4,)],
        "float32[3]",
        dtypes=("float32", "int32"),
    ),
    Case(
        "histo bincount",
        lambda i: jnp.bincount(i, length=5),
        ["a"],
        [(4,)],
        "int32[5]",
        dtypes=("int32",),
    ),
    Case("fft", lambda x: jnp.fft.fft(x).real, ["a,4"], [(4, 4)], "float32[a,4]"),
    Case(
        "rng uniform",
        lambda k, x: olympus.random.uniform(olympus.random.wrap_key_data(k), x.shape),
        ["2", "a,b"],
        [(2,), (4, 2)],
        "float32[a,b]",
        dtypes=("uint32", "float32"),
    ),
    Case(
        "bool reduce",
        lambda x: (jnp.any(x > 0), jnp.all(x > 0, axis=0)),
        ["a,b"],
        [(4, 2)],
        "bool[]; bool[b]",
    ),
    Case(
        "mlp grad",
        lambda x, w1, w2: olympus.grad(lambda w: (olympus.nn.relu(x @ w) @ w2).mean())(w1),
        ["b,4", "4,8", "8,2"],
        [(3, 4), (4, 8), (8, 2)],
        "float32[4,8]",
    ),
    Case(
        "resize",
        lambda x: olympus.image.resize(x, (8, 8), "nearest"),
        ["h,w"],
        [(4, 4)],
        "float32[8,8]",
    ),
    Case("unique", lambda x: jnp.unique(x, size=3), ["a"], [(5,)], "float32[3]"),
    Case("nonzero", lambda x: jnp.nonzero(x > 0, size=x.shape[0]), ["a"], [(5,)], "int32[a]"),
    Case(
        "argpart",
        lambda x: jnp.sort(jnp.partition(x, 2)),
        ["a"],
        [(5,)],
        "float32[a]",
        constraints=("a>=3",),
    ),
    Case("quantile", lambda x: jnp.quantile(x, 0.5), ["a"], [(5,)], "float32[]"),
    # Slices with bounds and steps that are symbolic, or not known to lie in the array.
    Case("idx1", lambda x: (x[1], x[5]), ["a,b"], [(6, 2)], "float32[b]; float32[b]"),
    Case("idx1far", lambda x: x[5], ["a,b"], [(3, 2)], "float32[b]"),
    Case(
        "slices",
        lambda x, y: (x[: y.shape[0] : 2], x[2::-1], x[-4:], x[:0], x[:: y.shape[0]]),
        ["a", "b"],
        [(5,), (3,)],
        "float32[floordiv(min(a, b) + 1, 2)]; float32[min(a - 1, 2) + 1]; "
        "float32[- max(0, a - 4) + a]; float32[0]; float32[floordiv(b + a - 1, b)]",
    ),
    Case(
        "slices-small",
        lambda x, y: (x[: y.shape[0] : 2], x[2::-1], x[-4:], x[:: y.shape[0]]),
        ["a", "b"],
        [(1,), (4,)],
        "float32[floordiv(min(a, b) + 1, 2)]; float32[min(a - 1, 2) + 1]; "
        "float32[- max(0, a - 4) + a]; float32[floordiv(b + a - 1, b)]",
    ),
    Case(
        "slices-mixed",
        lambda x, y: x[np.array([0, 1]), : y.shape[0] : 2],
        ["2, a", "b"],
        [(2, 5), (3,)],
        "float32[2,floordiv(min(a, b) + 1, 2)]",
    ),
    Case(
        "arange-steps",
        lambda x: (jnp.arange(0, x.shape[0] - 3, 2), jnp.arange(10, 0, -x.shape[0])),
        ["a"],
        [(6,)],
        "int32[floordiv(max(0, a - 2), 2)]; int32[floordiv(a + 9, a)]",
    ),
    # Windows, of which none may fit.
    Case(
        "windows",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (4,), (2,), "VALID"),
        ["a"],
        [(3,)],
        "float32[max(floordiv(a - 4, 2) + 1, 0)]",
    ),
    Case(
        "dynamic",
        lambda x: lax.dynamic_slice(x, (-1,), (x.shape[0] - 1,)),
        ["a"],
        [(4,)],
        "float32[a - 1]",
    ),
    Case(
        "split",
        lambda x: jnp.split(x, (x.shape[0] - 2,)),
        ["a + 4"],
        [(9,)],
        "float32[a + 2]; float32[2]",
    ),
    Case(
        "diagonal",
        lambda x: (jnp.diagonal(x), jnp.trace(x)),
        ["a, a"],
        [(3, 3)],
        "float32[a]; float32[]",
    ),
    Case("tril-k", lambda x: jnp.tril(x, x.shape[1] - 3), ["a,b"], [(3, 4)], "float32[a,b]"),
    Case("pad-all", lambda x: jnp.pad(x, x.shape[0]), ["a,b"], [(3, 4)], "float32[3*a,b + 2*a]"),
    Case(
        "ramp",
        lambda x: jnp.pad(x, (x.shape[0], 1), mode="linear_ramp"),
        ["a"],
        [(3,)],
        "float32[2*a + 1]",
    ),
    Case("is-in", lambda x, y: jnp.isin(x, y), ["a", "b"], [(3,), (2,)], "bool[a]"),
    Case(
        "segments",
        lambda x, y: olympus.ops.segment_sum(x, jnp.zeros(x.shape[0], int), y.shape[0]),
        ["a", "b"],
        [(3,), (2,)],
        "float32[b]",
    ),
    Case(
        "solve",
        lambda x: jnp.linalg.solve(x + 4 * jnp.eye(x.shape[0]), x),
        ["a,a"],
        [(3, 3)],
        "float32[a,a]",
    ),
    Case("determinant", jnp.linalg.det, ["a,a"], [(3, 3)], "float32[]"),
    Case(
        "singular",
        lambda x: jnp.linalg.svd(x, compute_uv=False),
        ["a,b"],
        [(3, 4)],
        "float32[min(a, b)]",
    ),
    Case(
        "q",
        lambda x: jnp.abs(jnp.linalg.qr(x)[0]),
        ["a,b"],
        [(4, 3)],
        "float32[a,b]",
        constraints=("b <= a",),
    ),
    Case(
        "fold-in",
        lambda x: (
            x[0]
            + olympus.random.key_data(
                olympus.random.fold_in(olympus.random.key(0), x.shape[0])
            ).astype("float32")
        ),
        ["a,2"],
        [(3, 2)],
        "float32[2]",
    ),
    Case(
        "even",
        lambda x: x.reshape(2, -1),
        ["a"],
        [(4,)],
        "float32[2,floordiv(a, 2)]",
        constraints=("mod(a, 2) == 0",),
    ),
    Case(
        "two-slices",
        lambda x, y: x[: y.shape[0]] + y[2:],
        ["a", "b"],
        [(3,), (5,)],
        "float32[b - 2]",
        constraints=("b >= 2", "min(a, b) == b - 2"),
    ),
    Case(
        "numpy-indices",
        lambda x: (x[np.array([0, -1])], x.at[np.array([-1])].set(1)),
        ["a,2"],
        [(3, 2)],
        "float32[2,2]; float32[a,2]",
    ),
    Case("fftfreq", lambda x: jnp.fft.fftfreq(x.shape[0], 2.0), ["a"], [(5,)], "float32[a]"),
    Case(
        "rfftfreq",
        lambda x: jnp.fft.rfftfreq(x.shape[0]),
        ["a"],
        [(4,)],
        "float32[floordiv(a, 2) + 1]",
    ),
    Case("fft-length", lambda x: jnp.fft.fft(x, n=4).real, ["a"], [(3,)], "float32[4]"),
    Case("irfft-length", lambda x: jnp.fft.irfft(x, n=4), ["a"], [(5,)], "float32[4]"),
    Case(
        "triangles",
        lambda x: (*jnp.tril_indices(x.shape[0]), *jnp.triu_indices(x.shape[0])),
        ["a"],
        [(3,)],
        "; ".join(["int32[floordiv(a^2 + a, 2)]"] * 4),
    ),
    Case(
        "wide-triangle",
        lambda x: jnp.triu_indices_from(x, 1)[0],
        ["a,2"],
        [(3, 2)],
        "int32[1]",
    ),
    Case(
        "unravel",
        lambda x: jnp.unravel_index(jnp.arange(4), x.shape),
        ["a,2"],
        [(3, 2)],
        "int32[4]; int32[4]",
    ),
    Case(
        "packbits",
        lambda x: jnp.packbits(x > 0, axis=1),
        ["2,a"],
        [(2, 16)],
        "uint8[2,floordiv(a + 7, 8)]",
    ),
    Case(
        "resize",
        lambda x: (jnp.resize(x, 5), jnp.resize(x, (2, x.shape[0]))),
        ["a"],
        [(3,)],
        "float32[5]; float32[2,a]",
    ),
    Case(
        "toeplitz",
        lambda x: (
            olympus.scipy.linalg.toeplitz(x),
            olympus.scipy.linalg.hilbert(x.shape[0]),
        ),
        ["a"],
        [(3,)],
        "float32[a,a]; float32[a,a]",
    ),
    Case("sem", lambda x: olympus.scipy.stats.sem(x), ["a,2"], [(3, 2)], "float32[2]"),
    Case(
        "bits-twice",
        lambda x: (
            x,
            olympus.random.bits(olympus.random.split(olympus.random.key(0))[0], (2,)),
            olympus.random.choice(olympus.random.key(0), x, (2,)),
        ),
        ["a"],
        [(3,)],
        "float32[a]; uint32[2]; float32[2]",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_jax_and_concrete_shapes(case):
    rng = np.random.default_rng(0)
    args = []
    for position, shape in enumerate(case.shapes):
        dtype = np.dtype(case.dtypes[position] if case.dtypes else "float32")
        drawn = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
        args.append(np.asarray(drawn, dtype))
    specs = export.symbolic_args_specs(tuple(args), tuple(case.specs), case.constraints)
    exported = export.export(olympus.jit(case.function))(*specs)
    assert "; ".join(map(str, exported.out_avals)) == case.results
    found = olympus.tree.leaves(exported.call(*args))
    expected = olympus.tree.leaves(olympus.jit(case.function)(*args))
    for left, right in zip(found, expected, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)
