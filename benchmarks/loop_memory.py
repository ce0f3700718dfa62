# SPDX-License-Identifier: Apache-2.0
"""Measures memory and time of the gradients of long loops, and draws the picture of docs/loops.md.

Usage: python benchmarks/loop_memory.py docs/loops.svg
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt

import olympus
import olympus.numpy as jnp
from olympus import lax

WIDTH = 64
STEPS = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
MATRIX = 0.1 * olympus.random.normal(olympus.random.key(0), (WIDTH, WIDTH))


def step(c: Any) -> Any:
    return jnp.tanh(MATRIX @ c) + 0.1 * jnp.sin(c)


def of_scan(count: int, checkpoints: Any) -> Callable[[Any], Any]:
    def loop(c: Any) -> Any:
        body = lambda c, _: (step(c), None)  # noqa: E731 - short in place
        return lax.scan(body, c, None, length=count, checkpoints=checkpoints)[0].sum()

    return loop


def of_while(count: int, checkpoints: int) -> Callable[[Any], Any]:
    def loop(c: Any) -> Any:
        start = (jnp.asarray(0), c)
        return lax.while_loop(
            lambda s: s[0] < count, lambda s: (s[0] + 1, step(s[1])), start, checkpoints=checkpoints
        )[1].sum()

    return loop


LOOPS: dict[str, Callable[[int], Callable[[Any], Any]]] = {
    "scan": lambda count: of_scan(count, None),
    'scan, "sqrt"': lambda count: of_scan(count, "sqrt"),
    'scan, "binomial"': lambda count: of_scan(count, "binomial"),
    "while_loop, 32": lambda count: of_while(count, 32),
}


def measured(loop: Callable[[Any], Any]) -> tuple[float, float]:
    """Returns the bytes of temporary memory of a loop's gradient, and its seconds."""
    start = jnp.ones(WIDTH)
    compiled = olympus.jit(olympus.grad(loop)).lower(start).compile()
    compiled(start).block_until_ready()
    seconds = []
    for _ in range(3):
        before = time.perf_counter()
        compiled(start).block_until_ready()
        seconds.append(time.perf_counter() - before)
    return compiled.memory_analysis().temp_size_in_bytes, min(seconds)


def main(path: str) -> None:
    plt.rcParams["svg.hashsalt"] = "loops"
    figure, (memory, duration) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name, make in LOOPS.items():
        figures = [measured(make(count)) for count in STEPS]
        print(name, figures[-1])
        memory.loglog(STEPS, [size / 1e3 for size, _ in figures], "o-", label=name)
        duration.loglog(STEPS, [seconds * 1e3 for _, seconds in figures], "o-", label=name)
    memory.set(xlabel="steps", ylabel="kilobytes", title="temporary memory of the gradient")
    duration.set(xlabel="steps", ylabel="milliseconds", title="time of the gradient")
    memory.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1])
