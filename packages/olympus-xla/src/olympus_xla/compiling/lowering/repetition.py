# SPDX-License-Identifier: Apache-2.0
"""Outlining: replaces repeated blocks of a program, such as unrolled layers, by calls.

XLA's CPU compiler fuses elementwise operations across layers, and recomputes values that several
operations use. The compile time grows as the cube of the number of equal layers or worse, and the
compiled program becomes slower, too. XLA does not fuse across calls with ``inlineable = false``, so
this pass replaces consecutive equal blocks by calls of one function. The benchmark "gradient of 80
layers" covers this module; docs/decisions/040-repeated-blocks.md has the measurements.

Each equation gets a number, which is equal for equal operations on equal types. Runs of numbers
that repeat with some period are cut into blocks. Blocks whose values are connected in the same way
(equal wiring) become calls. A value that later blocks can recompute cheaply is not stored for them
(recomputation.py). The time of this pass is proportional to the number of equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.name_stacks import Mark, attributes_of
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Literal, Olympuspr, Var
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings.config_flags import outline_repeated_blocks
from olympus_ir.types.effects import NamedAxisEffect

from .context import LoweringContext
from .fused import FUSED_FAMILIES, is_elementwise_product
from .lowered import PARAMETERS_THAT_MATTER
from .recomputation import Uses, recomputed
from .tables import lowering_rules

__all__ = ["block_p", "outlined"]

# Programs with fewer repeated equations compile quickly anyway.
_FEWEST_EQUATIONS = 128
_FEWEST_BLOCKS = 4
# For shorter periods, recomputation costs less than the memory for the results.
_SHORTEST_PERIOD = 6
_LONGEST_PERIOD = 4096
# Several short periods form one block, because a call for every few equations would cost more at
# run time than it saves at compile time.
_BLOCK_SIZE = 16
# A repetition begins where the numbers of this many consecutive equations recur.
_CONTEXT = 4
_CANDIDATE_PERIODS = 8

_PLAIN = frozenset({bool, int, str, type(None)})

block_p = Primitive("block")
block_p.multiple_results = True


@lowering_rules.define(block_p)
def _block(context: LoweringContext, *operands: Any, call_jaxpr: ClosedOlympuspr) -> list[Any]:
    return context.call_separately(call_jaxpr, "block", operands)


def outlined(olympuspr: Olympuspr, platforms: Sequence[str]) -> Olympuspr:
    """Returns the program with repeated blocks replaced by calls.

    Returns the program itself if it has no such blocks.

    Args:
      olympuspr: the program.
      platforms: the program's platforms; only programs for CPUs are changed.
    """
    equations = olympuspr.eqns
    sizes = _sizes(equations)
    if sizes[-1] < _FEWEST_EQUATIONS or tuple(platforms) != ("cpu",):
        return olympuspr
    if not outline_repeated_blocks.value:
        return olympuspr
    numbering = _Numbering()
    runs, uses = _blocks(olympuspr, sizes, numbering)
    if uses is None:
        return olympuspr
    lighter = recomputed(olympuspr, runs, uses)
    if lighter is not olympuspr:
        # the blocks no longer contain the equations that are recomputed elsewhere
        sizes = _sizes(lighter.eqns)
        lighter_runs, lighter_uses = _blocks(lighter, sizes, numbering, _FEWEST_EQUATIONS // 2)
        if lighter_uses is not None and len(lighter_runs) >= len(runs):
            olympuspr, runs, uses = lighter, lighter_runs, lighter_uses
    result: list[Equation] = []
    done = 0
    for blocks in runs:
        calls = _calls(olympuspr, uses, blocks)
        if calls is not None:
            result += [*olympuspr.eqns[done : blocks[0].start], *calls]
            done = blocks[-1].stop
    if not done:
        return olympuspr
    return olympuspr.replace(eqns=[*result, *olympuspr.eqns[done:]])


def _blocks(
    olympuspr: Olympuspr,
    sizes: Sequence[int],
    numbering: _Numbering,
    fewest: int = _FEWEST_EQUATIONS,
) -> tuple[list[list[range]], Uses | None]:
    """Returns the repeated blocks to outline, grouped by run, and the uses of values."""
    numbers = [numbering.of_equation(equation) for equation in olympuspr.eqns]
    stretches = list(_runs(numbers, sizes, fewest))
    if not stretches:
        return [], None
    uses = Uses(olympuspr)
    found = []
    for start, end, period in stretches:
        start = _best_cut(uses, start, end, period)
        size = period * max(1, _BLOCK_SIZE // (sizes[start + period] - sizes[start]))
        count = (end - start) // size
        blocks = [range(start + n * size, start + (n + 1) * size) for n in range(count)]
        if count >= _FEWEST_BLOCKS and _pays(uses, blocks):
            found.append(blocks)
    return found, uses if found else None


# ---- numbers of equations ----


def _sizes(equations: Sequence[Equation]) -> list[int]:
    """Returns cumulative counts of equations, including the equations of called functions."""
    sizes, total = [0], 0
    for equation in equations:
        total += 1
        if equation.primitive.family == "calls":
            for value in equation.params.values():
                if value.__class__ is ClosedOlympuspr:
                    total += len(value.jaxpr.eqns)
        sizes.append(total)
    return sizes


class _Numbering:
    """Assigns a number to each equation.

    Equations with equal primitives, parameters, literals and types get equal numbers.
    """

    def __init__(self) -> None:
        self._interned: dict[Any, int] = {}
        self._programs: dict[int, int] = {}
        # The keys are the ids of equations. The pass runs twice, on programs that share equations.
        self._equations: dict[int, int] = {}

    def of_equation(self, equation: Equation) -> int:
        number = self._equations.get(id(equation))
        if number is None:
            try:
                number = self._intern(self._key(equation))
            except TypeError:  # an unhashable parameter, or an effect, gives a unique number
                number = self._intern(object())
            self._equations[id(equation)] = number
        return number

    def _intern(self, key: Any) -> int:
        return self._interned.setdefault(key, len(self._interned))

    def _key(self, equation: Equation) -> Any:
        # The method is called for every equation of every CPU program, so it makes a flat tuple
        # with few calls (benchmark "lower: 2,000 equations").
        if equation.effects and not all(
            effect.__class__ is NamedAxisEffect for effect in equation.effects
        ):
            raise TypeError("effects are not repeated")
        primitive, params, invars = equation.primitive, equation.params, equation.invars
        key: list[Any] = [primitive, len(invars)]
        for name in PARAMETERS_THAT_MATTER.get(primitive, params) if params else ():
            value = params[name]
            kind = value.__class__
            key += (name, kind, value if kind in _PLAIN else self._parameter_key(value))
        for atom in invars:
            if type(atom) is Literal:
                key.append(np.asarray(atom.val).tobytes())
            key.append(atom.aval)
        for var in equation.outvars:
            key.append(var.aval)
        if Mark.are_used:  # marks differ between blocks
            key.append(tuple(attributes_of(equation.source_info.name_stack).items()))
        return tuple(key)

    def _parameter_key(self, value: Any) -> Any:
        """Returns a key of a parameter. The key of a program depends only on its contents."""
        kind = value.__class__
        if kind is ClosedOlympuspr:
            return tuple(map(id, value.consts)), self._parameter_key(value.jaxpr)
        if kind is Olympuspr:
            number = self._programs.get(id(value))
            if number is None:
                number = self._programs[id(value)] = self._intern(self._program_key(value))
            return number
        if kind is tuple or kind is list:
            return tuple([self._parameter_key(element) for element in value])
        return kind, value

    def _program_key(self, olympuspr: Olympuspr) -> Any:
        names: dict[Any, int] = {}
        for var in (*olympuspr.constvars, *olympuspr.invars):
            names[var] = len(names)
        equations = []
        for equation in olympuspr.eqns:
            wiring = [names[atom] for atom in equation.invars if atom.__class__ is not Literal]
            equations.append((self._key(equation), tuple(wiring)))
            for var in equation.outvars:
                names[var] = len(names)
        results = [
            _operand_key(atom) if atom.__class__ is Literal else names[atom]
            for atom in olympuspr.outvars
        ]
        return tuple(olympuspr.in_avals), tuple(equations), tuple(results)


def _operand_key(atom: Any) -> Any:
    if atom.__class__ is Literal:
        return np.asarray(atom.val).tobytes(), atom.aval
    return atom.aval


# ---- repetition ----


def _runs(
    numbers: Sequence[int], sizes: Sequence[int], fewest: int
) -> Iterator[tuple[int, int, int]]:
    """Yields the start, end and period of each range in which the numbers repeat."""
    following = _next_occurrences(numbers)
    position, length = 0, len(numbers)
    ends: dict[int, int] = {}  # the ends of ranges that were too short, by period
    while position < length:
        candidate = position
        for _ in range(_CANDIDATE_PERIODS):
            candidate = following[candidate]
            period = candidate - position
            if candidate < 0 or period > _LONGEST_PERIOD:
                break
            if position + period * _FEWEST_BLOCKS > length:
                break
            if position < ends.get(period, 0):
                continue
            end = candidate
            while end < length and numbers[end] == numbers[end - period]:
                end += 1
            is_long = sizes[end] - sizes[position] >= fewest
            if is_long and end - position >= period * _FEWEST_BLOCKS:
                if sizes[candidate] - sizes[position] >= _SHORTEST_PERIOD:
                    yield position, end, period
                position = end - 1
                break
            ends[period] = end
        position += 1


def _next_occurrences(numbers: Sequence[int]) -> list[int]:
    """Returns, for each position, the next position with the same `_CONTEXT` numbers, or -1."""
    following = [-1] * len(numbers)
    last: dict[tuple[int, ...], int] = {}
    contexts = list(zip(*(numbers[shift:] for shift in range(_CONTEXT)), strict=False))
    for position in range(len(contexts) - 1, -1, -1):
        here = contexts[position]
        following[position] = last.get(here, -1)
        last[here] = position
    return following


def _best_cut(uses: Uses, start: int, end: int, period: int) -> int:
    """Returns the start, within one period, at which the fewest values pass between blocks."""
    middle = start + (end - start) // (2 * period) * period
    passing = [0] * (period + 1)  # changes in the count of values that pass between blocks
    for position in range(middle - period, min(middle + period, end)):
        for var in uses.equations[position].outvars:
            last = uses.last_use.get(var, -1)
            first, beyond = max(position + 1, middle), min(last + 1, middle + period)
            # A value that is used much later passes every cut, so it does not count.
            if first < beyond and last < position + 2 * period:
                passing[first - middle] += 1
                passing[beyond - middle] -= 1
    counts, total = [], 0
    for change in passing[:period]:
        total += change
        counts.append(total)
    return start + counts.index(min(counts))


def _pays(uses: Uses, blocks: Sequence[range]) -> bool:
    """Returns whether outlining pays off: XLA would fuse the blocks and recompute values.

    XLA would do so if a chain of fused operations leads through a block, and if values of the block
    are used after the block that follows it. The function examines only the block in the middle.
    """
    block = blocks[len(blocks) // 2]
    size = len(block)
    fused: set[Any] = set()
    kept = False
    for position in block:
        equation = uses.equations[position]
        is_fused = _is_fused(equation) and any(
            atom.__class__ is not Literal
            and (atom in fused or block.start - size <= uses.made.get(atom, -1) < block.start)
            for atom in equation.invars
        )
        for var in equation.outvars:
            last = uses.last_use.get(var, -1)
            if is_fused:
                fused.add(var)
            kept = kept or last >= block.stop + size
    return kept and any(uses.last_use.get(var, -1) >= block.stop for var in fused)


def _is_fused(equation: Equation) -> bool:
    family = equation.primitive.family
    return family in FUSED_FAMILIES or family == "calls" or is_elementwise_product(equation)


# ---- calls ----


class _Wiring:
    """A block's operands and results, with a key that is equal for blocks with equal wiring."""

    def __init__(self, uses: Uses, block: range) -> None:
        inner: dict[Any, int] = {}
        operands: dict[Any, int] = {}
        key: list[int] = []
        made: list[Var] = []
        results: list[bool] = []
        for position in block:
            equation = uses.equations[position]
            for atom in equation.invars:
                if atom.__class__ is Literal:
                    continue
                number = inner.get(atom)
                if number is None:
                    number = -1 - operands.setdefault(atom, len(operands))
                key.append(number)
            for var in equation.outvars:
                inner[var] = len(made)
                made.append(var)
                results.append(uses.last_use.get(var, -1) >= block.stop)
        self.key = tuple(key)
        self.operands = list(operands)
        self.made = made
        self.results = results


def _calls(olympuspr: Olympuspr, uses: Uses, blocks: Sequence[range]) -> list[Equation] | None:
    """Returns the calls that replace the blocks; None if the blocks' wiring differs."""
    wirings = [_Wiring(uses, block) for block in blocks]
    first = wirings[0]
    if any(wiring.key != first.key for wiring in wirings):
        return None
    # Each block returns every value that is used outside of any block.
    is_result = [any(flags) for flags in zip(*(wiring.results for wiring in wirings), strict=True)]
    results = [var for var, flag in zip(first.made, is_result, strict=True) if flag]
    equations = [olympuspr.eqns[position] for position in blocks[0]]
    body = ClosedOlympuspr(
        Olympuspr([], list(first.operands), results, equations, debug_info=olympuspr.debug_info), ()
    )
    calls = []
    for block, wiring in zip(blocks, wirings, strict=True):
        outvars: list[Var] = [var for var, flag in zip(wiring.made, is_result, strict=True) if flag]
        source = olympuspr.eqns[block.start].source_info
        calls.append(Equation.pure(wiring.operands, outvars, block_p, {"call_jaxpr": body}, source))
    return calls
