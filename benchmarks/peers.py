# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.peers LIBRARY=PYTHON ...``: compares operations of libraries.

The libraries run each operation in alternation (`turns`); the table shows the best turn of each.
``--output`` inserts the table into a page, under its heading, and draws a bar chart. The run fails
if results differ, never on time.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import importlib
import itertools
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import turns
from .common_operations import COMMON_OPERATIONS
from .everyday_operations import EVERYDAY_OPERATIONS
from .further_operations import FURTHER_OPERATIONS
from .operations import OPERATIONS as GUARDED_OPERATIONS
from .operations import Operation, names_of
from .wider_operations import WIDER_OPERATIONS

OPERATIONS = (
    *GUARDED_OPERATIONS,
    *COMMON_OPERATIONS,
    *FURTHER_OPERATIONS,
    *WIDER_OPERATIONS,
    *EVERYDAY_OPERATIONS,
)

HEADING = "## Operations beside NumPy, PyTorch and JAX"
LIBRARIES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX", "olympus": "OLYMPUS"}
_COLORS = {"numpy": "#4d77cf", "torch": "#ee4c2c", "jax": "#8a8a8a", "olympus": "#2c9a5b"}
# The allowed difference of results, relative to their norm.
_TOLERANCE = 1e-3

# Reasons for operations that take more than twice as long as with the fastest library.
_MORE_EXACT = (
    "NumPy's kernels for AVX-512 have errors of up to 3 units in the last place; those of OLYMPUS "
    "are below 0.51, by arithmetic in double precision"
)
_BY_FORMULA = "NumPy has a kernel for AVX-512; OLYMPUS uses a formula of exp or log"
_CALL = "the call of NumPy and the wait for XLA's thread take about 0.05 ms"
_OTHER_LAPACK = "OLYMPUS calls the LAPACK that jaxlib registers, as JAX does; PyTorch has MKL"
_ALL_RANGES = "XLA computes the formulas for all ranges of the operand, and selects a result"
_PRODUCTS = "XLA's products of small matrices take twice the time of those of OpenBLAS"
REASONS = {
    "sort of rows": "OLYMPUS calls NumPy's sort after a pass that searches for zeros, NaNs and "
    "subnormal numbers",
    "permutation": "two sorts of all elements by random keys produce JAX's permutation; NumPy "
    "swaps elements, and PyTorch draws places",
    "unique": "after the sort, NumPy finds the first of equal elements, and XLA gathers them",
    **dict.fromkeys(
        ("associative_scan of sums", "cumsum of float64, axis 1"),
        "two passes over blocks, or steps that read one element of each of 8 or 16 rows",
    ),
    "cumsum of int32, axis 1": "a step reads one element of each of 16 rows; NumPy adds one "
    "element of one row in each cycle",
    "kron of 2x2 and 500x500": "the repeated factor, half of the result's size, is written and "
    "read once more",
    "pad": "LLVM chooses between the addresses of an element and of the padding, and gathers; a "
    "padded product, without that choice, takes a third of the time",
    "matrix times vector": "the call and the wait for XLA's thread take a fifth of the time",
    "unique with counts": "after the sort, NumPy finds the first of equal elements, and XLA "
    "gathers them",
    "group norm": "XLA reads the images for the mean, for the variance and for the result",
    "sin of float64": "a pass over the array searches for operands that need more digits of pi",
    **dict.fromkeys(
        ("solve 500x500", "Cholesky factor of 500x500", "eigenvalues of 200x200, symmetric"),
        _OTHER_LAPACK,
    ),
    **dict.fromkeys(("erfc", "erfinv"), _ALL_RANGES),
    "product of 1000 of 64x64": _PRODUCTS,
    "cumsum": "two passes: one sums within the blocks, and one adds the totals of the preceding "
    "blocks",
    **dict.fromkeys(
        ("argmax", "argmin", "argmax of rows", "argmin of rows", "argmin, axis 1"), _CALL
    ),
    **dict.fromkeys(
        ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "cbrt"), _MORE_EXACT
    ),
    **dict.fromkeys(("exp2", "expm1", "log1p", "sinh", "cosh", "arcsinh", "arctanh"), _BY_FORMULA),
    **dict.fromkeys(
        ("floor", "log", "where", "sum", "sum of columns"),
        "the ratio is below 2 in other rounds on the same machine; other programs used its memory, "
        "too",
    ),
    **dict.fromkeys(
        ("cumsum of rows", "cummax of rows"),
        "a step reads one element of each of 16 rows, from 16 cache lines; the ratio is below 1 in "
        "other rounds on the same machine",
    ),
    "histogram of 100 bins": "OLYMPUS guesses each bin, and reads the edges of the bin to correct "
    "the guess",
    "gelu": "XLA's erfc takes nearly all of the time, for the formulas of three ranges",
    "power": (
        "a logarithm and an exponential in double precision, exact to 0.51 units in the last "
        "place; NumPy's kernel for AVX-512 has 0.99"
    ),
    "determinant of 5000 of 8x8": "a factorization by LAPACK for each matrix",
    "isin": "a sort of all elements; NumPy marks the small integers in a table",
    **dict.fromkeys(
        ("nanmax of columns", "nansum of columns"),
        "a pass that replaces NaNs, and one that looks for columns of NaNs only",
    ),
    "partition of rows": "two searches for the largest elements, as in JAX's program",
    "random gamma": "ten random numbers of Threefry for each sample, in the order of JAX",
    "random categorical": "a random number and two logarithms for each category of each draw",
    "random choice without replacement": "the permutation of all elements, as in JAX",
    **dict.fromkeys(
        ("maximum of int8", "maximum of uint8", "maximum of int16", "cross"),
        "the call and the wait for XLA's thread take most of the time",
    ),
    "einsum iij->ij": "a sum of all elements, after those off the diagonal are set to zero",
    "nanmin of rows": "a pass that replaces NaNs, and one that looks for rows of NaNs only",
    **dict.fromkeys(
        ("segments: max", "segments: min"),
        "an update reads the element that the update before it has written",
    ),
    **dict.fromkeys(
        ("partition of a vector", "partition of rows near the end"),
        "two selections of the largest elements, as in JAX's program",
    ),
    "trace, diagonal and einsum ii->i": "sums of all elements, after those off the diagonal are "
    "set to zero",
    "convolution in 4 groups": "the input and the result of each group are transposed",
}


def prepared(library: str, operation: Operation) -> Callable[[], Any] | None:
    """Returns the timed call, which waits for its result; None if the library has none."""
    arrays = operation.operands()
    if library == "torch":
        if operation.torch is None:
            return None
        module = importlib.import_module(library)
        tensors = [module.from_numpy(np.ascontiguousarray(array)) for array in arrays]
        return lambda: operation.torch(module, *tensors)
    names = names_of(library)
    if library == "numpy":
        return (lambda: operation.run(names, *arrays)) if operation.in_numpy else None
    module = importlib.import_module(library)
    run = functools.partial(operation.run, names)
    compiled = module.jit(run) if operation.is_compiled else run
    if not operation.is_wide:
        own = [names.np.asarray(array) for array in arrays]
        return lambda: module.block_until_ready(compiled(*own))
    with module.enable_x64(True):
        wide = [names.np.asarray(array) for array in arrays]

    def call() -> Any:
        with module.enable_x64(True):
            return module.block_until_ready(compiled(*wide))

    return call


def _prepared_by_name(library: str, name: str) -> tuple[Callable[[], Any], float] | None:
    operation = next(known for known in OPERATIONS if known.name == name)
    call = prepared(library, operation)
    return None if call is None else (call, _TOLERANCE)


def differences(figures: dict[str, dict[str, Any]]) -> list[str]:
    """Returns the operations whose results differ from those of OLYMPUS."""
    return [
        f"{library}, {name}: {figure['result']} and {own['result']}"
        for library, found in figures.items()
        for name, figure in found.items()
        for own in [figures["olympus"][name]]
        if not abs(figure["result"] - own["result"]) <= own["size"] + _TOLERANCE
    ]


def times_of(figures: dict[str, dict[str, Any]], name: str) -> dict[str, float]:
    """Returns the seconds of one operation, for each library that has it."""
    return {library: found[name]["seconds"] for library, found in figures.items() if name in found}


def table(figures: dict[str, dict[str, Any]], kind: str) -> str:
    """Returns the table in Markdown: milliseconds, and ratios to the fastest other library."""
    measured = [each for each in OPERATIONS if each.name in figures["olympus"]]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lines = [
        f"Milliseconds of {kind} for a call, in the best of several turns, in which the",
        "libraries alternate; 10^6 float32 elements or 1000 x 1000 unless the name says",
        f"otherwise. All libraries use the same number of cores: {cores}. Measured on",
        f"{datetime.date.today()}, at a load of {os.getloadavg()[0]:.1f}. `nox -s peers` measures",
        "again.",
    ]
    ratios: dict[str, float] = {}
    to_jax: dict[str, float] = {}
    for group, operations in itertools.groupby(measured, lambda each: each.group):
        lines += ["", f"### {group.capitalize()}", ""]
        heads = " | ".join(LIBRARIES[name] for name in figures)
        lines.append(f"| | {heads} | OLYMPUS / best other | OLYMPUS / JAX |")
        lines.append("| --- |" + " --- |" * (len(figures) + 2))
        for operation in operations:
            times = times_of(figures, operation.name)
            others = min(seconds for library, seconds in times.items() if library != "olympus")
            ratios[operation.name] = times["olympus"] / others
            if "jax" in times:
                to_jax[operation.name] = times["olympus"] / times["jax"]
            shown = " | ".join(
                f"{1e3 * times[library]:.3g}" if library in times else "-" for library in figures
            )
            beside_jax = f"{to_jax[operation.name]:.2f}" if "jax" in times else "-"
            lines.append(
                f"| {operation.name} | {shown} | {ratios[operation.name]:.2f} | {beside_jax} |"
            )
    return "\n".join(lines + _summary(ratios, to_jax))


def _summary(ratios: dict[str, float], to_jax: dict[str, float]) -> list[str]:
    """Returns the lines on the mean, and on operations far from the best or slower than JAX."""
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    lines = ["", "### Summary", "", f"The geometric mean of {len(ratios)} ratios is {mean:.2f}."]
    slow = [name for name, ratio in ratios.items() if ratio > 2]
    if slow:
        lines += ["Programs that take more than twice the time of the fastest library:", ""]
    lines += [f"- {name}: {REASONS.get(name, 'not explained yet')}." for name in slow]
    slower = [f"{name} ({ratio:.2f})" for name, ratio in to_jax.items() if ratio > 1.1]
    if slower:
        lines += ["", f"More than 1.1 times the time of JAX: {', '.join(slower)}."]
    return lines


def chart(
    figures: dict[str, dict[str, Any]],
    names: Sequence[str],
    libraries: dict[str, str],
    colors: dict[str, str],
) -> str:
    """Returns a chart of the ratios of times to the best, on a logarithmic scale, as SVG."""
    bar, left, width = 9, 250, 420
    timed = [times_of(figures, name) for name in names]
    worst = max(max(times.values()) / min(times.values()) for times in timed)
    scale = width / math.log10(worst * 1.1)
    parts, y = [], 30
    for position, library in enumerate(figures):
        x = left + 100 * position
        parts.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{colors[library]}"/>')
        parts.append(f'<text x="{x + 15}" y="17">{libraries[library]}</text>')
    for name, times in zip(names, timed, strict=True):
        best = min(times.values())
        parts.append(f'<text x="8" y="{y + 22}">{name}</text>')
        for library, seconds in times.items():
            ratio = seconds / best
            length = max(2.0, scale * math.log10(ratio))
            parts.append(
                f'<rect x="{left}" y="{y}" width="{length:.0f}" height="{bar - 1}" '
                f'fill="{colors[library]}"/>'
            )
            parts.append(
                f'<text x="{left + length + 4:.0f}" y="{y + 8}" font-size="8">{ratio:.1f}</text>'
            )
            y += bar
        y += 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{y}" '
        f'font-family="sans-serif" font-size="12">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def main() -> None:
    """Measures the operations and prints the table; ``--output`` also writes table and chart."""
    parser = argparse.ArgumentParser(prog="benchmarks.peers")
    parser.add_argument("peers", nargs="*", help="LIBRARY=PYTHON, such as jax=/path/to/python")
    turns.add_arguments(parser, LIBRARIES)
    arguments = parser.parse_args()
    if arguments.serve:
        turns.serve(functools.partial(_prepared_by_name, arguments.serve))
        return
    given = dict(peer.split("=", 1) for peer in arguments.peers)
    own = {"numpy": sys.executable, "olympus": sys.executable}
    pythons = {name: (given | own)[name] for name in LIBRARIES if name in given | own}
    names = [each.name for each in OPERATIONS if arguments.only in f"{each.group}: {each.name}"]
    figures = turns.collected(
        pythons, names, module="benchmarks.peers", rounds=arguments.rounds, clock=arguments.clock
    )
    text = table(figures, turns.CLOCKS[arguments.clock])
    print(text)
    if arguments.output is not None:
        picture = arguments.output.with_name("operations.svg")
        picture.write_text(chart(figures, names, LIBRARIES, _COLORS))
        before = arguments.output.read_text().partition(HEADING)[0].rstrip()
        image = f"![Times over the best one]({picture.name})"
        arguments.output.write_text(f"{before}\n\n{HEADING}\n\n{text}\n\n{image}\n")
    if wrong := differences(figures):
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
