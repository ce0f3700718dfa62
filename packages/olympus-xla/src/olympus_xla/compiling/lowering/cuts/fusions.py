# SPDX-License-Identifier: Apache-2.0
"""Cuts of chains of operations that XLA's CPU compiler would fuse into ever larger functions.

XLA fuses an elementwise operation into each operation that uses its result. Unrolled code, such as
the gradient of several Runge-Kutta steps, has chains of values with several uses. Each fused
function then repeats the operations of all previous steps, and the compile time grows as the square
or the cube of the number of steps. The compiled program becomes slower, too.

This pass estimates the total number of operations in the fused functions. If the total is much
larger than the number of operations in the program, the pass puts optimization barriers after
values with several uses, which limits the size of fused functions. XLA has a pass that removes
barriers before fusion; it is disabled for such programs (`DISABLED_PASSES`). The benchmarks of the
group "unrolled" cover this module. docs/decisions/043-cut-fusions.md has the measurements.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.programs.olympuspr import (
    Equation,
    Olympuspr,
    Var,
    olympusprs_in_params,
)
from olympus_ir.programs.primitives import Primitive

from ..cpu.choice import is_static
from ..fused import EXPENSIVE, FUSED_FAMILIES, MOVING, is_elementwise_product

__all__ = [
    "DISABLED_PASSES",
    "Cuts",
    "cut",
    "estimated_seconds",
    "grows",
    "is_fused",
    "with_barriers",
]

#: Passes of XLA that must not run on programs with cuts.
# The second pass compiles loops over small arrays by an emitter that does not know barriers.
DISABLED_PASSES = ("cse_barrier_expander", "small-while-loop-hoisting")

# Smaller programs compile quickly anyway.
_FEWEST_EQUATIONS = 48
# The compile time of an operation in a fused function, in seconds: a measured mean.
_SECONDS_OF_OPERATION = 5e-4
# Without a budget, a program is cut only if it has more fused operations than the first number, and
# more than the second number for each equation.
_MOST_OPERATIONS = 2500
_LEAST_GROWTH = 4
# The growth that calls of repeated blocks should bound (../repetition.py).
_LEAST_GROWTH_FOR_CALLS = 2
# Counting stops at this number of operations.
_MOST_COUNTED = 20_000
_MOST_COPIES = 4096
# Sizes of fused functions above which values with several uses are cut. They are tried in order.
_LIMITS = (96, 32, 8)
# A value with a single use is computed once. It is cut only if its function exceeds the limit by
# this factor.
_SINGLE_USE = 8
# Without a budget, a program is cut only if at most this fraction of its fused operations remains.
_LEAST_GAIN = 0.5

_CALLS = frozenset({lax.jit_p, lax.closed_call_p, lax.custom_jvp_call_p, lax.custom_vjp_call_p})


class Cuts(NamedTuple):
    """Cuts of a program, and the estimates by which they were chosen.

    Attributes:
      equations: the equations whose results are cut.
      operations_before: the estimated number of operations in fused functions without cuts.
      operations: the estimated number with the cuts.
      windows: the slices whose starts became values (window_starts.py).
    """

    equations: list[Equation]
    operations_before: int
    operations: int
    windows: Sequence[Equation] = ()


def estimated_seconds(operations: int) -> float:
    """Estimates the compile time of fused functions with this number of operations.

    This is a heuristic: the mean of measured programs.
    """
    return operations * _SECONDS_OF_OPERATION


def cut(
    olympuspr: Olympuspr, platforms: Sequence[str], budget: float | None
) -> tuple[Olympuspr, Cuts | None]:
    """Cuts a program if XLA would fuse its operations into functions that are too large.

    Args:
      olympuspr: the program.
      platforms: the program's platforms; only the CPU's compiler needs cuts.
      budget: the desired compile time in seconds; None to cut only programs that are expected to
        gain much.

    Returns:
      The program with optimization barriers after the cut values, and the cuts. If no cuts are
      needed, the unchanged program and None.
    """
    if len(olympuspr.eqns) < _FEWEST_EQUATIONS or tuple(platforms) != ("cpu",):
        return olympuspr, None
    if budget is None:
        most = max(_MOST_OPERATIONS, _LEAST_GROWTH * len(olympuspr.eqns))
    else:
        most = budget / _SECONDS_OF_OPERATION
    if not _may_grow(olympuspr, most):
        return olympuspr, None
    functions = _Functions(olympuspr)
    before, _ = functions.with_limit(math.inf, _MOST_COUNTED)
    if before <= most:
        return olympuspr, None
    threshold = most if budget is not None else min(most, _LEAST_GAIN * before)
    best, positions = before, set()
    for limit in _LIMITS:
        operations, found = functions.with_limit(limit)
        if operations < best:
            best, positions = operations, found
        if best <= threshold:
            break
    if not positions or (budget is None and best > _LEAST_GAIN * before):
        return olympuspr, None
    cuts = Cuts([olympuspr.eqns[position] for position in sorted(positions)], before, best)
    return with_barriers(olympuspr, positions), cuts


def grows(olympuspr: Olympuspr) -> bool:
    """Returns whether fused functions would have over twice as many operations as the program."""
    functions = _Functions(olympuspr, leaves_out=True)
    most = _LEAST_GROWTH_FOR_CALLS * functions.size
    operations, _ = functions.with_limit(math.inf, most)
    return operations > most


# ---- estimation ----


class _Functions:
    """Estimate of the functions into which the compiler fuses a program's operations.

    Each value has a set of operations: the operations of a fused function whose result is the
    value. The set is an integer with one bit for each operation of the program. For an operation
    that takes elements from other positions, such as a slice, the compiler duplicates the
    operations of its operands. Further bits stand for these copies.

    The compiler leaves an expensive operation out of a function that would repeat its elements, as
    in ``exp(x)[:, None] + y``. The estimate knows this only if ``leaves_out`` is set. For cuts it
    would make programs slower to compile, because too few of them would be cut.

    Attributes:
      size: the number of the program's operations, including those that are not fused.
    """

    def __init__(self, olympuspr: Olympuspr, *, leaves_out: bool = False) -> None:
        self._leaves_out = leaves_out
        self._equations = olympuspr.eqns
        sizes = _Sizes()
        self._sizes = [sizes.of_equation(equation) for equation in olympuspr.eqns]
        self._moves = [sizes.moves(equation) for equation in olympuspr.eqns]
        self.size = sum(max(size, 1) for size in self._sizes)
        self._uses: Counter[Any] = Counter()
        self._fused_uses: Counter[Any] = Counter()
        for equation, size in zip(olympuspr.eqns, self._sizes, strict=True):
            atoms = set(equation.invars)
            self._uses.update(atoms)
            if size:
                self._fused_uses.update(atoms)
        self._uses.update(set(olympuspr.outvars))

    def with_limit(self, limit: float, most: float = math.inf) -> tuple[int, set[int]]:
        """Estimates the number of operations of all fused functions, with cuts.

        Args:
          limit: the size of functions above which values with several uses are cut.
          most: the number at which counting stops.

        Returns:
          The number of operations, and the positions of the equations whose results are cut.
        """
        functions: dict[Any, _Operations] = {}
        remaining = dict(self._uses)
        total, first_bit, stored = 0, 0, 0
        positions: set[int] = set()
        for position, (equation, size) in enumerate(zip(self._equations, self._sizes, strict=True)):
            operands = set(equation.invars)
            if size and self._leaves_out:
                apart = _left_out(equation, operands, functions) & ~stored
                stored |= apart
                total += apart.bit_count()
            members, cheap = _taken(operands, functions, remaining)
            if not size:
                continue
            if self._moves[position]:
                size = min(size + members.bit_count(), _MOST_COPIES)
                members = cheap = 0
            own = ((1 << size) - 1) << first_bit
            members |= own
            cheap |= own
            first_bit += size
            count = members.bit_count()
            if self._is_cut(equation, count, limit):
                positions.add(position)
                total += count
                continue
            if self._is_kept(equation):
                total += count
                if total > most:
                    break
            is_expensive = _is_computed_once(equation.primitive)
            if not is_expensive or self._uses[equation.outvars[0]] < 2:
                found = _Operations(members, 0 if is_expensive else cheap)
                functions.update((var, found) for var in equation.outvars)
        return total, positions

    def _is_kept(self, equation: Equation) -> bool:
        """Returns whether a result of an equation is stored in memory even without a cut."""
        uses, fused = self._uses, self._fused_uses
        return any(
            uses[var] > fused[var] or (uses[var] > 1 and _is_computed_once(equation.primitive))
            for var in equation.outvars
        )

    def _is_cut(self, equation: Equation, count: int, limit: float) -> bool:
        if count <= limit or not any(map(self._fused_uses.__getitem__, equation.outvars)):
            return False
        return count > _SINGLE_USE * limit or any(self._uses[var] > 1 for var in equation.outvars)


class _Operations(NamedTuple):
    """Operations of the fused function whose result is a value.

    Attributes:
      members: all of them.
      cheap: those that remain if the elements of the value are repeated. The compiler then leaves
        out expensive operations and what these depend on.
    """

    members: int
    cheap: int


def _taken(
    operands: Iterable[Any], functions: dict[Any, _Operations], remaining: dict[Any, int]
) -> tuple[int, int]:
    """Returns the operations of all operands, and forgets operands without further uses."""
    members = cheap = 0
    for atom in operands:
        found = functions.get(atom)
        if found is not None:
            members |= found.members
            cheap |= found.cheap
        remaining[atom] -= 1
        if not remaining[atom]:
            functions.pop(atom, None)
    return members, cheap


def _left_out(
    equation: Equation, operands: Iterable[Any], functions: dict[Any, _Operations]
) -> int:
    """Leaves expensive operations out of operands whose elements an equation repeats.

    Returns:
      These operations, which form functions of their own.
    """
    apart = 0
    for atom in operands:
        found = functions.get(atom)
        if found and found.members != found.cheap and _repeats_elements(equation, atom):
            apart |= found.members & ~found.cheap
            functions[atom] = _Operations(found.cheap, found.cheap)
    return apart


def _repeats_elements(equation: Equation, operand: Any) -> bool:
    """Returns whether an operation uses elements of an operand for several of its result's."""
    primitive, shape = equation.primitive, equation.outvars[0].aval.shape
    if primitive in MOVING and primitive is not lax.gather_p:
        return False
    if not is_static((*shape, *operand.aval.shape)):
        return False
    return math.prod(operand.aval.shape) < math.prod(shape)


class _Sizes:
    """Properties of equations for the estimate. A program with several callers is analyzed once."""

    def __init__(self) -> None:
        self._programs: dict[int, int] = {}
        self._moving: dict[int, bool] = {}

    def of_equation(self, equation: Equation) -> int:
        """Returns the number of operations of an equation; 0 for operations that are not fused."""
        primitive = equation.primitive
        if equation.effects or not is_fused(primitive):
            return 0
        if primitive is lax.dot_general_p:
            return int(is_elementwise_product(equation))
        if primitive not in _CALLS:
            return 1
        sizes = list(map(self._of_program, olympusprs_in_params(equation.params)))
        return sum(sizes) if all(sizes) else 0

    def moves(self, equation: Equation) -> bool:
        """Returns whether an operation takes elements from other positions of its operands."""
        if equation.primitive not in _CALLS:
            return equation.primitive in MOVING
        for program in olympusprs_in_params(equation.params):
            found = self._moving.get(id(program))
            if found is None:
                found = self._moving[id(program)] = any(map(self.moves, program.eqns))
            if found:
                return True
        return False

    def _of_program(self, program: Olympuspr) -> int:
        size = self._programs.get(id(program))
        if size is None:
            sizes = list(map(self.of_equation, program.eqns))
            size = self._programs[id(program)] = sum(sizes) if all(sizes) else 0
        return size


def is_fused(primitive: Primitive) -> bool:
    """Returns whether the compiler fuses a primitive's operations, at least sometimes."""
    return (
        primitive.family in FUSED_FAMILIES or primitive is lax.dot_general_p or primitive in _CALLS
    )


# Treatment of a primitive's operations: they are not fused; or computed at each use; or computed
# only once; or computed at each use with copies of their operands.
_NOWHERE, _ANYWHERE, _ONCE, _MOVED = range(4)
#: The treatment of each primitive seen so far.
_known_primitives: dict[Primitive, int] = {}


def _treatment(primitive: Primitive) -> int:
    if not is_fused(primitive):
        return _NOWHERE
    if _is_computed_once(primitive):
        return _ONCE
    return _MOVED if primitive in MOVING or primitive in _CALLS else _ANYWHERE


def _is_computed_once(primitive: Primitive) -> bool:
    return primitive in EXPENSIVE or primitive.family == "reductions"


def _may_grow(olympuspr: Olympuspr, most: float) -> bool:
    """Returns whether fused functions may have more than ``most`` operations in total.

    Counts an operation once for each path to it, which is an upper bound.
    """
    # This code runs for every equation of every CPU program (benchmark "lower: 2,000 equations").
    equations = olympuspr.eqns
    uses = Counter(chain.from_iterable(map(_operands_of, equations)))
    paths: dict[Any, int] = {}
    known = _known_primitives
    total = operations_so_far = 0
    for equation in equations:
        primitive = equation.primitive
        fused = known.get(primitive)
        if fused is None:
            fused = known[primitive] = _treatment(primitive)
        operations = 1
        for atom in equation.invars:
            if atom in paths:
                operations += paths[atom]
        if fused:
            operations_so_far += operations if fused == _MOVED else 1
            if operations > operations_so_far:
                operations = operations_so_far
            if fused == _ONCE and uses[equation.outvars[0]] > 1:
                total += operations
                continue
            for var in equation.outvars:
                paths[var] = operations
        else:
            total += operations
        if total > most:
            return True
    return total + sum(paths.get(atom, 0) for atom in olympuspr.outvars) > most


_operands_of = operator.attrgetter("invars")


# ---- barriers ----


def with_barriers(olympuspr: Olympuspr, places: set[int]) -> Olympuspr:
    """Returns the program with optimization barriers after some of the equations."""
    renamed: dict[Any, Any] = {}
    equations: list[Equation] = []
    for position, equation in enumerate(olympuspr.eqns):
        if not renamed.keys().isdisjoint(equation.invars):
            equation = equation.map_operands(lambda operand: renamed.get(operand, operand))
        equations.append(equation)
        if position in places:
            cut = list(equation.outvars)
            barred: list[Var] = [Var(var.aval) for var in cut]
            renamed.update(zip(cut, barred, strict=True))
            source = equation.source_info
            equations.append(Equation.pure([*cut], barred, lax.optimization_barrier_p, {}, source))
    results = [renamed.get(var, var) for var in olympuspr.outvars]
    return olympuspr.replace(eqns=equations, outvars=results)
