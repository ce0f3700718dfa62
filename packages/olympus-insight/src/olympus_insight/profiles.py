# SPDX-License-Identifier: Apache-2.0
"""`profile`: the time, the operations and the bytes of a program, by the user's lines."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from olympus_ir.diagnostics.lines import Line
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import PyTree
from olympus_xla.arrays.transfer import block_until_ready
from olympus_xla.calls.copies import copy_with_sharding
from olympus_xla.profiling.profiler import ProfileOptions, record

from . import pages, roofline_pictures
from .compiled_modules import Instruction, Module, module_of
from .costs import Cost, count_text
from .flames import flame_graph
from .instruction_costs import cost_of
from .machine_rates import Rates, rates_of
from .stages import Stages, format_bytes, stages_of

__all__ = ["Operation", "Profile", "profile"]

_MOST_ROWS = 20
# Runs are measured for the first time; for up to the second time if they are fewer than three.
_LEAST_SECONDS, _MOST_SECONDS, _LEAST_RUNS, _MOST_RUNS = 0.2, 0.5, 3, 10


class Operation(NamedTuple):
    """Measured execution of a compiled operation.

    Attributes:
      name: the name that the compiler gave the operation.
      origin: the equation of the operation, such as ``jit(step)/jvp()/dot_general``.
      line: the user's innermost line; None if it is not known.
      stack: the user's lines, innermost first.
      seconds: the time in one run, without the time of nested operations.
      executions: the number of executions in one run.
      flops: the number of arithmetic operations in one run.
      bytes: the number of bytes that are read and written in one run.
    """

    name: str
    origin: str
    line: Line | None
    stack: tuple[Line, ...]
    seconds: float
    executions: float
    flops: float
    bytes: float

    @property
    def short_name(self) -> str:
        """The primitive of the operation; the compiler's name if the primitive is not known."""
        return self.origin.rpartition("/")[2] or self.name

    @property
    def intensity(self) -> float:
        """The number of operations per byte."""
        return self.flops / self.bytes if self.bytes else 0.0


class Profile:
    """The measured cost of a program.

    Attributes:
      name: the name of the program.
      seconds: the time of one run.
      runs: the number of runs that were measured.
      operations: the operations, the slowest first.
      flops: the arithmetic operations of one run.
      bytes: the bytes that the operations of one run read and write.
      rates: the rates that the device reaches.
      timeline: the seconds of each step of the first call: ``"trace"``, ``"lower"``, ``"compile"``
        and ``"run"``.
    """

    def __init__(
        self,
        name: str,
        seconds: float,
        runs: int,
        operations: tuple[Operation, ...],
        rates: Rates,
        timeline: dict[str, float],
    ) -> None:
        self.name = name
        self.seconds = seconds
        self.runs = runs
        self.operations = operations
        self.flops = sum(operation.flops for operation in operations)
        self.bytes = sum(operation.bytes for operation in operations)
        self.rates = rates
        self.timeline = timeline

    @property
    def bound(self) -> float:
        """The shortest possible time of a run, by the roofline model at the device's rates."""
        return sum(
            max(operation.flops / self.rates.flops, operation.bytes / self.rates.bytes)
            for operation in self.operations
        )

    @property
    def lines(self) -> dict[Line | None, float]:
        """The seconds of one run by the user's innermost line, the slowest first."""
        found: dict[Line | None, float] = defaultdict(float)
        for operation in self.operations:
            found[operation.line] += operation.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def _summary(self) -> list[str]:
        steps = ", ".join(
            f"{name} {_seconds_text(seconds)}" for name, seconds in self.timeline.items()
        )
        reached = (
            f"{count_text(self.flops / self.seconds, 'flop/s')} of "
            f"{count_text(self.rates.flops, 'flop/s')}, "
            f"{count_text(self.bytes / self.seconds, 'B/s')} of "
            f"{count_text(self.rates.bytes, 'B/s')}"
        )
        cost = f"{count_text(self.flops)}, {format_bytes(self.bytes)} read and written"
        measured = "measured once" if self.runs == 1 else f"the median of {self.runs} runs"
        times = f"{_seconds_text(self.seconds)} ({measured})"
        return [
            f"{self.name} runs in {times}: {cost}",
            f"  first call: {steps}",
            f"  {reached}; the roofline allows {_seconds_text(self.bound)}",
        ]

    def _rows(self) -> Iterator[tuple[str, ...]]:
        total = sum(operation.seconds for operation in self.operations) or 1.0
        for operation in self.operations[:_MOST_ROWS]:
            yield (
                _seconds_text(operation.seconds),
                f"{operation.seconds / total:.1%}",
                count_text(operation.flops),
                format_bytes(operation.bytes),
                operation.short_name,
                str(operation.line or ""),
            )

    def __str__(self) -> str:
        rows = [("time", "share", "flops", "bytes", "operation", ""), *self._rows()]
        others = self.operations[_MOST_ROWS:]
        if others:
            seconds = _seconds_text(sum(other.seconds for other in others))
            rows.append((seconds, "", "", "", f"{len(others)} other operations", ""))
        lines = self._summary()
        for seconds, share, flops, moved, name, line in rows:
            location = f" at {line}" if line else ""
            lines.append(f"  {seconds:>9} {share:>6} {flops:>11} {moved:>10}  {name}{location}")
        return "\n".join(lines)

    __repr__ = __str__

    def flame_graph(self) -> str:
        """Returns a flame graph of the time by the user's lines, as SVG."""
        stacks = []
        for operation in self.operations:
            around = [
                f"{line.function} {os.path.basename(line)}" for line in reversed(operation.stack)
            ]
            stacks.append(([*around, operation.short_name], operation.seconds))
        return flame_graph(self.name, stacks)

    def roofline(self) -> str:
        """Returns a picture of the operations under the roofline of the device, as SVG."""
        return roofline_pictures.roofline(self.operations, self.rates)

    def _repr_html_(self) -> str:
        headings = ("time", "share", "operations", "bytes", "operation", "line")
        lines = [
            (_seconds_text(seconds), str(line or "unknown"), line.text if line else "")
            for line, seconds in list(self.lines.items())[:_MOST_ROWS]
        ]
        title, *rest = self._summary()
        return pages.fragment(
            f"<h3>{pages.escaped(title)}</h3>",
            *(f"<p>{pages.escaped(paragraph)}</p>" for paragraph in rest),
            roofline_pictures.timeline(self.timeline),
            "<h3>Time by stack of lines</h3>",
            self.flame_graph(),
            "<h3>Time by operation</h3>",
            pages.table(headings, self._rows()),
            "<h3>Time by line</h3>",
            pages.table(("time", "line", ""), lines),
            "<h3>Roofline</h3>",
            self.roofline(),
        )

    @api_boundary
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as an HTML file that opens without a network."""
        pages.save(path, f"Profile of {self.name}", self)


def _seconds_text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def profile(fun: Any, *args: PyTree, **kwargs: PyTree) -> Profile:
    """Measures a function: its time, operations and bytes, by the user's lines.

    The function is compiled, run once, and then measured under the profiler of the platform: in up
    to ten runs, or in one if a run takes longer than half a second.
    The operations and bytes of a compiled operation are counted by a heuristic: an elementwise
    operation costs one operation for each element, and a fusion moves only its own operands and
    results. Calls of libraries count no operations. The first profile on a device measures its
    rates, for the roofline of Williams, Waterman and Patterson (Communications of the ACM 52,
    2009).

    Args:
      fun: a function, compiled or not. Donated arguments are copied for each run.
      *args: the arguments of ``fun``.
      **kwargs: the keyword arguments of the function.

    Returns:
      A `Profile`: ``seconds``, ``flops``, ``bytes``, ``operations`` and ``lines``. The profile
      prints as text, notebooks show a table with a flame graph, and ``save`` writes an HTML file.

    Raises:
      TypeError: ``fun`` is not callable.
      RuntimeError: a trace is being recorded already.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> report = profile(lambda x: lax.dot(x, x), np.ones((64, 64), np.float32))
      >>> report.flops == 2 * 64**3
      True
    """
    stages = stages_of(fun, args, kwargs)
    run = _runner(stages, args, kwargs)
    first = run()
    times: list[float] = []
    options = ProfileOptions()
    options.python_tracer_level = 0
    trace = record(lambda: times.extend(_repeated(run)), options)
    runs = len(times)
    module = module_of(stages.compiled.runtime_executable())
    measured = _measured(trace, module, runs)
    device = stages.compiled.runtime_executable().local_devices()[0]
    return Profile(
        stages.traced.fun_name,
        sorted(times)[len(times) // 2],
        runs,
        tuple(sorted(measured, key=lambda operation: -operation.seconds)),
        rates_of(device),
        {**stages.seconds, "run": first},
    )


def _repeated(run: Callable[[], float]) -> Iterator[float]:
    """Runs a program as often as the time allows; yields the seconds of each run."""
    total = 0.0
    for number in range(_MOST_RUNS):
        if number and total > (_LEAST_SECONDS if number >= _LEAST_RUNS else _MOST_SECONDS):
            return
        seconds = run()
        total += seconds
        yield seconds


def _runner(stages: Stages, args: tuple, kwargs: dict[str, Any]) -> Callable[[], float]:
    """Returns a function that runs the executable once and returns the seconds."""
    dynamic = _dynamic(stages, args, kwargs)
    donated = [info.donated for info in pytrees.tree_leaves(stages.compiled.args_info)]
    shardings = [getattr(leaf, "sharding", None) for leaf in pytrees.tree_leaves(dynamic)]

    def run() -> float:
        leaves, tree = pytrees.tree_flatten(dynamic)
        if any(donated):
            leaves = [
                copy_with_sharding(leaf, sharding) if gone and sharding is not None else leaf
                for leaf, gone, sharding in zip(leaves, donated, shardings, strict=True)
            ]
        args, kwargs = pytrees.tree_unflatten(tree, block_until_ready(leaves))
        start = time.perf_counter()
        block_until_ready(stages.compiled(*args, **kwargs))
        return time.perf_counter() - start

    return run


def _dynamic(stages: Stages, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict]:
    """Returns the dynamic arguments; a compiled function accepts no others."""
    options = stages.traced._options
    kept = tuple(
        arg
        for position, arg in enumerate(args)
        if position not in {number % len(args) for number in options.static_argnums}
    )
    names = options.static_argnames
    return kept, {name: value for name, value in kwargs.items() if name not in names}


def _measured(trace: Any, module: Module, runs: int) -> Iterator[Operation]:
    """Yields the operations of a module that a trace contains, with their times for one run."""
    seconds: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    ordinals: set[int] = set()
    for line in _lines(trace):
        for name, own in _own_times(line, module.name, ordinals):
            seconds[name] += own
            counts[name] += 1
    named = {instruction.name: instruction for instruction in module.instructions.values()}
    devices = max(len(ordinals), 1)
    for name, total in seconds.items():
        instruction = named.get(name)
        count = counts[name] / runs / devices
        cost = Cost(0, 0) if instruction is None else cost_of(module, instruction)
        if instruction is not None and instruction.opcode in ("while", "call", "conditional"):
            cost = Cost(0, 0)  # the nested operations are counted separately
        yield _operation(name, instruction, total / runs / devices, count, cost)


def _operation(
    name: str, instruction: Instruction | None, seconds: float, count: float, cost: Cost
) -> Operation:
    origin = instruction.origin if instruction else ""
    stack = instruction.stack if instruction else ()
    line = stack[0] if stack else None
    return Operation(
        name, origin, line, stack, seconds, count, cost.flops * count, cost.bytes * count
    )


def _lines(trace: Any) -> Iterator[Any]:
    """Yields the timelines of a trace that contain operations; accelerators have one timeline."""
    for plane in trace.planes:
        lines = list(plane.lines)
        chosen = [line for line in lines if line.name == "XLA Ops"]
        yield from chosen or lines


def _own_times(line: Any, module: str, ordinals: set[int]) -> Iterator[tuple[str, float]]:
    """Yields the operations of one timeline, with their seconds without nested operations.

    The ordinals of the devices that ran them are added to ``ordinals``.
    """
    events = []
    for event in line.events:
        stats = dict(event.stats)
        if "hlo_op" in stats and stats.get("hlo_module", module) == module:
            ordinals.add(stats.get("device_ordinal", 0))
            start = event.start_ns
            events.append((start, -event.duration_ns, str(stats["hlo_op"])))
    events.sort()
    around: list[list[Any]] = []  # the operations that have not ended: name, end, own time
    for start, negative, name in events:
        end = start - negative
        while around and around[-1][1] <= start:
            ended = around.pop()
            yield ended[0], ended[2] / 1e9
        if around:
            around[-1][2] -= min(end, around[-1][1]) - start
        around.append([name, end, end - start])
    for name, _, own in around:
        yield name, own / 1e9
