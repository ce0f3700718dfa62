# SPDX-License-Identifier: Apache-2.0
"""Measures sparse Jacobians of 20 patterns, for docs/sparse-derivatives.md.

Each Jacobian is computed in three ways: by a plan; by compressed products with the plan's colors,
written by hand with `vmap`; and by formulas for its entries. The figures are the minimal processor
time over interleaved rounds, and the memory of the compiled program, without its argument.

Usage: python benchmarks/sparse_jacobians.py [rows [patterns ...]]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.experimental import sparse

ROUNDS = 40


class Case(NamedTuple):
    """Function with a sparse Jacobian.

    Attributes:
      function: the function.
      x: its argument.
      formula: maps the pattern to a function of ``x`` that returns the entries, row by row.
    """

    function: Callable[[Any], Any]
    x: np.ndarray
    formula: Callable[[Any], Callable[[Any], Any]]


def fixed(formula: Callable[[Any], Any]) -> Callable[[Any], Callable[[Any], Any]]:
    """Returns a value for `formula`, given a formula that does not depend on the pattern."""
    return lambda pattern: formula


def rows_of(*columns: Any) -> Any:
    return jnp.stack(columns, axis=1).ravel()


def laplacian(u: Any) -> Any:
    total = -2 * u.ndim * u
    for axis in range(u.ndim):
        padded = jnp.pad(u, [(1, 1) if a == axis else (0, 0) for a in range(u.ndim)])
        total = total + lax.slice_in_dim(padded, 0, -2, axis=axis)
        total = total + lax.slice_in_dim(padded, 2, None, axis=axis)
    return total + jnp.exp(u)


def of_laplacian(pattern: Any) -> Callable[[Any], Any]:
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    diagonal = np.flatnonzero(rows == pattern.indices)
    constant = np.ones(pattern.nnz, np.float32)

    def entries(u: Any) -> Any:
        return jnp.asarray(constant).at[diagonal].set(jnp.exp(u).ravel() - 2 * u.ndim)

    return entries


def finite_elements(elements: np.ndarray, count: int) -> Callable[[Any], Any]:
    def residual(u: Any) -> Any:
        local = u[elements]  # [element, node]
        force = local**2 - jnp.mean(local, axis=1, keepdims=True) ** 3
        return jnp.zeros(count, u.dtype).at[elements].add(force)

    return residual


def of_elements(elements: np.ndarray) -> Callable[[Any], Callable[[Any], Any]]:
    def formula(pattern: Any) -> Callable[[Any], Any]:
        nodes = elements.shape[1]
        numbers = pattern.astype(np.int64)
        numbers.data = np.arange(1, pattern.nnz + 1)
        places = numbers[elements[:, :, None].repeat(nodes, 2).ravel(),
                         elements[:, None, :].repeat(nodes, 1).ravel()] - 1  # fmt: skip

        def entries(u: Any) -> Any:
            local = u[elements]
            common = jnp.mean(local, axis=1)[:, None, None] ** 2
            block = 2 * local[:, :, None] * np.eye(nodes, dtype=np.float32) - 3 / nodes * common
            return jnp.zeros(pattern.nnz, u.dtype).at[places].add(block.ravel())

        return entries

    return formula


def collocation(y: Any) -> Any:  # trapezoidal steps of a pendulum; y is [step, (angle, speed)]
    slope = jnp.stack([y[:, 1], -jnp.sin(y[:, 0])], axis=1)
    steps = y[1:] - y[:-1] - 0.05 * (slope[1:] + slope[:-1])
    return jnp.concatenate([y[:1] - 0.3, steps])


def of_collocation(y: Any) -> Any:
    one = jnp.ones(y.shape[0] - 1, y.dtype)
    force = 0.05 * jnp.cos(y[:, 0])
    angle = jnp.stack([-one, -0.05 * one, one, -0.05 * one], axis=1)
    speed = jnp.stack([force[:-1], -one, force[1:], one], axis=1)
    return jnp.concatenate([jnp.ones(2, y.dtype), jnp.concatenate([angle, speed], 1).ravel()])


def arrow(x: Any) -> Any:
    return jnp.concatenate([jnp.sum(x**2)[None], x[1:] * x[0]])


def of_arrow(x: Any) -> Any:
    below = rows_of(x[1:], jnp.broadcast_to(x[0], x.size - 1))
    return jnp.concatenate([2 * x, below])


def of_products(x: Any) -> Any:
    a, b = x[:, :6].reshape(-1, 2, 3), x[:, 6:].reshape(-1, 3, 2)
    by_a = jnp.broadcast_to(jnp.swapaxes(b, 1, 2)[:, None], (a.shape[0], 2, 2, 3))
    by_b = jnp.broadcast_to(a[:, :, None], (a.shape[0], 2, 2, 3))
    return jnp.concatenate([by_a, by_b], axis=3).ravel()


def image_rows(pattern: Any, kernel: np.ndarray, width: int) -> np.ndarray:
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    down = pattern.indices // width - rows // width
    return kernel[down + 1, pattern.indices % width - rows % width + 1]


def of_images(kernel: np.ndarray, width: int) -> Callable[[Any], Callable[[Any], Any]]:
    def formula(pattern: Any) -> Callable[[Any], Any]:
        weights, columns = image_rows(pattern, kernel, width), pattern.indices
        return lambda x: weights * 2 * x.ravel()[columns]

    return formula


def cases(n: int) -> dict[str, Case]:
    """Returns the functions with about ``n`` results."""
    rng = np.random.default_rng(0)

    def point(*shape: int) -> np.ndarray:
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)

    side, edge = round(n**0.5), round(n ** (1 / 3))
    flat_pairs = np.unique(rng.integers(0, n, (4 * n, 2)), axis=0)
    rows, columns = flat_pairs.T
    weights = rng.normal(size=rows.size).astype(np.float32)
    rod = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    triangles = np.concatenate(
        [corner[:, None] + [0, 1, side], corner[:, None] + [1, side + 1, side]]
    )
    kernel = rng.normal(size=(3, 3)).astype(np.float32)

    def scattered(values: Any) -> Any:
        return jnp.zeros(n, values.dtype).at[rows].add(values)

    def of_tanh(x: Any) -> Any:
        return (1 - jnp.tanh(scattered(weights * x[columns])) ** 2)[rows] * weights

    def of_convolution(pattern: Any) -> Callable[[Any], Any]:
        return lambda x: 2 * x[pattern.indices]

    return {
        "diagonal": Case(
            lambda x: jnp.sin(x) * x, point(n), fixed(lambda x: jnp.cos(x) * x + jnp.sin(x))
        ),
        "bidiagonal": Case(
            lambda x: jnp.diff(x) ** 2,
            point(n),
            fixed(lambda x: rows_of(-2 * jnp.diff(x), 2 * jnp.diff(x))),
        ),
        "tridiagonal": Case(
            lambda x: x[1:-1] ** 2 - x[:-2] * x[2:],
            point(n),
            fixed(lambda x: rows_of(-x[2:], 2 * x[1:-1], -x[:-2])),
        ),
        "pentadiagonal": Case(
            lambda x: jnp.convolve(x**2, np.ones(5, np.float32)), point(n), of_convolution
        ),
        "dilated band": Case(
            lambda x: x[4:] * x[:-4], point(n), fixed(lambda x: rows_of(x[4:], x[:-4]))
        ),
        "arrow": Case(arrow, point(n), fixed(of_arrow)),
        "dense row": Case(
            lambda x: jnp.append(x**2, jnp.sum(jnp.sin(x))),
            point(n),
            fixed(lambda x: jnp.concatenate([2 * x, jnp.cos(x)])),
        ),
        "blocks": Case(
            lambda x: x**2 @ np.ones((4, 4), np.float32),
            point(n // 4, 4),
            fixed(lambda x: jnp.broadcast_to(2 * x[:, None], (n // 4, 4, 4)).ravel()),
        ),
        "grid, 1 dimension": Case(laplacian, point(n), of_laplacian),
        "grid, 2 dimensions": Case(laplacian, point(side, side), of_laplacian),
        "grid, 3 dimensions": Case(laplacian, point(edge, edge, edge), of_laplacian),
        "random": Case(
            lambda x: scattered(weights * x[columns] ** 2),
            point(n),
            fixed(lambda x: 2 * weights * x[columns]),
        ),
        "random in tanh": Case(
            lambda x: jnp.tanh(scattered(weights * x[columns])), point(n), fixed(of_tanh)
        ),
        "elements of a rod": Case(finite_elements(rod, n), point(n), of_elements(rod)),
        "triangles": Case(
            finite_elements(triangles, side * side), point(side * side), of_elements(triangles)
        ),
        "collocation": Case(collocation, point(n // 2, 2), fixed(of_collocation)),
        "image filter": Case(
            lambda x: lax.conv(x[None, None] ** 2, kernel[None, None], (1, 1), "SAME"),
            point(side, side),
            of_images(kernel, side),
        ),
        "windows": Case(
            lambda x: lax.reduce_window(x**2, 0.0, lax.add, (3,), (2,), "VALID"),
            point(2 * n + 1),
            fixed(lambda x: 2 * rows_of(x[:-2:2], x[1:-1:2], x[2::2])),
        ),
        "permutation": Case(lambda x: x[::-1] ** 2, point(n), fixed(lambda x: 2 * x[::-1])),
        "batched products": Case(
            lambda x: x[:, :6].reshape(-1, 2, 3) @ x[:, 6:].reshape(-1, 3, 2),
            point(n // 4, 12),
            fixed(of_products),
        ),
    }


def by_hand(plan: Any, function: Callable[[Any], Any], x: np.ndarray) -> Callable[[Any], Any]:
    """Returns the entries from compressed products, as a user would write them."""
    rows = np.repeat(np.arange(plan.shape[0]), np.diff(plan.pattern.indptr))
    columns = plan.pattern.indices
    products = []
    seeds = (plan.column_colors == np.arange(plan.jvps)[:, None]).astype(x.dtype)
    pulled = (plan.row_colors == np.arange(plan.vjps)[:, None]).astype(x.dtype)
    by_row = plan.row_colors[rows] >= 0
    places = np.where(
        by_row,
        plan.jvps * plan.shape[0] + plan.row_colors[rows] * plan.shape[1] + columns,
        plan.column_colors[columns] * plan.shape[0] + rows,
    )

    def entries(x: Any) -> Any:
        products.clear()
        if plan.jvps:
            push = olympus.linearize(function, x)[1]
            columns = olympus.vmap(push)(seeds.reshape(-1, *x.shape))
            products.append(columns.ravel())
        if plan.vjps:
            out, pull = olympus.vjp(function, x)
            products.append(olympus.vmap(pull)(pulled.reshape(-1, *out.shape))[0].ravel())
        return jnp.concatenate(products)[places]

    return entries


def memory(compiled: Any) -> int:
    found = compiled.memory_analysis()
    return found.temp_size_in_bytes + found.output_size_in_bytes


def measured(case: Case) -> tuple[Any, list[float], list[int]]:
    """Measures a Jacobian that is computed by a plan, by hand, and by its formula.

    Returns the plan, and the seconds and the bytes of memory of each of the three programs.
    """
    plan = sparse.plan(case.function, case.x)
    x = jnp.asarray(case.x)
    ways = [
        lambda x: plan(x).data,
        by_hand(plan, case.function, case.x),
        case.formula(plan.pattern),
    ]
    programs = [olympus.jit(way).lower(x).compile() for way in ways]
    results = [np.asarray(program(x)) for program in programs]
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-4, atol=1e-4)
    seconds = [np.inf] * len(programs)
    for _ in range(ROUNDS):
        for place, program in enumerate(programs):
            start = time.process_time()
            for _ in range(3):
                program(x).block_until_ready()
            seconds[place] = min(seconds[place], (time.process_time() - start) / 3)
    return plan, seconds, [memory(program) for program in programs]


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print("| pattern | entries | products | ms | time to products | to formulas | memory | |")
    print("|---|---|---|---|---|---|---|---|")
    for name, case in cases(n).items():
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        plan, seconds, sizes = measured(case)
        print(
            f"| {name} | {plan.pattern.nnz:,} | {plan.colors} | {1e3 * seconds[0]:.2f} | "
            f"{seconds[0] / seconds[1]:.2f} | {seconds[0] / seconds[2]:.2f} | "
            f"{sizes[0] / sizes[1]:.2f} | {sizes[0] / sizes[2]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
