# SPDX-License-Identifier: Apache-2.0
"""Statistics: clusters, filters, option prices, Gaussian processes, histograms of boosting."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from .declarations import Application, normal, uniform

# ---- k-means ----

_CLUSTERS, _ROUNDS = 20, 10


def _points() -> tuple[np.ndarray, ...]:
    centers = normal(_CLUSTERS, 16, seed=1, scale=5.0)
    points = centers[np.arange(100_000) % _CLUSTERS] + normal(100_000, 16)
    return points, centers + normal(_CLUSTERS, 16, seed=2, scale=0.5)


def _k_means(k: Any, points: Any, centers: Any) -> Any:
    def update(_: Any, centers: Any) -> Any:
        scores = (centers**2).sum(1) - 2 * points @ centers.T
        nearest = scores.argmin(1)
        sums = k.segment_sum(points, nearest, _CLUSTERS)
        counts = k.np.bincount(nearest, length=_CLUSTERS)
        return sums / counts[:, None]

    return k.lax.fori_loop(0, _ROUNDS, update, centers)


def _k_means_in_numpy(points: Any, centers: Any) -> Any:
    for _ in range(_ROUNDS):
        nearest = ((centers**2).sum(1) - 2 * points @ centers.T).argmin(1)
        sums = [np.bincount(nearest, column, _CLUSTERS) for column in points.T]
        counts = np.bincount(nearest, minlength=_CLUSTERS)
        centers = (np.stack(sums, 1) / counts[:, None]).astype(np.float32)
    return centers


def _k_means_in_torch(t: Any, points: Any, centers: Any) -> Any:
    for _ in range(_ROUNDS):
        nearest = ((centers**2).sum(1) - 2 * points @ centers.T).argmin(1)
        sums = t.zeros_like(centers).index_add_(0, nearest, points)
        centers = sums / t.bincount(nearest, minlength=_CLUSTERS)[:, None]
    return centers


def _k_means_in_numba(numba: Any) -> Any:
    @numba.njit(fastmath=True)
    def run(points: Any, centers: Any) -> Any:
        for _ in range(_ROUNDS):
            sums = np.zeros_like(centers)
            counts = np.zeros(len(centers), np.float32)
            for i in range(len(points)):
                best, nearest = np.float32(np.inf), 0
                for c in range(len(centers)):
                    distance = np.float32(0)
                    for d in range(points.shape[1]):
                        distance += (points[i, d] - centers[c, d]) ** 2
                    if distance < best:
                        best, nearest = distance, c
                counts[nearest] += 1
                for d in range(points.shape[1]):
                    sums[nearest, d] += points[i, d]
            centers = sums / counts.reshape(-1, 1)
        return centers

    return run


# ---- particle filter with resampling ----


def _observations() -> tuple[np.ndarray, ...]:
    return normal(50), normal(50, 20_000, seed=1), uniform(50, seed=2)


def _filter(k: Any, observed: Any, noise: Any, offsets: Any) -> Any:
    count = noise.shape[1]

    def step(particles: Any, inputs: Any) -> Any:
        seen, moves, offset = inputs
        particles = 0.9 * particles + moves
        weights = k.np.exp(-0.5 * (particles - seen) ** 2)
        mean = (weights * particles).sum() / weights.sum()
        shares = k.np.cumsum(weights)
        wanted = (k.np.arange(count) + offset) * (shares[-1] / count)
        chosen = k.np.clip(k.np.searchsorted(shares, wanted), 0, count - 1)
        return particles[chosen], mean

    return k.lax.scan(step, k.np.zeros(count), (observed, noise, offsets))[1]


def _filter_in_numpy(observed: Any, noise: Any, offsets: Any) -> Any:
    count = noise.shape[1]
    particles, means = np.zeros(count, np.float32), []
    for seen, moves, offset in zip(observed, noise, offsets, strict=True):
        particles = np.float32(0.9) * particles + moves
        weights = np.exp(-0.5 * (particles - seen) ** 2)
        means.append((weights * particles).sum() / weights.sum())
        shares = np.cumsum(weights)
        wanted = (np.arange(count, dtype=np.float32) + offset) * (shares[-1] / count)
        particles = particles[np.searchsorted(shares, wanted).clip(0, count - 1)]
    return np.stack(means)


def _filter_in_torch(t: Any, observed: Any, noise: Any, offsets: Any) -> Any:
    count = noise.shape[1]
    particles, means = t.zeros(count), []
    for seen, moves, offset in zip(observed, noise, offsets, strict=True):
        particles = 0.9 * particles + moves
        weights = t.exp(-0.5 * (particles - seen) ** 2)
        means.append((weights * particles).sum() / weights.sum())
        shares = t.cumsum(weights, 0)
        wanted = (t.arange(count) + offset) * (shares[-1] / count)
        particles = particles[t.searchsorted(shares, wanted).clamp(0, count - 1)]
    return t.stack(means)


def _filter_in_numba(numba: Any) -> Any:
    @numba.njit(fastmath=True)
    def run(observed: Any, noise: Any, offsets: Any) -> Any:
        steps, count = noise.shape
        particles, weights = np.zeros(count, np.float32), np.zeros(count, np.float32)
        resampled, means = np.zeros(count, np.float32), np.zeros(steps, np.float32)
        for s in range(steps):
            total, weighted = 0.0, 0.0
            for i in range(count):
                particles[i] = np.float32(0.9) * particles[i] + noise[s, i]
                weights[i] = np.exp(np.float32(-0.5) * (particles[i] - observed[s]) ** 2)
                total += weights[i]
                weighted += weights[i] * particles[i]
            means[s] = weighted / total
            place, share = 0, weights[0] + 0.0
            for i in range(count):
                wanted = (i + offsets[s]) * total / count
                while share < wanted and place < count - 1:
                    place += 1
                    share += weights[place]
                resampled[i] = particles[place]
            particles, resampled = resampled, particles
        return means

    return run


# ---- Black-Scholes ----


def _options() -> tuple[np.ndarray, ...]:
    size = 1_000_000
    return (
        uniform(size, low=10, high=50),
        uniform(size, low=10, high=50, seed=1),
        uniform(size, low=0.1, high=2, seed=2),
    )


_INTEREST, _VOLATILITY = 0.02, 0.3


def _black_scholes(np: Any, cdf: Any, price: Any, strike: Any, years: Any) -> Any:
    spread = _VOLATILITY * np.sqrt(years)
    d1 = (np.log(price / strike) + (_INTEREST + 0.5 * _VOLATILITY**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-_INTEREST * years)
    call = price * cdf(d1) - discounted * cdf(d2)
    return call, call - price + discounted


def _black_scholes_in_torch(t: Any, *options: Any) -> Any:
    return _black_scholes(t, lambda x: 0.5 * (1 + t.erf(x / math.sqrt(2))), *options)


def _black_scholes_in_numpy(*options: Any) -> Any:
    return _black_scholes(np, importlib.import_module("scipy.special").ndtr, *options)


def _black_scholes_in_numba(numba: Any) -> Any:
    @numba.njit(parallel=True, fastmath=True)
    def run(price: Any, strike: Any, years: Any) -> Any:
        call, put = np.empty_like(price), np.empty_like(price)
        one, half = np.float32(1), np.float32(0.5)
        for i in numba.prange(len(price)):
            spread = np.float32(_VOLATILITY) * np.sqrt(years[i])
            drift = np.float32(_INTEREST + 0.5 * _VOLATILITY**2) * years[i]
            d1 = (np.log(price[i] / strike[i]) + drift) / spread
            d2 = d1 - spread
            discounted = strike[i] * np.exp(np.float32(-_INTEREST) * years[i])
            first = half * (one + math.erf(d1 * np.float32(math.sqrt(0.5))))
            second = half * (one + math.erf(d2 * np.float32(math.sqrt(0.5))))
            call[i] = price[i] * first - discounted * second
            put[i] = call[i] - price[i] + discounted
        return call, put

    return run


# ---- Gaussian process ----


def _regression() -> tuple[np.ndarray, ...]:
    inputs = normal(1000, 4)
    return inputs, np.sin(inputs).sum(1) + normal(1000, seed=1, scale=0.1), normal(500, 4, seed=2)


def _gaussian_process(np: Any, cholesky: Any, solve: Any, x: Any, y: Any, new: Any) -> Any:
    def kernel(a: Any, b: Any) -> Any:
        squares = (a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2 * a @ b.T
        return np.exp(-0.5 * squares)

    factor = cholesky(kernel(x, x) + 0.01 * np.eye(len(x)))
    whitened = solve(factor, y[:, None])
    projected = solve(factor, kernel(x, new))
    evidence = -0.5 * (whitened**2).sum() - np.log(np.diagonal(factor)).sum()
    return evidence, (projected.T @ whitened)[:, 0], 1 - (projected**2).sum(0)


def _gaussian_process_in_arrays(k: Any, *arrays: Any) -> Any:
    def solve(a: Any, b: Any) -> Any:
        return k.linalg.solve_triangular(a, b, lower=True)

    return _gaussian_process(k.np, k.np.linalg.cholesky, solve, *arrays)


def _gaussian_process_in_numpy(*arrays: Any) -> Any:
    linalg = importlib.import_module("scipy.linalg")

    def cholesky(a: Any) -> Any:
        return linalg.cholesky(a.astype(np.float32), lower=True, check_finite=False)

    def solve(a: Any, b: Any) -> Any:
        return linalg.solve_triangular(a, b, lower=True, check_finite=False)

    return _gaussian_process(np, cholesky, solve, *arrays)


def _gaussian_process_in_torch(t: Any, *arrays: Any) -> Any:
    def solve(a: Any, b: Any) -> Any:
        return t.linalg.solve_triangular(a, b, upper=False)

    return _gaussian_process(t, t.linalg.cholesky, solve, *arrays)


# ---- histograms of gradient boosting ----

_BINS = 64


def _binned() -> tuple[np.ndarray, ...]:
    bins = np.random.default_rng(1).integers(0, _BINS, (20, 100_000)).astype(np.int32)
    return bins, normal(100_000), uniform(100_000, seed=2)


def _best_splits(np: Any, gradients: Any, curvatures: Any) -> Any:
    def gain(g: Any, h: Any) -> Any:
        return g**2 / (h + 1)

    left_g, left_h = np.cumsum(gradients, 1), np.cumsum(curvatures, 1)
    total_g, total_h = left_g[:, -1:], left_h[:, -1:]
    right = gain(total_g - left_g, total_h - left_h)
    return (gain(left_g, left_h) + right - gain(total_g, total_h)).max(1)


def _boosting(k: Any, bins: Any, gradients: Any, curvatures: Any) -> Any:
    def sums(values: Any) -> Any:
        return k.vmap(lambda column: k.segment_sum(values, column, _BINS))(bins)

    return _best_splits(k.np, sums(gradients), sums(curvatures))


def _boosting_in_numpy(bins: Any, gradients: Any, curvatures: Any) -> Any:
    def sums(values: Any) -> Any:
        return np.stack([np.bincount(column, values, _BINS) for column in bins])

    return _best_splits(np, sums(gradients), sums(curvatures))


def _boosting_in_torch(t: Any, bins: Any, gradients: Any, curvatures: Any) -> Any:
    places = (bins + _BINS * t.arange(len(bins), dtype=t.int32)[:, None]).flatten()

    def sums(values: Any) -> Any:
        added = t.zeros(len(bins) * _BINS).index_add_(0, places, values.repeat(len(bins)))
        return added.reshape(len(bins), _BINS)

    return _best_splits_in_torch(t, sums(gradients), sums(curvatures))


def _best_splits_in_torch(t: Any, gradients: Any, curvatures: Any) -> Any:
    left_g, left_h = t.cumsum(gradients, 1), t.cumsum(curvatures, 1)
    total_g, total_h = left_g[:, -1:], left_h[:, -1:]
    right = (total_g - left_g) ** 2 / (total_h - left_h + 1)
    return (left_g**2 / (left_h + 1) + right - total_g**2 / (total_h + 1)).amax(1)


def _boosting_in_numba(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def run(bins: Any, gradients: Any, curvatures: Any) -> Any:
        best = np.empty(len(bins), np.float32)
        for f in numba.prange(len(bins)):
            g, h = np.zeros(_BINS), np.zeros(_BINS)
            for i in range(bins.shape[1]):
                g[bins[f, i]] += gradients[i]
                h[bins[f, i]] += curvatures[i]
            total_g, total_h, left_g, left_h = g.sum(), h.sum(), 0.0, 0.0
            gain = -np.inf
            for b in range(_BINS):
                left_g += g[b]
                left_h += h[b]
                right = (total_g - left_g) ** 2 / (total_h - left_h + 1)
                gain = max(gain, left_g**2 / (left_h + 1) + right)
            best[f] = gain - total_g**2 / (total_h + 1)
        return best

    return run


APPLICATIONS = (
    Application(
        "k-means", _points, _k_means, _k_means_in_torch, _k_means_in_numpy, _k_means_in_numba
    ),
    Application(
        "particle filter",
        _observations,
        _filter,
        _filter_in_torch,
        _filter_in_numpy,
        _filter_in_numba,
        tolerance=2e-2,  # a rounding error moves a particle and all later particles
    ),
    Application(
        "Black-Scholes",
        _options,
        lambda k, *options: _black_scholes(k.np, k.norm.cdf, *options),
        _black_scholes_in_torch,
        _black_scholes_in_numpy,
        _black_scholes_in_numba,
    ),
    Application(
        "Gaussian process",
        _regression,
        _gaussian_process_in_arrays,
        _gaussian_process_in_torch,
        _gaussian_process_in_numpy,
    ),
    Application(
        "histograms of gradient boosting",
        _binned,
        _boosting,
        _boosting_in_torch,
        _boosting_in_numpy,
        _boosting_in_numba,
    ),
)
