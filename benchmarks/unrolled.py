# SPDX-License-Identifier: Apache-2.0
"""Gradients of unrolled code: steps of solvers, iterations, layers.

XLA's compiler for CPUs takes many times as long for unrolled programs as for loops.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .workloads import workload

_rng = np.random.default_rng(0)


def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Returns normally distributed numbers."""
    return (_rng.normal(size=shape) * scale).astype(np.float32)


Program = tuple[Callable[..., Any], tuple]
PROGRAMS: dict[str, Callable[[Any], Program]] = {}


def _seconds(lib: Any, make: Callable[[Any], Program]) -> tuple[float, float]:
    """Returns the processor and wall time of compiling a program."""
    fun, args = make(lib)
    lowered = lib.top.jit(fun).lower(*args)
    wall, processor = time.perf_counter(), time.process_time()
    lowered.compile()
    return time.process_time() - processor, time.perf_counter() - wall


def _define(name: str, make: Callable[[Any], Program]) -> None:
    @workload(f"compile unrolled: {name}", "unrolled", short=False, quantity="seconds")
    def _(lib: Any) -> Callable:
        return lambda: _seconds(lib, make)

    @workload(f"step unrolled: {name}", "unrolled step", short=False, compare=False)
    def _(lib: Any) -> Callable:
        fun, args = make(lib)
        args = lib.top.tree.map(lib.np.asarray, args)
        compiled = lib.top.jit(fun).lower(*args).compile()
        return lambda: lib.top.block_until_ready(compiled(*args))


def program(name: str) -> Callable:
    """Registers a function that maps a library to the function to compile and its operands."""

    def register(make: Callable[[Any], Program]) -> Callable[[Any], Program]:
        PROGRAMS[name] = make
        _define(name, make)
        return make

    return register


@program("8 Runge-Kutta steps")
def _(lib: Any) -> Program:
    jnp = lib.np

    def rhs(y, p):
        a, b, c, d = p
        return jnp.stack([a * y[0] - b * y[0] * y[1], c * y[0] * y[1] - d * y[1]])

    def f(p, y):
        h = 0.1
        for _ in range(8):
            k1 = rhs(y, p)
            k2 = rhs(y + h / 2 * k1, p)
            k3 = rhs(y + h / 2 * k2, p)
            k4 = rhs(y + h * k3, p)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return jnp.sum(y**2)

    return lib.top.grad(f), (
        np.array([1.1, 0.4, 0.1, 0.4], np.float32),
        np.array([10.0, 5.0], np.float32),
    )


@program("40 Newton iterations")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(a):
        x = a
        for _ in range(40):
            x = x - (jnp.exp(x) + x - a) / (jnp.exp(x) + 1)
        return jnp.sum(x)

    return lib.top.grad(f), (np.abs(normal(100)),)


@program("24 recurrent steps")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(w, u, b, xs):
        h = jnp.zeros((8, 32))
        for t in range(24):
            z = lib.nn.sigmoid(xs[t] @ u + h @ w + b)
            h = (1 - z) * h + z * jnp.tanh(h @ w + b)
        return jnp.sum(h**2)

    return lib.top.grad(f, (0, 1, 2)), (
        normal(32, 32, scale=0.1),
        normal(16, 32, scale=0.1),
        normal(32),
        normal(24, 8, 16),
    )


@program("24 layers of different widths")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(ps, x):
        for w, b in ps:
            x = jnp.tanh(jnp.einsum("bi,ij->bj", x, w) + b)
            x = jnp.where(x > 0.1, x, 0.5 * x)
        return jnp.sum(x**2)

    ws = [32 + 4 * i for i in range(25)]
    return lib.top.grad(f), (
        [(normal(a, b, scale=0.1), normal(b)) for a, b in itertools.pairwise(ws)],
        normal(16, 32),
    )


@program("16 midpoint steps of a double pendulum")
def _(lib: Any) -> Program:
    jnp = lib.np

    def acc(s):
        a, b, p, q = s
        d = a - b
        den = 2 - jnp.cos(d) ** 2
        return jnp.stack(
            [
                p,
                q,
                (-jnp.sin(a) * 2 + jnp.sin(d) * (q**2 + p**2 * jnp.cos(d))) / den,
                (jnp.sin(b) - jnp.sin(d) * p**2) / den,
            ]
        )

    def f(s):
        for _ in range(16):
            m = s + 0.05 * acc(s)
            s = s + 0.1 * acc(m)
        return jnp.sum(s**2)

    return lib.top.grad(f), (normal(4),)


@program("12 Runge-Kutta steps of the Lorenz system")
def _(lib: Any) -> Program:
    jnp = lib.np

    def rhs(s, p):
        x, y, z = s
        return jnp.array([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])

    def f(p, s):
        h = 0.01
        for _ in range(12):
            k1 = rhs(s, p)
            k2 = rhs(s + h / 2 * k1, p)
            k3 = rhs(s + h / 2 * k2, p)
            k4 = rhs(s + h * k3, p)
            s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s.sum()

    return lib.top.grad(f, (0, 1)), (
        np.array([10.0, 28.0, 8 / 3], np.float32),
        np.ones(3, np.float32),
    )


@program("30 leapfrog steps of 6 bodies")
def _(lib: Any) -> Program:

    def force(x, m):
        d = x[:, None] - x[None]
        r2 = (d**2).sum(-1) + 0.1
        return -(d * (m / r2**1.5)[..., None]).sum(1)

    def f(x, v, m):
        for _ in range(30):
            v = v + 0.005 * force(x, m)
            x = x + 0.01 * v
            v = v + 0.005 * force(x, m)
        return (x**2).sum()

    return lib.top.grad(f, (0, 1, 2)), (normal(6, 3), normal(6, 3), np.abs(normal(6)))


@program("20 LSTM steps")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(w, u, b, xs):
        h = c = jnp.zeros((8, 32))
        for t in range(20):
            g = xs[t] @ u + h @ w + b
            i, fg, o, z = jnp.split(g, 4, -1)
            c = lib.nn.sigmoid(fg) * c + lib.nn.sigmoid(i) * jnp.tanh(z)
            h = lib.nn.sigmoid(o) * jnp.tanh(c)
        return (h**2).sum()

    return lib.top.grad(f, (0, 1, 2)), (
        normal(32, 128, scale=0.1),
        normal(16, 128, scale=0.1),
        normal(128),
        normal(20, 8, 16),
    )


@program("3 GRU layers of 10 steps")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(ws, xs):
        for l in range(3):
            h = jnp.zeros((4, 16))
            out = []
            for t in range(10):
                z = lib.nn.sigmoid(xs[t] @ ws[l, 0] + h @ ws[l, 1])
                r = lib.nn.sigmoid(xs[t] @ ws[l, 2] + h @ ws[l, 3])
                n = jnp.tanh(xs[t] @ ws[l, 4] + r * (h @ ws[l, 5]))
                h = (1 - z) * n + z * h
                out.append(h)
            xs = jnp.stack(out)
        return (xs**2).sum()

    return lib.top.grad(f), (normal(3, 6, 16, 16, scale=0.2), normal(10, 4, 16))


@program("5 inner steps of gradient descent")
def _(lib: Any) -> Program:
    jnp = lib.np

    def loss(w, x, y):
        return jnp.mean((jnp.tanh(x @ w["a"] + w["b"]) @ w["c"] - y) ** 2)

    def f(w, x, y):
        v = w
        for _ in range(5):
            g = lib.top.grad(loss)(v, x, y)
            v = lib.top.tree.map(lambda a, b: a - 0.1 * b, v, g)
        return loss(v, x, y)

    return lib.top.grad(f), (
        {"a": normal(8, 32, scale=0.3), "b": normal(32), "c": normal(32, 1, scale=0.3)},
        normal(64, 8),
        normal(64, 1),
    )


@program("15 inner steps of Adam")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(x0, q):
        x = x0
        m = jnp.zeros_like(x)
        v = jnp.zeros_like(x)

        def loss(x):
            return jnp.sum(jnp.cos(x) * q + x**2)

        for t in range(1, 16):
            g = lib.top.grad(loss)(x)
            m = 0.9 * m + 0.1 * g
            v = 0.999 * v + 0.001 * g * g
            x = x - 0.1 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return loss(x)

    return lib.top.grad(f, (0, 1)), (normal(50), normal(50))


@program("polynomial of degree 60")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(c, x):
        y = jnp.zeros_like(x)
        for i in range(60):
            y = y * x + c[i]
        return (y**2).sum()

    return lib.top.grad(f, (0, 1)), (normal(60, scale=0.1), normal(200, scale=0.5))


@program("40 Chebyshev terms")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(c, x):
        a, b = jnp.ones_like(x), x
        s = c[0] * a + c[1] * b
        for i in range(2, 40):
            a, b = b, 2 * x * b - a
            s = s + c[i] * b
        return (s**2).sum()

    return lib.top.grad(f, (0, 1)), (normal(40, scale=0.1), normal(200, scale=0.5))


@program("30 steps of the heat equation")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(u, k):
        for _ in range(30):
            l = (
                jnp.roll(u, 1, 0)
                + jnp.roll(u, -1, 0)
                + jnp.roll(u, 1, 1)
                + jnp.roll(u, -1, 1)
                - 4 * u
            )
            u = u + 0.1 * k * l
        return (u**2).sum()

    return lib.top.grad(f, (0, 1)), (normal(32, 32), np.abs(normal(32, 32)))


@program("20 steps of Burgers' equation")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(u):
        for _ in range(20):
            up = jnp.concatenate([u[1:], u[:1]])
            um = jnp.concatenate([u[-1:], u[:-1]])
            u = u - 0.1 * u * (up - um) / 2 + 0.01 * (up - 2 * u + um)
        return (u**2).sum()

    return lib.top.grad(f), (normal(128),)


@program("15 steps of a Kalman filter")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(F, Q, ys):
        m = jnp.zeros(3)
        P_ = jnp.eye(3)
        ll = 0.0
        for t in range(15):
            m = F @ m
            P_ = F @ P_ @ F.T + Q * Q
            s = P_[0, 0] + 1.0
            r = ys[t] - m[0]
            k = P_[:, 0] / s
            ll = ll - 0.5 * (r * r / s + jnp.log(s))
            m = m + k * r
            P_ = P_ - jnp.outer(k, P_[0])
        return ll

    return lib.top.grad(f, (0, 1)), (
        normal(3, 3, scale=0.3) + np.eye(3, dtype=np.float32) * 0.5,
        normal(3, 3, scale=0.1),
        normal(15),
    )


@program("30 steps of a hidden Markov model")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(T, E):
        a = jnp.zeros(5)
        for t in range(30):
            a = lib.nn.logsumexp(a[:, None] + T, axis=0) + E[t]
        return lib.nn.logsumexp(a)

    return lib.top.grad(f, (0, 1)), (normal(5, 5), normal(30, 5))


@program("20 Sinkhorn iterations")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(C):
        K = jnp.exp(-C)
        u = jnp.ones(20)
        for _ in range(20):
            v = 1 / (K.T @ u)
            u = 1 / (K @ v)
        return jnp.sum(u[:, None] * K * v * C)

    return lib.top.grad(f), (np.abs(normal(20, 20)),)


@program("24 residual layers")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(ws, x):
        for i in range(24):
            n = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
            x = x + lib.nn.gelu(n @ ws[i])
        return (x**2).sum()

    return lib.top.grad(f), (normal(24, 32, 32, scale=0.1), normal(8, 32))


@program("16 coupling layers")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(ws, x):
        ld = 0.0
        for i in range(16):
            a, b = x[:, :4], x[:, 4:]
            h = jnp.tanh(a @ ws[i, 0])
            s = jnp.tanh(h @ ws[i, 1])
            t = h @ ws[i, 2]
            b = b * jnp.exp(s) + t
            ld = ld + s.sum()
            x = jnp.concatenate([b, a], 1)
        return (x**2).sum() - ld

    return lib.top.grad(f), (normal(16, 3, 4, 4, scale=0.3), normal(32, 8))


@program("20 planar flows")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(w, u, b, z):
        ld = 0.0
        for i in range(20):
            h = jnp.tanh(z @ w[i] + b[i])
            z = z + u[i] * h[:, None]
            ld = ld + jnp.log(jnp.abs(1 + (1 - h**2) * (w[i] @ u[i]))).sum()
        return (z**2).sum() - ld

    return lib.top.grad(f, (0, 1, 2)), (
        normal(20, 6, scale=0.3),
        normal(20, 6, scale=0.3),
        normal(20),
        normal(32, 6),
    )


@program("64 logistic maps")
def _(lib: Any) -> Program:

    def f(r, x):
        for _ in range(64):
            x = r * x * (1 - x)
        return x.sum()

    return lib.top.grad(f, (0, 1)), (
        np.float32(3.2) + normal(100) * np.float32(0.01),
        np.full(100, 0.3, np.float32),
    )


@program("10 secant steps")
def _(lib: Any) -> Program:
    jnp = lib.np

    def cdf(x):
        return 0.5 * (1 + lib.lax.erf(x / np.sqrt(2).astype(np.float32)))

    def price(s, k):
        d = (jnp.log(1 / k) + 0.5 * s * s) / s
        return cdf(d) - k * cdf(d - s)

    def f(p, k):
        s = jnp.full_like(p, 0.3)
        for _ in range(10):
            e = 1e-2
            c = price(s, k) - p
            g = (price(s + e, k) - price(s - e, k)) / (2 * e)
            s = s - jnp.clip(c / (g + 1e-3), -0.2, 0.2)
        return s.sum()

    return lib.top.grad(f, (0, 1)), (np.full(50, 0.2, np.float32), np.full(50, 1.05, np.float32))


@program("4 Dormand-Prince steps")
def _(lib: Any) -> Program:
    jnp = lib.np
    B = [
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]

    def rhs(y, p):
        return jnp.stack([p[0] * y[1], p[1] * (1 - y[0] ** 2) * y[1] - y[0]])

    def f(p, y):
        h = 0.05
        for _ in range(4):
            ks = [rhs(y, p)]
            for row in B:
                ks.append(rhs(y + h * sum(c * k for c, k in zip(row, ks)), p))
            y = y + h * sum(c * k for c, k in zip(B[-1], ks))
        return (y**2).sum()

    return lib.top.grad(f, (0, 1)), (
        np.array([1.0, 2.0], np.float32),
        np.array([1.0, 0.5], np.float32),
    )


@program("Hessian of 12 Newton iterations")
def _(lib: Any) -> Program:

    def f(a):
        x = a
        for _ in range(12):
            x = x - (x**3 + x - a) / (3 * x**2 + 1)
        return x.sum()

    return lib.top.hessian(f), (normal(8),)


@program("12 layers with dropout")
def _(lib: Any) -> Program:
    jnp, random = lib.np, lib.random

    def f(ws, x, key):
        for i in range(12):
            key, k = random.split(key)
            x = jnp.tanh(x @ ws[i])
            m = random.bernoulli(k, 0.9, x.shape)
            x = jnp.where(m, x / 0.9, 0)
        return (x**2).sum()

    return lib.top.grad(f), (normal(12, 32, 32, scale=0.2), normal(16, 32), random.key(0))


@program("20 Euler-Maruyama steps")
def _(lib: Any) -> Program:
    jnp, random = lib.np, lib.random

    def f(p, x, key):
        for _i in range(20):
            key, k = random.split(key)
            x = (
                x
                + 0.01 * (p[0] * (p[1] - x))
                + 0.1 * p[2] * jnp.sqrt(jnp.abs(x)) * random.normal(k, x.shape)
            )
        return (x**2).sum()

    return lib.top.grad(f, (0, 1)), (
        np.array([1.0, 2.0, 0.3], np.float32),
        np.full(64, 1.5, np.float32),
        random.key(0),
    )


@program("32 products of quaternions")
def _(lib: Any) -> Program:
    jnp = lib.np

    def mul(p, q):
        a, b, c, d = p
        e, f, g, h = q
        return jnp.stack(
            [
                a * e - b * f - c * g - d * h,
                a * f + b * e + c * h - d * g,
                a * g - b * h + c * e + d * f,
                a * h + b * g - c * f + d * e,
            ]
        )

    def f(w, q):
        for i in range(32):
            q = mul(q, w[i])
            q = q / jnp.sqrt((q**2).sum())
        return (q * jnp.arange(4.0)).sum()

    return lib.top.grad(f, (0, 1)), (normal(32, 4), normal(4))


@program("24 layers of stacked weights")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(ws, x):
        for i in range(24):
            x = jnp.tanh(jnp.einsum("bi,ij->bj", x, ws[i]))
            x = jnp.where(x > 0.1, x, 0.5 * x)
        return (x**2).sum()

    return lib.top.grad(f), (normal(24, 32, 32, scale=0.2), normal(16, 32))


@program("24 joints of an arm")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(th, L):
        T = jnp.eye(3)
        for i in range(24):
            c, s = jnp.cos(th[i]), jnp.sin(th[i])
            M = jnp.array([[c, -s, L[i] * c], [s, c, L[i] * s], [0.0, 0.0, 1.0]])
            T = T @ M
        return (T[:2, 2] ** 2).sum()

    return lib.top.grad(f, (0, 1)), (normal(24), normal(24))


@program("tridiagonal solution of 32 rows")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(a, b, c, d):
        n = 32
        cp = [c[0] / b[0]]
        dp = [d[0] / b[0]]
        for i in range(1, n):
            m = b[i] - a[i] * cp[-1]
            cp.append(c[i] / m)
            dp.append((d[i] - a[i] * dp[-1]) / m)
        x = [dp[-1]]
        for i in range(n - 2, -1, -1):
            x.append(dp[i] - cp[i] * x[-1])
        return (jnp.stack(x) ** 2).sum()

    return lib.top.grad(f, (0, 1, 2, 3)), (
        normal(32),
        np.abs(normal(32)) + 3,
        normal(32),
        normal(32),
    )


@program("Cholesky factor of 8 rows")
def _(lib: Any) -> Program:
    jnp = lib.np

    def f(a):
        n = 8
        L = [[None] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                s = a[i, j] - sum(L[i][k] * L[j][k] for k in range(j))
                L[i][j] = jnp.sqrt(s) if i == j else s / L[j][j]
        return sum(jnp.log(L[i][i]) for i in range(n))

    q = normal(8, 8)
    return lib.top.grad(f), (q @ q.T + 8 * np.eye(8, dtype=np.float32),)
