# SPDX-License-Identifier: Apache-2.0
"""``debug_key_reuse``: detection of typed random keys that are used twice.

Each key array has an array of integers, the marks, with one mark for each key. The mark of an
unused key is 0. The mark of a consumed key is the index of the use that consumed the key, counted
from 1. Errors show the source lines of this use. Slices and reshapes of a key array share its
marks, so the use of a slice is recorded in the whole array. The check follows programs equation by
equation, into calls, loops and branches. `key_rules` has a rule for each primitive that consumes or
moves keys. Other operations consume nothing, and their results are new keys.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..diagnostics import source_info
from ..diagnostics.errors import KeyReuseError
from ..diagnostics.name_stacks import no_names
from ..lax.control_flow.operands import ScanLayout, WhileLayout
from ..programs.key_rules import KeyOperation, Marks, key_rules
from ..programs.olympuspr import ClosedOlympuspr, Equation, Literal, Olympuspr
from ..settings.naming import naming
from ..types import dtypes
from ..types.avals import get_aval
from . import key_reuse_rules as key_reuse_rules

__all__ = ["check_key_reuse", "has_keys"]

# The marks of live arrays, by identity, because arrays are not hashable.
_used_of_arrays: dict[int, tuple[weakref.ref, np.ndarray]] = {}

# For each program, the equations that the check follows.
_of_keys: weakref.WeakKeyDictionary[Olympuspr, Sequence[Equation]] = weakref.WeakKeyDictionary()


def check_key_reuse(
    name: str, closed: ClosedOlympuspr, operands: Sequence[Any], results: Sequence[Any]
) -> None:
    """Records the keys that a computation consumes.

    Args:
      name: the name of the computation in errors.
      closed: the program.
      operands: the operands of the program.
      results: the results of the program.

    Raises:
      KeyReuseError: a key was consumed before, or the computation consumes a key twice.
    """
    if not has_keys(closed.jaxpr):
        return
    values = [*operands, *closed.consts]
    used = [_used_of(value) if _is_key(value) else None for value in values]
    with _calling(_line_of_call()):
        _check(name, closed, operands, used, results)


def _check(
    name: str,
    closed: ClosedOlympuspr,
    operands: Sequence[Any],
    used_before: Sequence[Marks],
    results: Sequence[Any],
) -> None:
    fresh = [None if used is None else np.zeros_like(used) for used in used_before]
    count = len(operands)
    indices = {
        var: int(operand)
        for var, operand in zip(closed.jaxpr.invars, operands, strict=True)
        if np.shape(operand) == () and dtypes.issubdtype(get_aval(operand).dtype, np.integer)
    }
    _follow(closed.jaxpr, fresh[:count], fresh[count:], indices)
    for position, (used, now) in enumerate(zip(used_before, fresh, strict=True)):
        if used is not None and now is not None and (lines := _lines_of_reuse(used, now)):
            # Values that the function closes over follow its arguments.
            raise KeyReuseError(
                f"Previously-consumed key passed to {name} at index {position}{lines}"
            )
    used_of_results = _follow(closed.jaxpr, used_before[:count], used_before[count:], indices)
    for result, used in zip(results, used_of_results, strict=True):
        if used is not None:
            _remember(result, used)


def has_keys(olympuspr: Olympuspr) -> bool:
    """Returns whether a program has values that are random keys."""
    return bool(_equations_of_keys(olympuspr)) or any(_is_key(var.aval) for var in olympuspr.invars)


def _is_key(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and dtypes.issubdtype(dtype, dtypes.prng_key)


def _used_of(array: Any) -> np.ndarray:
    entry = _used_of_arrays.get(id(array))
    return _remember(array, np.zeros(array.shape, np.int32)) if entry is None else entry[1]


def _remember(array: Any, used: np.ndarray) -> np.ndarray:
    number = id(array)
    forget = weakref.ref(array, lambda _: _used_of_arrays.pop(number, None))
    _used_of_arrays[number] = (forget, used)
    return used


def _follow(
    olympuspr: Olympuspr,
    inputs: Sequence[Marks],
    constants: Sequence[Marks] | None = None,
    indices: dict[Any, int] | None = None,
) -> list[Marks]:
    """Marks the keys that a program consumes.

    Args:
      olympuspr: the program.
      inputs: the marks of each input; None for an input that is not a key array.
      constants: the marks of each constant; None for a constant that is not a key array.
      indices: a mapping from integer variables to their values, where these are known.

    Returns:
      The marks of each result; None for a result that is not a key array.
    """
    indices = dict(indices or ())
    known: dict[Any, Any] = dict(zip(olympuspr.invars, inputs, strict=True))
    if constants is None:
        constants = [_new(var.aval) for var in olympuspr.constvars]
    known.update(zip(olympuspr.constvars, constants, strict=True))

    def used_of(atom: Any) -> Any:
        return None if isinstance(atom, Literal) else known.get(atom)

    for equation in _equations_of_keys(olympuspr):
        operands = [used_of(atom) for atom in equation.invars]
        if equation.primitive is lax.convert_element_type_p:
            (converted,) = equation.invars
            if not isinstance(converted, Literal) and converted in indices:
                indices[equation.outvars[0]] = indices[converted]
        if any(used is not None for used in operands):
            results = _follow_equation(equation, operands, indices)
        else:
            results = [None] * len(equation.outvars)
        for var, used in zip(equation.outvars, results, strict=True):
            known[var] = _new(var.aval) if used is None else used
    return [used_of(atom) for atom in olympuspr.outvars]


def _equations_of_keys(olympuspr: Olympuspr) -> Sequence[Equation]:
    """Returns the equations whose operands or results include keys.

    A program with such equations may compute the positions of keys by dtype conversions, so its
    conversions are returned too.
    """
    followed = _of_keys.get(olympuspr)
    if followed is None:
        has_keys = [
            any(_is_key(atom.aval) for atom in (*equation.invars, *equation.outvars))
            for equation in olympuspr.eqns
        ]
        followed = [
            equation
            for equation, keys in zip(olympuspr.eqns, has_keys, strict=True)
            if keys or (any(has_keys) and equation.primitive is lax.convert_element_type_p)
        ]
        _of_keys[olympuspr] = followed
    return followed


def _new(aval: Any) -> np.ndarray | None:
    return np.zeros(aval.shape, np.int32) if _is_key(aval) else None


class _Operation:
    """An equation with the marks of its operands; see `olympus_ir.programs.key_rules`."""

    __slots__ = ("equation", "indices", "operands")

    def __init__(
        self, equation: Equation, operands: Sequence[Marks], indices: Mapping[Any, int]
    ) -> None:
        self.equation = equation
        self.operands: Sequence[Marks] = operands
        self.indices: Mapping[Any, int] = indices

    def consume(self, position: int) -> None:
        used = self.operands[position]
        assert used is not None
        _use(self.equation, position, used, np.full_like(used, _number_of_use(self.equation)))


def _follow_equation(
    equation: Equation, operands: list[Marks], indices: dict[Any, int]
) -> Sequence[Marks]:
    rule = key_rules.find(equation.primitive)
    if rule is not None:
        new = [None] * (len(equation.outvars) - 1)
        return [rule(_Operation(equation, operands, indices)), *new]
    # A backward pass recomputes uses of keys that have been counted already.
    if not equation.params.get("differentiated"):
        program = _called(equation)
        if program is not None:
            with _calling(_line_of(equation)):
                return _follow(program, operands)
    return [None] * len(equation.outvars)


def _use(equation: Equation, position: int, used: np.ndarray, now: np.ndarray) -> None:
    if lines := _lines_of_reuse(used, now):
        raise KeyReuseError(
            f"In {equation.primitive.name}, argument {position} is already consumed{lines}"
        )
    np.copyto(used, now, where=used == 0)


# ---- lines of uses ----

# The user's lines of the calls around the current program, outermost first. Errors need these lines
# to tell uses apart, because a cached program records only the lines of its first call.
_callers: list[str] = []

# Maps the source lines of each use, outermost first, to the index of the use. Indices count from 1
# in the order of insertion, so an index also leads back to the lines.
_uses: dict[tuple[str, ...], int] = {}


@contextlib.contextmanager
def _calling(line: str) -> Iterator[None]:
    """Context in which a call at a line of the user's is the innermost call."""
    _callers.append(line)
    try:
        yield
    finally:
        _callers.pop()


def _number_of_use(equation: Equation) -> int:
    return _uses.setdefault((*_callers, _line_of(equation)), len(_uses) + 1)


def _line_of(equation: Equation) -> str:
    """Returns the user's line of an equation; "unknown" for operations of library functions."""
    return source_info.summarize(equation.source_info)


def _line_of_call() -> str:
    """Returns the user's line that is currently running."""
    return source_info.summarize(source_info.SourceInfo(source_info.capture(), no_names))


def _lines_of_reuse(used: np.ndarray, now: np.ndarray) -> str:
    """Returns the end of an error message, which shows the lines of two uses of a key.

    ``used`` holds the marks of earlier uses, and ``now`` holds the marks of the current use.
    Returns "" if no key is reused.
    """
    both = (used != 0) & (now != 0)
    if not both.any():
        return ""
    every = list(_uses)
    first, second = (
        [line for line in every[marks[both].flat[0] - 1] if line != "unknown"]
        for marks in (used, now)
    )
    for line, other in zip(first, second, strict=False):
        if line != other:
            break
    else:
        line = other = (min(first, second, key=len) or ["unknown"])[-1]
    repeated = " (the same line, in a loop or a function called twice)" if line == other else ""
    return (
        f", at {other}{repeated}.\nIt was consumed first at {line}.\nGive each use a key of its "
        f"own, as `key_a, key_b = {naming.module}.random.split(key)`."
    )


# ---- operations that run programs ----


def _called(equation: Equation) -> Olympuspr | None:
    """Returns the program that an equation calls; None if the equation is not a call."""
    for value in equation.params.values():
        program = value.jaxpr if isinstance(value, ClosedOlympuspr) else value
        if isinstance(program, Olympuspr) and len(program.invars) == len(equation.invars):
            return program
    return None


@key_rules.define(lax.cond_p)
def _follow_branches(operation: KeyOperation) -> Marks:
    """Consumes the keys that any of the branches consumes."""
    equation, operands = operation.equation, operation.operands
    used_by_any = [None if used is None else used.copy() for used in operands[1:]]
    for branch in equation.params["branches"]:
        in_branch = [None if used is None else used.copy() for used in operands[1:]]
        with _calling(_line_of(equation)):
            _follow(branch.jaxpr, in_branch)
        for everywhere, here in zip(used_by_any, in_branch, strict=True):
            if everywhere is not None and here is not None:
                np.copyto(everywhere, here, where=everywhere == 0)
    for used, now in zip(operands[1:], used_by_any, strict=True):
        if used is not None:
            used[...] = now
    return None


@key_rules.define(lax.scan_p)
def _follow_scan(operation: KeyOperation) -> Marks:
    """Consumes the keys that the body consumes, which must be new in each iteration."""
    params = operation.equation.params
    body, layout = params["jaxpr"].jaxpr, ScanLayout.of(params)
    of_body = [_new(var.aval) for var in body.invars]
    with _calling(_line_of(operation.equation)):
        results = _follow(body, of_body)
        consts, carry = layout.operands(of_body).consts, layout.results(results).carry
        _check_repeated("scan body", consts, carry)
        _use_all(operation, of_body)
    return None


@key_rules.define(lax.while_p)
def _follow_while(operation: KeyOperation) -> Marks:
    """Consumes the keys that condition and body consume, which must be new in each iteration."""
    equation, params = operation.equation, operation.equation.params
    condition, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
    used = WhileLayout.of(params).operands([_new(atom.aval) for atom in equation.invars])
    with _calling(_line_of(equation)):
        _follow(condition, used.of_cond)
        _check_repeated("while_loop cond", used.cond_consts, used.carry)
        results = _follow(body, used.of_body)
        _check_repeated("while_loop body", used.body_consts, results)
        _use_all(operation, used.flat)
    return None


def _check_repeated(
    part: str,
    constants: Sequence[Marks],
    carry: Sequence[Marks],
) -> None:
    for values, kind in ((constants, "key constants are"), (carry, "a carried key is")):
        consumed = [used.max() for used in values if used is not None and used.any()]
        if consumed:
            loop = _callers[-1]
            known = [line for line in list(_uses)[consumed[0] - 1] if line != "unknown"]
            use = f"; consumed at {known[-1]}" if known and known[-1] != loop else ""
            raise KeyReuseError(
                f"{part} function leads to key reuse when repeatedly executed, because {kind} "
                f"repeatedly consumed, at {loop}{use}"
            )


def _use_all(operation: KeyOperation, of_body: Sequence[Marks]) -> None:
    """Marks the operands that a loop body consumes.

    An operand that the loop slices is marked as a whole, with the largest of the body's marks.

    Args:
      operation: the loop.
      of_body: the marks of the inputs of the body after one iteration.
    """
    for position, (used, now) in enumerate(zip(operation.operands, of_body, strict=True)):
        if used is not None and now is not None and now.any():
            whole = now if now.shape == used.shape else np.full_like(used, now.max())
            _use(operation.equation, position, used, whole)
