# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.accelerator LIBRARY=PYTHON ...``: programs on this machine's accelerator.

OLYMPUS, JAX and PyTorch run in alternation, each in a separate process. The table shows the median
time of a call, and the time of the first call, which compiles. Calls do not wait for one another,
so launching overlaps with running. Times never make the command fail.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import models
from .workloads import library

ROOT = Path(__file__).parent.parent
LIBRARIES = ("olympus", "jax", "torch")
_ROUNDS, _SECONDS = 7, 0.15


@dataclasses.dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
      name: the name in the table.
      arrays: maps the modules of a library to the function and its arguments.
      torch: maps the module of PyTorch to a function without arguments; None if there is none.
      flops: the floating-point operations of one call; 0 if they are not counted.
      is_olympus_only: whether only OLYMPUS can run the program.
    """

    name: str
    arrays: Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]
    torch: Callable[[Any], Callable[[], Any]] | None = None
    flops: float = 0.0
    is_olympus_only: bool = False


def normal(lib: Any, *shape: int, dtype: Any = np.float32) -> Any:
    """Returns normally distributed numbers, generated on the accelerator."""
    return lib.random.normal(lib.random.key(sum(shape)), shape, lib.np.float32).astype(dtype)


def bfloat16(lib: Any) -> Any:
    return lib.np.bfloat16


# ---- programs of arrays ----


def small_sum(lib: Any) -> Any:
    return lib.np.add, (normal(lib, 8), normal(lib, 8))


def small_program(lib: Any) -> Any:
    return lib.top.jit(lambda x, y: lib.np.tanh(x) @ y), (normal(lib, 8, 8), normal(lib, 8, 8))


def product(lib: Any) -> Any:
    sides = [normal(lib, 8192, 8192, dtype=bfloat16(lib)) for _ in "xy"]
    return lib.top.jit(lib.np.matmul), tuple(sides)


def softmax(lib: Any) -> Any:
    return lib.top.jit(lib.nn.softmax), (normal(lib, 16384, 8192),)


def softmax_kernel(lib: Any) -> Any:
    kernel = importlib.import_module("olympus_kernels.gpu.softmax").softmax
    return lib.top.jit(kernel), (normal(lib, 16384, 8192),)


def layer_norm(lib: Any) -> Any:
    def normalized(x: Any, weight: Any, bias: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        variance = (centered**2).mean(-1, keepdims=True)
        return centered * lib.lax.rsqrt(variance + 1e-5) * weight + bias

    return lib.top.jit(normalized), (
        normal(lib, 16384, 4096),
        normal(lib, 4096),
        normal(lib, 4096),
    )


def layer_norm_kernel(lib: Any) -> Any:
    kernel = importlib.import_module("olympus_kernels.gpu.layer_norm").layer_norm
    return lib.top.jit(kernel), layer_norm(lib)[1]


# Batch, length, heads, size of a head.
_ATTENTION = 4, 4096, 16, 64
_PRODUCTS = 4 * 4 * 16 * 4096**2 * 64 / 2  # the operations of two products, below the diagonal


def heads(lib: Any) -> tuple[Any, ...]:
    return tuple(normal(lib, *_ATTENTION, dtype=bfloat16(lib)) for _ in "qkv")


def attention(lib: Any) -> Any:
    return lib.top.jit(partial(lib.nn.dot_product_attention, is_causal=True)), heads(lib)


def mha(lib: Any) -> Callable[..., Any]:
    if lib.name == "jax":
        module = importlib.import_module("jax.experimental.pallas.ops.gpu.attention")
    else:
        module = importlib.import_module("olympus_kernels.gpu.attention")
    return lambda q, k, v: module.mha(q, k, v, None, 0.125, True)


def attention_kernel(lib: Any) -> Any:
    return lib.top.jit(mha(lib)), heads(lib)


def summed(lib: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*args).astype(lib.np.float32).sum()


def attention_kernel_gradient(lib: Any) -> Any:
    return lib.top.jit(lib.top.grad(summed(lib, mha(lib)), (0, 1, 2))), heads(lib)


def total(lib: Any) -> Any:
    return lib.top.jit(lib.np.sum), (normal(lib, 1 << 28),)


def running_total(lib: Any) -> Any:
    return lib.top.jit(lib.np.cumsum), (normal(lib, 1 << 26),)


def sort(lib: Any) -> Any:
    return lib.top.jit(lib.np.sort), (normal(lib, 1 << 25),)


def normal_numbers(lib: Any) -> Any:
    return lib.top.jit(lambda key: lib.random.normal(key, (1 << 26,))), (lib.random.key(0),)


def convolution(lib: Any) -> Any:
    x, w = normal(lib, 128, 64, 56, 56), normal(lib, 64, 64, 3, 3)
    return lib.top.jit(lambda x, w: lib.lax.conv(x, w, (1, 1), "SAME")), (x, w)


def small_transformer(lib: Any) -> Any:
    step, arguments = models.transformer(lib)
    return lib.top.jit(step), lib.top.device_put(arguments)


def recurrence(lib: Any) -> Any:
    def run(w: Any, h: Any) -> Any:
        return lib.lax.scan(lambda h, _: (lib.np.tanh(w @ h), None), h, None, length=500)[0]

    return lib.top.jit(run), (normal(lib, 128, 128) / 20, normal(lib, 128, 32))


# ---- the same programs of PyTorch ----


def on_gpu(torch: Any, *shape: int, dtype: str = "float32") -> Any:
    return torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype))


def torch_sum(torch: Any) -> Any:
    return partial(torch.add, on_gpu(torch, 8), on_gpu(torch, 8))


def torch_product(torch: Any) -> Any:
    x, y = (on_gpu(torch, 8192, 8192, dtype="bfloat16") for _ in "xy")
    return partial(torch.matmul, x, y)


def torch_softmax(torch: Any) -> Any:
    return partial(torch.softmax, on_gpu(torch, 16384, 8192), -1)


def torch_layer_norm(torch: Any) -> Any:
    x, weight, bias = on_gpu(torch, 16384, 4096), on_gpu(torch, 4096), on_gpu(torch, 4096)
    return lambda: torch.nn.functional.layer_norm(x, (4096,), weight, bias)


def torch_attention(torch: Any, gradient: bool = False) -> Any:
    batch, length, count, size = _ATTENTION
    qkv = [on_gpu(torch, batch, count, length, size, dtype="bfloat16") for _ in "qkv"]
    attend = torch.nn.functional.scaled_dot_product_attention
    if not gradient:
        return lambda: attend(*qkv, is_causal=True)
    qkv = [each.requires_grad_() for each in qkv]
    return lambda: torch.autograd.grad(attend(*qkv, is_causal=True).float().sum(), qkv)


def torch_convolution(torch: Any) -> Any:
    x, w = on_gpu(torch, 128, 64, 56, 56), on_gpu(torch, 64, 64, 3, 3)
    return lambda: torch.nn.functional.conv2d(x, w, padding=1)


PROGRAMS = (
    Program("x + y, 8 elements, eager", small_sum, torch_sum),
    Program("call of a small jitted function", small_program),
    Program("product 8192 x 8192, bfloat16", product, torch_product, 2 * 8192.0**3),
    Program("softmax 16384 x 8192", softmax, torch_softmax),
    Program("softmax by kernel", softmax_kernel, None, is_olympus_only=True),
    Program("layer norm 16384 x 4096", layer_norm, torch_layer_norm),
    Program("layer norm by kernel", layer_norm_kernel, None, is_olympus_only=True),
    Program("attention, causal, by arrays", attention, torch_attention, _PRODUCTS),
    Program("attention by kernel", attention_kernel, torch_attention, _PRODUCTS),
    Program(
        "gradient of attention by kernel",
        attention_kernel_gradient,
        partial(torch_attention, gradient=True),
        3.5 * _PRODUCTS,
    ),
    Program("sum of 2^28", total, lambda torch: on_gpu(torch, 1 << 28).sum),
    Program("cumsum of 2^26", running_total, lambda t: partial(on_gpu(t, 1 << 26).cumsum, 0)),
    Program("sort of 2^25", sort, lambda torch: on_gpu(torch, 1 << 25).sort),
    Program("2^26 normal numbers", normal_numbers, lambda t: lambda: on_gpu(t, 1 << 26)),
    Program("convolution 128 x 64 x 56 x 56, 64 filters", convolution, torch_convolution),
    Program("training step of a small transformer", small_transformer),
    Program("500 steps of a recurrence", recurrence),
)  # fmt: skip


# ---- measuring ----


def timed(call: Callable[[], Any], wait: Callable[[Any], Any]) -> dict[str, float]:
    """Returns the seconds of the first call, and the median of later calls."""
    started = time.perf_counter()
    wait(call())
    first = time.perf_counter() - started
    wait(call())
    started = time.perf_counter()
    wait(call())
    one = time.perf_counter() - started
    count = max(1, min(2000, int(_SECONDS / max(one, 1e-6))))
    times = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        for _ in range(count):
            result = call()
        wait(result)
        times.append((time.perf_counter() - started) / count)
    return {"first": first, "seconds": statistics.median(times)}


def call_of(name: str, program: Program) -> tuple[Callable[[], Any], Callable[[Any], Any]] | None:
    """Returns a library's call of a program, and a function that waits for its result."""
    if name == "torch":
        if program.torch is None:
            return None
        torch = importlib.import_module("torch")
        return program.torch(torch), lambda _: torch.cuda.synchronize()
    if program.is_olympus_only and name != "olympus":
        return None
    lib = library(name)
    function, arguments = program.arrays(lib)
    return partial(function, *arguments), lib.top.block_until_ready


def measured(name: str) -> dict[str, dict[str, Any]]:
    """Returns the figures of all programs with one library; "error" for programs that failed."""
    figures: dict[str, dict[str, Any]] = {}
    for program in PROGRAMS:
        try:
            found = call_of(name, program)
            if found is not None:
                figures[program.name] = timed(*found)
        except Exception as error:
            figures[program.name] = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    return figures


def shown(figure: dict[str, Any] | None, flops: float) -> str:
    """Returns the cell of a table: microseconds, and the rate if operations are counted."""
    if figure is None:
        return "-"
    if "error" in figure:
        return "failed"
    rate = f" ({flops / figure['seconds'] / 1e12:.0f} TFLOP/s)" if flops else ""
    return f"{1e6 * figure['seconds']:.4g}{rate}"


def table(figures: dict[str, dict[str, Any]]) -> str:
    """Returns the figures in Markdown."""
    heads = " | ".join(figures)
    lines = [f"| µs a call | {heads} |", "| --- |" + " --- |" * len(figures)]
    for program in PROGRAMS:
        cells = [shown(found.get(program.name), program.flops) for found in figures.values()]
        lines.append(f"| {program.name} | {' | '.join(cells)} |")
    lines += ["", f"| s for the first call | {heads} |", "| --- |" + " --- |" * len(figures)]
    for program in PROGRAMS:
        firsts = [found.get(program.name, {}).get("first") for found in figures.values()]
        cells = ["-" if first is None else f"{first:.2f}" for first in firsts]
        lines.append(f"| {program.name} | {' | '.join(cells)} |")
    errors = [
        f"{name}, {program}: {figure['error']}"
        for name, found in figures.items()
        for program, figure in found.items()
        if "error" in figure
    ]
    return "\n".join([*lines, "", *errors])


def main() -> None:
    """Measures the given libraries and prints the table; fails if OLYMPUS cannot run a program."""
    parser = argparse.ArgumentParser(prog="benchmarks.accelerator")
    parser.add_argument("peers", nargs="*", help="LIBRARY=PYTHON, such as jax=/path/to/python")
    parser.add_argument("--measure", choices=LIBRARIES, help="measure one library in this process")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments.measure)))
        return
    pythons = {"olympus": sys.executable, **dict(peer.split("=", 1) for peer in arguments.peers)}
    figures = {}
    for name, python in pythons.items():
        command = [python, "-m", "benchmarks.accelerator", "--measure", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
        figures[name] = json.loads(done.stdout.splitlines()[-1])
    print(table(figures))
    if any("error" in figure for figure in figures["olympus"].values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
