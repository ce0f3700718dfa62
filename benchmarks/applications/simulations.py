# SPDX-License-Identifier: Apache-2.0
"""Simulations: fractals, bodies, stencils, cellular automata, graphs, linear iterations."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .declarations import Application, normal, uniform

# ---- Mandelbrot ----

_ITERATIONS = 50


def _plane() -> tuple[np.ndarray, ...]:
    x, y = np.meshgrid(np.linspace(-2, 0.6, 800), np.linspace(-1.2, 1.2, 600))
    return x.astype(np.float32), y.astype(np.float32)


def _mandelbrot(k: Any, x: Any, y: Any) -> Any:
    def step(_: Any, state: Any) -> Any:
        u, v, count = state
        u, v = u * u - v * v + x, 2 * u * v + y
        return u, v, count + (u * u + v * v < 4)

    zero = k.np.zeros_like(x)
    return k.lax.fori_loop(0, _ITERATIONS, step, (zero, zero, zero))[2]


def _mandelbrot_in_numpy(x: Any, y: Any) -> Any:
    u, v, count = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(_ITERATIONS):
            u, v = u * u - v * v + x, 2 * u * v + y
            count += u * u + v * v < 4
    return count


def _mandelbrot_in_torch(t: Any, x: Any, y: Any) -> Any:
    u, v, count = t.zeros_like(x), t.zeros_like(x), t.zeros_like(x)
    for _ in range(_ITERATIONS):
        u, v = u * u - v * v + x, 2 * u * v + y
        count += u * u + v * v < 4
    return count


def _mandelbrot_in_numba(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def run(x: Any, y: Any) -> Any:
        count = np.zeros_like(x)
        for i in numba.prange(x.shape[0]):
            for j in range(x.shape[1]):
                u, v = np.float32(0), np.float32(0)
                for _ in range(_ITERATIONS):
                    u, v = u * u - v * v + x[i, j], np.float32(2) * u * v + y[i, j]
                    if not u * u + v * v < 4:
                        break
                    count[i, j] += 1
        return count

    return run


# ---- N-body ----

_DT, _SOFT = 0.01, 0.1


def _bodies() -> tuple[np.ndarray, ...]:
    return normal(1000, 3), normal(1000, 3, seed=1), uniform(1000, seed=2)


def _pull(np: Any, places: Any, masses: Any) -> Any:
    apart = places[None, :, :] - places[:, None, :]
    cubes = ((apart**2).sum(-1) + _SOFT) ** -1.5
    return ((cubes * masses)[:, :, None] * apart).sum(1) / 1000


def _n_body(k: Any, places: Any, speeds: Any, masses: Any) -> Any:
    def step(_: Any, state: Any) -> Any:
        places, speeds = state
        speeds = speeds + _DT * _pull(k.np, places, masses)
        return places + _DT * speeds, speeds

    return k.lax.fori_loop(0, 10, step, (places, speeds))


def _n_body_in_loops(library: Any, places: Any, speeds: Any, masses: Any) -> Any:
    for _ in range(10):
        speeds = speeds + _DT * _pull(library, places, masses)
        places = places + _DT * speeds
    return places, speeds


def _n_body_in_numba(numba: Any) -> Any:
    @numba.njit(parallel=True, fastmath=True)
    def run(places: Any, speeds: Any, masses: Any) -> Any:
        places, speeds = places.copy(), speeds.copy()
        for _ in range(10):
            for i in numba.prange(len(places)):
                x, y, z = np.float32(0), np.float32(0), np.float32(0)
                for j in range(len(places)):
                    dx = places[j, 0] - places[i, 0]
                    dy = places[j, 1] - places[i, 1]
                    dz = places[j, 2] - places[i, 2]
                    square = dx * dx + dy * dy + dz * dz + np.float32(_SOFT)
                    cube = masses[j] / (square * np.sqrt(square))
                    x, y, z = x + cube * dx, y + cube * dy, z + cube * dz
                speeds[i, 0] += np.float32(_DT / 1000) * x
                speeds[i, 1] += np.float32(_DT / 1000) * y
                speeds[i, 2] += np.float32(_DT / 1000) * z
            places += np.float32(_DT) * speeds
        return places, speeds

    return run


# ---- heat on a grid ----


def _grid() -> tuple[np.ndarray, ...]:
    return (uniform(1000, 1000),)


def _heated(x: Any) -> Any:
    inner = x[1:-1, 1:-1]
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    return inner + np.float32(0.2) * (around - 4 * inner)


def _heat(k: Any, x: Any) -> Any:
    return k.lax.fori_loop(0, 50, lambda _, x: x.at[1:-1, 1:-1].set(_heated(x)), x)


def _heat_in_numpy(x: Any) -> Any:
    x = x.copy()
    for _ in range(50):
        x[1:-1, 1:-1] = _heated(x)
    return x


def _heat_in_torch(t: Any, x: Any) -> Any:
    x = x.clone()
    for _ in range(50):
        inner = x[1:-1, 1:-1]
        around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        x[1:-1, 1:-1] = inner + 0.2 * (around - 4 * inner)
    return x


def _heat_in_numba(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def run(x: Any) -> Any:
        x, y = x.copy(), x.copy()
        for _ in range(50):
            for i in numba.prange(1, x.shape[0] - 1):
                for j in range(1, x.shape[1] - 1):
                    around = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
                    y[i, j] = x[i, j] + np.float32(0.2) * (around - np.float32(4) * x[i, j])
            x, y = y, x
        return x

    return run


# ---- game of life ----


def _cells() -> tuple[np.ndarray, ...]:
    return ((np.random.default_rng(0).random((1000, 1000)) < 0.3).astype(np.uint8),)


def _next_cells(roll: Any, cells: Any) -> Any:
    rows = roll(cells, 1, 0) + cells + roll(cells, -1, 0)
    near = roll(rows, 1, 1) + rows + roll(rows, -1, 1)
    return (near == 3) | ((near == 4) & (cells == 1))


def _life(k: Any, cells: Any) -> Any:
    def step(_: Any, cells: Any) -> Any:
        return _next_cells(k.np.roll, cells).astype(np.uint8)

    return k.lax.fori_loop(0, 50, step, cells)


def _life_in_numpy(cells: Any) -> Any:
    for _ in range(50):
        cells = _next_cells(np.roll, cells).astype(np.uint8)
    return cells


def _life_in_torch(t: Any, cells: Any) -> Any:
    for _ in range(50):
        cells = _next_cells(t.roll, cells).to(t.uint8)
    return cells


def _life_in_numba(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def run(cells: Any) -> Any:
        rows, columns = cells.shape
        cells, following = cells.copy(), cells.copy()
        for _ in range(50):
            for i in numba.prange(rows):
                up, down = (i - 1) % rows, (i + 1) % rows
                for j in range(columns):
                    left, right = (j - 1) % columns, (j + 1) % columns
                    near = cells[up, left] + cells[up, j] + cells[up, right]
                    near += cells[i, left] + cells[i, right]
                    near += cells[down, left] + cells[down, j] + cells[down, right]
                    following[i, j] = near == 3 or (near == 2 and cells[i, j] == 1)
            cells, following = following, cells
        return cells

    return run


# ---- PageRank ----

_NODES, _EDGES, _DAMPING = 100_000, 1_000_000, 0.85


def _graph() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    targets = np.sort(rng.integers(0, _NODES, _EDGES)).astype(np.int32)
    sources = rng.integers(0, _NODES, _EDGES).astype(np.int32)
    starts = np.searchsorted(targets, np.arange(_NODES + 1)).astype(np.int32)
    degrees = np.maximum(np.bincount(sources, minlength=_NODES), 1)
    return sources, targets, starts, (1 / degrees).astype(np.float32)


def _page_rank(k: Any, sources: Any, targets: Any, starts: Any, shares: Any) -> Any:
    weights = shares[sources]

    def step(_: Any, ranks: Any) -> Any:
        sums = k.segment_sum(weights * ranks[sources], targets, _NODES, indices_are_sorted=True)
        return (1 - _DAMPING) + _DAMPING * sums

    return k.lax.fori_loop(0, 20, step, k.np.ones(_NODES))


def _page_rank_in_numpy(sources: Any, targets: Any, starts: Any, shares: Any) -> Any:
    sparse = importlib.import_module("scipy.sparse")
    links = sparse.csr_matrix((shares[sources], sources, starts), shape=(_NODES, _NODES))
    ranks = np.ones(_NODES, np.float32)
    for _ in range(20):
        ranks = np.float32(1 - _DAMPING) + np.float32(_DAMPING) * (links @ ranks)
    return ranks


def _page_rank_in_torch(t: Any, sources: Any, targets: Any, starts: Any, shares: Any) -> Any:
    links = t.sparse_csr_tensor(starts, sources, shares[sources], (_NODES, _NODES))
    ranks = t.ones(_NODES, 1)
    for _ in range(20):
        ranks = (1 - _DAMPING) + _DAMPING * (links @ ranks)
    return ranks[:, 0]


def _page_rank_in_numba(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def run(sources: Any, targets: Any, starts: Any, shares: Any) -> Any:
        ranks, following = np.ones(_NODES, np.float32), np.empty(_NODES, np.float32)
        for _ in range(20):
            for i in numba.prange(_NODES):
                total = np.float32(0)
                for edge in range(starts[i], starts[i + 1]):
                    total += shares[sources[edge]] * ranks[sources[edge]]
                following[i] = np.float32(1 - _DAMPING) + np.float32(_DAMPING) * total
            ranks, following = following, ranks
        return ranks

    return run


# ---- Jacobi iterations ----


def _system() -> tuple[np.ndarray, ...]:
    return normal(1000, 1000) + 200 * np.eye(1000, dtype=np.float32), normal(1000, seed=1)


def _jacobi(k: Any, a: Any, b: Any) -> Any:
    diagonal = k.np.diagonal(a)
    rest = a - k.np.diag(diagonal)
    return k.lax.fori_loop(0, 100, lambda _, x: (b - rest @ x) / diagonal, k.np.zeros_like(b))


def _jacobi_in_loops(library: Any, a: Any, b: Any) -> Any:
    diagonal = library.diagonal(a)
    rest = a - library.diag(diagonal)
    x = library.zeros_like(b)
    for _ in range(100):
        x = (b - rest @ x) / diagonal
    return x


def _jacobi_in_numba(numba: Any) -> Any:
    @numba.njit(parallel=True, fastmath=True)
    def run(a: Any, b: Any) -> Any:
        x, following = np.zeros_like(b), np.zeros_like(b)
        for _ in range(100):
            for i in numba.prange(len(b)):
                total = b[i] + a[i, i] * x[i]
                for j in range(len(b)):
                    total -= a[i, j] * x[j]
                following[i] = total / a[i, i]
            x, following = following, x
        return x

    return run


APPLICATIONS = (
    Application(
        "Mandelbrot set",
        _plane,
        _mandelbrot,
        _mandelbrot_in_torch,
        _mandelbrot_in_numpy,
        _mandelbrot_in_numba,
    ),
    Application(
        "N-body",
        _bodies,
        _n_body,
        _n_body_in_loops,
        lambda *arrays: _n_body_in_loops(np, *arrays),
        _n_body_in_numba,
    ),
    Application("heat on a grid", _grid, _heat, _heat_in_torch, _heat_in_numpy, _heat_in_numba),
    Application("game of life", _cells, _life, _life_in_torch, _life_in_numpy, _life_in_numba),
    Application(
        "PageRank",
        _graph,
        _page_rank,
        _page_rank_in_torch,
        _page_rank_in_numpy,
        _page_rank_in_numba,
    ),
    Application(
        "Jacobi iterations",
        _system,
        _jacobi,
        _jacobi_in_loops,
        lambda *arrays: _jacobi_in_loops(np, *arrays),
        _jacobi_in_numba,
    ),
)
