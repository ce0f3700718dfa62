# SPDX-License-Identifier: Apache-2.0
"""Further gradients of unrolled code: networks of differing shapes, and recursions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .unrolled import Program, normal, program


@program("20 log-Sinkhorn iterations")
def _(lib: Any) -> Program:
    jnp, logsumexp = lib.np, lib.nn.logsumexp

    def f(C):
        K = -2.0 * C
        u = jnp.zeros(20)
        for _ in range(20):
            v = -logsumexp(K + u[:, None], axis=0)
            u = -logsumexp(K + v, axis=1)
        return jnp.sum(jnp.exp(K + u[:, None] + v) * C)

    return lib.top.grad(f), (np.abs(normal(20, 20)),)


@program("MLP-mixer of 8 widths")
def _(lib: Any) -> Program:
    jnp = lib.np

    def normalized(x):
        center = x - x.mean(-1, keepdims=True)
        return center / jnp.sqrt((center**2).mean(-1, keepdims=True) + 1e-5)

    def f(layers, x):
        for tokens, channels, widen in layers:
            y = jnp.swapaxes(normalized(x), 1, 2)
            y = lib.nn.gelu(y @ tokens[0]) @ tokens[1]
            x = x + jnp.swapaxes(y, 1, 2)
            x = x + lib.nn.gelu(normalized(x) @ channels[0]) @ channels[1]
            x = x @ widen
        return (x**2).mean()

    def pair(size, hidden):
        return normal(size, hidden, scale=0.2), normal(hidden, size, scale=0.2)

    widths = [16 + 4 * i for i in range(9)]
    layers = [
        (pair(8, 16 + 2 * i), pair(m, 2 * m), normal(m, n, scale=0.2))
        for i, (m, n) in enumerate(itertools.pairwise(widths))
    ]
    return lib.top.grad(f), (layers, normal(4, 8, 16))


@program("16 densely connected layers")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(ws, x):
        for w in ws:
            x = jnp.concatenate([x, lib.nn.relu(x @ w) * 0.5 + jnp.tanh(x @ w)], 1)
        return (x**2).sum()

    ws = [normal(8 + 4 * i, 4, scale=0.3) for i in range(16)]
    return lib.top.grad(f), (ws, normal(16, 8))


@program("U-Net of four widths")
def _(lib: Any) -> Program:
    jnp, lax = lib.np, lib.lax

    def convolved(x, w):
        layout = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout)

    def f(down, up, x):
        kept = []
        for first, second in down:
            x = lib.nn.relu(convolved(lib.nn.relu(convolved(x, first)), second))
            kept.append(x)
            n, h, w, c = x.shape
            x = x.reshape(n, h // 2, 2, w // 2, 2, c).mean((2, 4))
        for (first, second), skipped in zip(up, reversed(kept)):
            x = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)
            x = jnp.concatenate([convolved(x, first), skipped], -1)
            x = lib.nn.relu(convolved(x, second))
        return (x**2).mean()

    widths = [3, 4, 6, 8, 12]
    down = [
        (normal(3, 3, m, n, scale=0.2), normal(3, 3, n, n, scale=0.2))
        for m, n in itertools.pairwise(widths)
    ]
    up = [
        (normal(3, 3, m, n, scale=0.2), normal(3, 3, 2 * n, n, scale=0.2))
        for m, n in itertools.pairwise([12, 12, 8, 6, 4])
    ]
    return lib.top.grad(f, (0, 1)), (down, up, normal(2, 16, 16, 3))


@program("12 steps of attention over growing caches")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(q, k, v, x):
        keys, values, total = [], [], 0.0
        for t in range(12):
            keys.append(x[t] @ k)
            values.append(x[t] @ v)
            scores = jnp.stack(keys) @ (x[t] @ q) / 4.0
            total = total + ((lib.nn.softmax(scores) @ jnp.stack(values)) ** 2).sum()
        return total

    return lib.top.grad(f, (0, 1, 2)), (
        *(normal(16, 16, scale=0.3) for _ in range(3)),
        normal(12, 16),
    )


@program("10 Adams-Bashforth steps of the Lorenz system")
def _(lib: Any) -> Program:
    jnp = lib.np

    def rhs(s, p):
        x, y, z = s
        return jnp.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])

    def f(p, s):
        slopes = [rhs(s, p)] * 4
        for _ in range(10):
            a, b, c, d = slopes
            s = s + 0.01 / 24 * (55 * d - 59 * c + 37 * b - 9 * a)
            slopes = [b, c, d, rhs(s, p)]
        return s.sum()

    return lib.top.grad(f, (0, 1)), (
        np.array([10.0, 28.0, 8 / 3], np.float32),
        np.ones(3, np.float32),
    )


@program("24 rotations of CORDIC")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(x, y, angle):
        for i in range(24):
            sign = jnp.where(angle < 0, -1.0, 1.0)
            step = sign * np.float32(2.0**-i)
            x, y = x - step * y, y + step * x
            angle = angle - sign * np.float32(np.arctan(2.0**-i))
        return (x * y).sum()

    return lib.top.grad(f, (0, 1)), (normal(100), normal(100), normal(100, scale=0.5))


@program("tree of 64 values, joined in pairs")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(x):
        values = list(x)
        while len(values) > 1:
            values = [
                jnp.tanh(a * b) + jnp.maximum(a, b) / (1 + a * a)
                for a, b in zip(values[::2], values[1::2])
            ]
        return values[0].sum()

    return lib.top.grad(f), (normal(64, 16),)


@program("Levinson recursion of order 14")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(r):
        a, error = jnp.ones(1), r[0]
        for m in range(1, 15):
            k = -(a @ r[1 : m + 1][::-1]) / error
            longer = jnp.concatenate([a, jnp.zeros(1)])
            a, error = longer + k * longer[::-1], error * (1 - k * k)
        return jnp.log(error) + (a**2).sum()

    return lib.top.grad(f), (np.float32(0.7) ** np.arange(15, dtype=np.float32),)


@program("16 GRU steps with layer normalization")
def _(lib: Any) -> Program:
    jnp = lib.np

    def normalized(x):
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def f(ws, xs):
        h = jnp.zeros((8, 16))
        for x in xs:
            z = lib.nn.sigmoid(normalized(x @ ws[0] + h @ ws[1]))
            r = lib.nn.sigmoid(normalized(x @ ws[2] + h @ ws[3]))
            n = jnp.tanh(normalized(x @ ws[4] + r * (h @ ws[5])))
            h = (1 - z) * n + z * h
        return (h**2).sum()

    return lib.top.grad(f), (normal(6, 16, 16, scale=0.3), normal(16, 8, 16))


@program("14 steps of Anderson acceleration")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(w, b):
        x = last = residual = jnp.zeros(16)
        for step in range(14):
            y = jnp.tanh(w @ x + b)
            change = y - x - residual
            weight = (change @ (y - x)) / (change @ change + 1e-6) if step else 0.0
            residual = y - x
            x, last = y - weight * (y - last), y
        return (x**2).sum()

    return lib.top.grad(f, (0, 1)), (normal(16, 16, scale=0.2), normal(16))


@program("20 Verlet steps of 12 particles")
def _(lib: Any) -> Program:
    def force(x):
        d = x[:, None] - x
        r2 = (d**2).sum(-1, keepdims=True) + 0.5
        return (d * (r2**-4 - 0.5 * r2**-7)).sum(1)

    def f(x, v):
        a = force(x)
        for _ in range(20):
            x = x + 0.01 * v + 5e-5 * a
            old, a = a, force(x)
            v = v + 0.005 * (old + a)
        return (x**2).sum() + (v**2).sum()

    return lib.top.grad(f, (0, 1)), (normal(12, 2), normal(12, 2))


@program("elimination of a 10 by 10 matrix")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(a):
        total = 0.0
        for _ in range(9):
            total = total + jnp.log(jnp.abs(a[0, 0]))
            a = a[1:, 1:] - jnp.outer(a[1:, 0] / a[0, 0], a[0, 1:])
        return total + jnp.log(jnp.abs(a[0, 0]))

    return lib.top.grad(f), (normal(10, 10) + 6 * np.eye(10, dtype=np.float32),)
