# SPDX-License-Identifier: Apache-2.0
"""Tiers of compiled functions: first the NumPy reference, then the executable.

With ``jit(f, tiers=True)`` or the flag ``olympus_tiers``, a call whose program is not compiled yet
runs equation by equation on the reference. Another thread compiles the program: at its second call,
after `_PATIENCE` seconds, or if someone waits for it. A program that is called once and then
dropped, as in most tests, is never compiled. A call switches to the executable as soon as there is
one, even between two equations, unless the program has already called Python functions, which must
run only once.

Programs that the reference cannot run, such as programs over several devices, are compiled by their
first call.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import EvaluationTrace, Tracer, set_current_trace
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings.config import config
from olympus_ir.settings.configuration import State
from olympus_ir.trees.function_caches import FunctionCache
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.memory_spaces import on_host

from ..._jaxlib import ArrayImpl
from ...compiling.placement.placements import Placement, platform_of
from .. import effect_tokens
from ..compiled import Compiled, compile_lowered
from ..program_executables import lowered_module
from .cold_evaluation import (
    device_array,
    is_common,
    is_of_instruction_set,
    placement_on_cpu,
    plain_circumstances,
    reference_array,
)

__all__ = ["evaluate", "note_call", "tier_of", "wait"]

# A program is compiled after this many seconds, even if it is not called again.
_PATIENCE = 0.25
# With more elements, reference rules that loop in Python would take longer than a compilation.
_MOST_ELEMENTS = 1 << 22
_MOST_ELEMENTS_IN_A_LOOP = 1 << 14
_LOOPS = frozenset(("convolution", "fft", "linalg", "ragged", "special", "windows"))


class _Compilation:
    """Compilation of a program for one placement, in the compiler's thread.

    Attributes:
      done: an event that is set when `compiled` or `error` is known.
      calls: the number of calls so far.
    """

    def __init__(self, program: TracedProgram, options: JitOptions, placement: Placement) -> None:
        self._program, self._options, self._placement = program, options, placement
        # This thread's overrides of flags that lowering reads.
        self._overrides = [(state, state.get_local()) for state in _states()]
        self.done = threading.Event()
        self.calls = 0
        self.compiled: Compiled | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        before = [state.swap_local(value) for state, value in self._overrides]
        try:
            platform = platform_of(self._placement.devices[0])
            lowered = lowered_module(self._program, (platform,), self._placement, self._options)
            options = dict(self._options.compiler_options)
            self.compiled = compile_lowered(lowered, self._placement, compiler_options=options)
        except BaseException as error:  # the next call raises the error
            self.error = error
        finally:
            for (state, _), value in zip(self._overrides, before, strict=True):
                state.swap_local(value)
            self.done.set()


def _states() -> list[State]:
    return [flag for flag in config._flags.values() if isinstance(flag, State)]


class _Compiler:
    """Thread that compiles programs in turn, each when it is due.

    It holds weak references to programs that are not due, so the programs of dropped functions are
    not compiled. The thread ends when no program is left.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._waiting: list[tuple[float, int, Callable[[], _Compilation | None]]] = []
        self._is_running = False

    def submit(self, compilation: _Compilation, delay: float) -> None:
        """Compiles a program after a delay in seconds.

        Without a delay, the program is compiled before all waiting programs.
        """
        reference = weakref.ref(compilation) if delay else lambda: compilation
        with self._changed:
            entry = (time.monotonic() + delay if delay else 0.0, next(self._numbers), reference)
            heapq.heappush(self._waiting, entry)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="olympus-tiers", daemon=True).start()
            self._changed.notify()

    def _run(self) -> None:
        while (compilation := self._next()) is not None:
            if not compilation.done.is_set():
                compilation.run()
            del compilation

    def _next(self) -> _Compilation | None:
        """Waits for the next compilation that is due; returns None if there is none left."""
        with self._changed:
            while self._waiting:
                due, _, reference = self._waiting[0]
                remaining = due - time.monotonic()
                if remaining > 0:
                    self._changed.wait(remaining)
                    continue
                heapq.heappop(self._waiting)
                compilation = reference()
                if compilation is not None:
                    return compilation
            self._is_running = False
            return None


_compiler = _Compiler()


class _Pending:
    """Compilations of a program, by placement, that no call has used yet."""

    __slots__ = ("by_placement", "fits")

    def __init__(self, program: TracedProgram) -> None:
        closed = program.closed
        avals = (*closed.in_avals, *closed.out_avals)
        self.by_placement: dict[Placement, _Compilation] = {}
        self.fits = (
            type(program) is TracedProgram
            and all(type(aval) is ShapedArray and not aval.vma for aval in avals)
            and all(is_common(aval.dtype) for aval in avals)
            and all(type(size) is int for aval in avals for size in aval.shape)
            and not on_host(avals)
        )


# Stores the pending compilations of each function under the key _ALL, the newest last.
_of_functions = FunctionCache()
_ALL = "compilations"


def note_call(fun: Callable[..., Any], program: TracedProgram) -> None:
    """Records that a function has called a program, for `tier_of` and `wait`."""
    pending = program.uncompiled
    if type(pending) is _Pending and pending.by_placement:
        known = _of_functions.of(fun).setdefault(_ALL, [])
        for compilation in pending.by_placement.values():
            if compilation in known:
                known.remove(compilation)
            known.append(compilation)
        known[:-1] = [task for task in known[:-1] if not task.done.is_set()]


def tier_of(fun: Callable[..., Any]) -> str | None:
    """Returns the tier of the signature of the function's last call.

    Returns:
      "reference" or "compiled"; None if no call has run on the reference.
    """
    known = _of_functions.of(fun).get(_ALL)
    if not known:
        return None
    return "compiled" if known[-1].done.is_set() else "reference"


def wait(fun: Callable[..., Any]) -> None:
    """Waits for the compilations of all signatures of a function."""
    pending = [task for task in _of_functions.of(fun).get(_ALL, ()) if not task.done.is_set()]
    for task in pending:
        _compiler.submit(task, 0)
    for task in pending:
        task.done.wait()


# ---- evaluation ----


def evaluate(
    program: TracedProgram, options: JitOptions, operands: Sequence[Any]
) -> list[Any] | None:
    """Evaluates a program on the reference; returns None if the executable is to be used.

    Args:
      program: the program.
      options: the options of the compilation.
      operands: the flat operands.

    Raises:
      Exception: the error of the compilation, or of a Python function that the program calls.
    """
    pending = program.uncompiled
    if type(pending) is not _Pending:
        pending = program.uncompiled = _Pending(program)
    placement = _placement_of_call(pending, program, options, operands)
    if placement is None:
        return None
    compilation = pending.by_placement.get(placement)
    if compilation is None:
        compilation = pending.by_placement[placement] = _Compilation(program, options, placement)
    if not compilation.done.is_set():
        compilation.calls += 1
        if compilation.calls < 3:
            _compiler.submit(compilation, _PATIENCE if compilation.calls == 1 else 0)
        results = _on_reference(program, operands, placement, compilation)
        if results is not None:
            return results
        _compiler.submit(compilation, 0)
        compilation.done.wait()
    pending.by_placement.pop(placement, None)
    if compilation.error is not None:
        raise compilation.error
    program.executables[placement] = compilation.compiled
    return None


def _placement_of_call(
    pending: _Pending, program: TracedProgram, options: JitOptions, operands: Sequence[Any]
) -> Placement | None:
    """Returns the placement of a call for the reference; None if the executable is to be used."""
    if not pending.fits or not plain_circumstances(options):
        return None
    if any(isinstance(operand, Tracer) for operand in operands):
        return None
    placement = placement_on_cpu(program, options, operands)
    return None if placement in program.executables else placement


def _on_reference(
    program: TracedProgram,
    operands: Sequence[Any],
    placement: Placement,
    compilation: _Compilation,
) -> list[Any] | None:
    """Returns the results of the reference; None if the executable is to be used."""
    closed = program.closed
    if closed.effects:
        effect_tokens.barrier()  # The effects of programs that are still running come first.
    trace = _TierTrace(compilation)
    try:
        with set_current_trace(trace), np.errstate(all="ignore"):
            arrays = map(reference_array, operands, closed.in_avals)
            values = eval_olympuspr(closed.jaxpr, closed.consts, *arrays)
    except (_AbandonedError, MissingRuleError, MemoryError, ValueError):
        if trace.has_called_python:
            raise
        return None  # the executable will report any error that the user should see
    results = [
        device_array(value, aval, placement.replicated, placement.committed)
        for value, aval in zip(values, closed.out_avals, strict=True)
    ]
    if any(program.params["donated_invars"]):
        _delete_donated(program, operands)
    return results


def _delete_donated(program: TracedProgram, operands: Sequence[Any]) -> None:
    """Deletes the donated operands whose memory the compiled program would have reused."""
    closed = program.closed
    used = {atom for equation in closed.jaxpr.eqns for atom in equation.invars}
    used.update(closed.jaxpr.outvars)
    free = [_bytes(aval) for aval in closed.out_avals]
    donated = program.params["donated_invars"]
    for operand, var, is_donated in zip(operands, closed.jaxpr.invars, donated, strict=True):
        if is_donated and var in used and type(operand) is ArrayImpl and _bytes(var.aval) in free:
            free.remove(_bytes(var.aval))
            operand.delete()


def _bytes(aval: Any) -> int:
    return aval.size * aval.dtype.itemsize


class _AbandonedError(Exception):
    """Error that stops the evaluation because the executable is ready."""


class _TierTrace(EvaluationTrace):
    """Interpreter that evaluates primitives by reference rules until the program is compiled.

    Attributes:
      has_called_python: whether the program has called a Python function, which must happen only
        once.
    """

    __slots__ = ("_compilation", "has_called_python")

    def __init__(self, compilation: _Compilation) -> None:
        super().__init__()
        self._compilation = compilation
        self.has_called_python = False

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        if not self.has_called_python:
            if self._compilation.done.is_set() and self._compilation.error is None:
                raise _AbandonedError
            most = _MOST_ELEMENTS_IN_A_LOOP if primitive.family in _LOOPS else _MOST_ELEMENTS
            if not is_of_instruction_set(primitive):
                raise _AbandonedError
            if any(get_aval(arg).size > most for arg in args):
                raise _AbandonedError
            self.has_called_python = primitive.family == "callbacks"
        return reference_evaluator.evaluate(primitive, args, params)
