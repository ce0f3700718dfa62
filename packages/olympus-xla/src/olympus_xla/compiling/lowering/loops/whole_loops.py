# SPDX-License-Identifier: Apache-2.0
"""Loops over vectors of odd length as a whole, where XLA would divide them between two threads.

XLA's CPU backend divides the loop over a large vector into equal parts. If the length is not
divisible, each iteration checks whether its position is in the vector. LLVM vectorizes such a loop
by masked stores, which AMD's processors without AVX-512 execute in tens of cycles, or not at all if
elements have less than 32 bits. So ``x * 2`` takes 1.4 ms of the processor's time for 999,999
numbers of 32 bits, and 0.3 ms for 1,000,000. Arrays of more dimensions are divided by their outer
dimensions, and are checked there only.

The whole loop takes the time of the divided one for an even length, on one thread. It is therefore
worth giving up two threads, but not three, and only in programs that mostly compute such vectors.
Functions that are computed in double precision do more arithmetic than stores, and stay divided.
XLA's older emitters have no checks either, but take up to four times as long for programs that
select between formulas, or scatter.

The group "odd lengths" of the benchmarks covers this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation, Olympuspr, olympusprs_in_params
from olympus_ir.settings import config_flags

from ...cache_key import processor_identity
from ..cpu.choice import is_static, threads
from ..cpu.machine_code import has_slow_masked_stores

__all__ = ["DIVIDING_PASS", "prefers_whole_loops"]

#: The pass of XLA that divides loops among threads.
DIVIDING_PASS = "cpu-parallel-task-assigner"

# XLA divides loops that read and write more than 512 KiB. Results of this many bytes are the
# smallest ones of common operations that it divides.
_SMALLEST = 1 << 17

# XLA divides most loops among as many threads as the root of the number of processors, rounded up.
# This many processors are the most that make two parts.
_MOST_PROCESSORS = 4

# At least this part of the elements of large results must be in vectors of odd length.
_LEAST_SHARE = 0.8

# Operations whose loops gain more without masks than by two threads.
_FAMILIES = frozenset({"elementwise", "shaping", "convolution"})
_OTHERS = frozenset({lax.slice_p, lax.dynamic_slice_p})

# Functions that are computed in double precision or by many formulas.
_LONG_COMPUTATIONS = frozenset(
    (
        lax.sin_p,
        lax.cos_p,
        lax.tan_p,
        lax.atan_p,
        lax.atan2_p,
        lax.cbrt_p,
        lax.pow_p,
        lax.lgamma_p,
        lax.digamma_p,
    )
)


class _Results(NamedTuple):
    """The large results of a program and of its inner programs.

    Attributes:
      elements: their number of elements.
      odd: the number of elements in vectors of odd length whose loops gain without division.
      has_long_computation: whether a vector of odd length is one of `_LONG_COMPUTATIONS`.
    """

    elements: int
    odd: int
    has_long_computation: bool


def prefers_whole_loops(program: Olympuspr) -> bool:
    """Heuristic: returns whether a program for one CPU device is faster with undivided loops."""
    if not (
        config_flags.cpu_lowerings.value
        and 1 < threads() <= _MOST_PROCESSORS
        and has_slow_masked_stores(processor_identity() or "")
    ):
        return False
    results = _large_results(program, {})
    if results.has_long_computation:
        return False
    return results.elements > 0 and results.odd >= _LEAST_SHARE * results.elements


def _large_results(program: Olympuspr, known: dict[int, _Results]) -> _Results:
    """Returns the large results of a program; ``known`` caches them by the program's id."""
    found = known.get(id(program))
    if found is None:
        parts = [part for equation in program.eqns for part in _of_equation(equation, known)]
        found = known[id(program)] = _Results(
            sum(part.elements for part in parts),
            sum(part.odd for part in parts),
            any(part.has_long_computation for part in parts),
        )
    return found


def _of_equation(equation: Equation, known: dict[int, _Results]) -> Iterator[_Results]:
    inner = list(olympusprs_in_params(equation.params))
    if inner:
        yield from (_large_results(program, known) for program in inner)
        return
    primitive = equation.primitive
    gains = primitive.family in _FAMILIES or primitive in _OTHERS
    for var in equation.outvars:
        shape, dtype = getattr(var.aval, "shape", ()), getattr(var.aval, "dtype", None)
        if not is_static(shape):
            continue
        size = math.prod(shape)
        if size * getattr(dtype, "itemsize", 0) >= _SMALLEST:
            is_odd = gains and size % 2 == 1 and size == max(shape)
            yield _Results(size, size * is_odd, is_odd and primitive in _LONG_COMPUTATIONS)
