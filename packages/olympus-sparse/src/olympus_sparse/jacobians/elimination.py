# SPDX-License-Identifier: Apache-2.0
"""Evaluation of the program of a derivative, with linear values represented as sums of terms.

The coefficients of the resulting terms are the entries of the Jacobian. Each coefficient is
computed once, and zeros are never computed. Compressed products would instead multiply each
coefficient by the seeds of all colors.

A rule is a function ``(results, *operands, **params)``. It takes the types of the results, and each
operand as a `Linear` or an array, and returns the terms of the result, or a list with the terms of
each result. A rule raises `Unsupported` where terms would be many. A primitive without a rule
raises the error, too. The plan then computes compressed products.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Literal, Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable
from olympus_ir.reference import reference_rules

from .patterns import Flow
from .propagation import folded, known_constant
from .terms import Linear, Term, Unsupported, checked, expanded, filled, is_known, picked

__all__ = ["call_rules", "eliminate", "moved_terms", "run_terms", "term_rules"]

Rule = Callable[..., Any]

term_rules: RuleTable[Rule] = RuleTable("terms", package="olympus_sparse", folder="jacobians.rules")

# Rules of primitives that run programs: they return values, not terms.
call_rules: set[Rule] = set()


def eliminate(closed: ClosedOlympuspr, operands: Sequence[Any]) -> list[Any]:
    """Evaluates a program; results that depend on `Linear` operands are `Linear`, too."""
    return run_terms(closed.olympuspr, [*closed.consts, *operands])


def run_terms(program: Olympuspr, operands: Sequence[Any]) -> list[Any]:
    """Returns the results of a program whose first operands are its constants."""
    environment = dict(zip([*program.constvars, *program.invars], operands, strict=True))
    known = {
        var: known_constant(value)
        for var, value in environment.items()
        if not isinstance(value, Linear)
    }

    def read(atom: Any) -> Any:
        return atom.val if atom.__class__ is Literal else environment[atom]

    def read_known(atom: Any) -> np.ndarray | None:
        if atom.__class__ is Literal:
            return (
                None if known_constant(atom.val) is None else np.asarray(atom.val, atom.aval.dtype)
            )
        return known.get(atom)

    for equation in program.eqns:
        values = list(map(read, equation.invars))
        constants = list(map(read_known, equation.invars))
        if any(isinstance(value, Linear) for value in values):
            pairs = zip(values, constants, strict=True)
            results = _apply(equation, [v if k is None else k for v, k in pairs])
        else:
            flows = [
                Flow(atom.aval, constant)
                for atom, constant in zip(equation.invars, constants, strict=True)
            ]
            found = folded(equation, flows, [var.aval for var in equation.outvars])
            known.update(
                (var, flow.known) for var, flow in zip(equation.outvars, found, strict=True)
            )
            results = bind_equation(equation, values)
        environment.update(zip(equation.outvars, results, strict=True))
    return list(map(read, program.outvars))


def _apply(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
    """Applies a rule to operands, some of which are linear."""
    rule = term_rules.find(equation.primitive)
    if rule is None:
        raise Unsupported(equation.primitive.name)
    results = [var.aval for var in equation.outvars]
    made = rule(results, *operands, **equation.params)
    if rule in call_rules:
        return made
    listed = made if equation.primitive.multiple_results else [made]
    widest = max(operand.extent for operand in operands if isinstance(operand, Linear))
    return [
        Linear(aval, checked(terms, max(widest, math.prod(aval.shape))))
        for aval, terms in zip(results, listed, strict=True)
    ]


# ---- rules of primitives that move elements ----


def moved_terms(primitive: Primitive, fill: bool = False) -> Rule:
    """Returns the rule of a primitive that only moves elements.

    The columns are known when the program is traced, so the reference rule of the primitive moves
    them. The primitive itself moves the coefficients.

    Args:
      primitive: the primitive.
      fill: whether the second operand fills new elements, as in padding.
    """

    def rule(results: Sequence[Any], *operands: Any, **params: Any) -> Any:
        operands, fixed = (operands[:1], operands[1:]) if fill else (operands, ())
        if any(isinstance(value, Linear) for value in fixed):
            raise Unsupported("padding depends on the argument")
        starts = [
            0,
            *itertools.accumulate(math.prod(np.shape(_like(operand))) for operand in operands),
        ]
        origins = _origins(primitive, operands, starts, params, fill)
        groups = [
            *(
                _moved_terms(primitive, aligned, operands, origins, results, params, fill)
                for aligned in _aligned(operands)
            ),
            *(
                [expanded(term, origin) for origin in origins]
                for term in _terms_with_rows(operands, starts)
            ),
        ]
        made = [[group[position] for group in groups] for position in range(len(results))]
        return made if primitive.multiple_results else made[0]

    return rule


def _origins(
    primitive: Primitive,
    operands: Sequence[Any],
    starts: Sequence[int],
    params: dict[str, Any],
    fill: bool,
) -> list[np.ndarray]:
    """Returns for each result the origins of its elements.

    An origin is an index among the elements of all operands, or -1 for an element that is zero.
    """
    indices = [
        _flat_indices(operand, start) for operand, start in zip(operands, starts, strict=False)
    ]
    zero = [np.array(-1)] if fill else []
    moved = reference_rules[primitive](*indices, *zero, **params)
    return [np.asarray(array) for array in (moved if primitive.multiple_results else [moved])]


def _terms_with_rows(operands: Sequence[Any], starts: Sequence[int]) -> Iterator[Term]:
    """Yields the terms with ``rows``, which count the elements of all operands together."""
    for operand, start in zip(operands, starts, strict=False):
        for term in operand.terms if isinstance(operand, Linear) else ():
            if term.rows is not None:
                yield term._replace(rows=term.rows + start)


def _like(operand: Any) -> Any:
    return operand.aval if isinstance(operand, Linear) else operand


def _flat_indices(operand: Any, start: int) -> np.ndarray:
    """Returns the indices of an operand's elements among those of all operands; -1 for zeros."""
    if not isinstance(operand, Linear):
        return np.full(np.shape(operand), -1)
    return np.arange(start, start + operand.size).reshape(operand.shape)


def _aligned(operands: Sequence[Any]) -> list[list[Term]]:
    """Returns groups of terms; each group has one term for each operand.

    An operand with fewer terms than another gets empty terms. Terms with ``rows`` are left out.
    """
    of_each = [
        [term for term in operand.terms if term.rows is None] if isinstance(operand, Linear) else []
        for operand in operands
    ]
    shapes = [
        tuple(np.shape(operand)) if not isinstance(operand, Linear) else operand.shape
        for operand in operands
    ]
    return [
        [
            terms[position] if position < len(terms) else Term(np.full(shape, -1), np.zeros(()))
            for terms, shape in zip(of_each, shapes, strict=True)
        ]
        for position in range(max(map(len, of_each)))
    ]


def _moved_terms(
    primitive: Primitive,
    aligned: Sequence[Term],
    operands: Sequence[Any],
    origins: Sequence[np.ndarray],
    results: Sequence[Any],
    params: dict[str, Any],
    fill: bool,
) -> list[Term]:
    """Moves aligned terms as a primitive moves elements; returns one term for each result."""
    columns = np.concatenate([term.columns.ravel() for term in aligned])
    coefficients = _moved_coefficients(primitive, aligned, operands, origins, params, fill)
    return [
        Term(np.where(origin >= 0, columns[origin], -1).reshape(result.shape), coefficient)
        for origin, result, coefficient in zip(origins, results, coefficients, strict=True)
    ]


def _moved_coefficients(
    primitive: Primitive,
    aligned: Sequence[Term],
    operands: Sequence[Any],
    origins: Sequence[np.ndarray],
    params: dict[str, Any],
    fill: bool,
) -> list[Any]:
    """Moves the coefficients of aligned terms as a primitive moves elements.

    Returns the coefficients of one term for each result.
    """
    coefficients = [term.coefficient for term in aligned if term.columns.max(initial=-1) >= 0]
    first = coefficients[0] if coefficients else np.zeros(())
    if all(
        is_known(coefficient) and np.ndim(coefficient) == 0 and coefficient == first
        for coefficient in coefficients
    ):  # the same constant everywhere
        return [first for _ in origins]
    dtype = next(operand.aval.dtype for operand in operands if isinstance(operand, Linear))
    full = [filled(term.coefficient, term.columns.shape).astype(dtype) for term in aligned]
    if all(map(is_known, full)):
        flat = np.concatenate([array.ravel() for array in full])
        return [picked(flat, origin) for origin in origins]
    if len(full) == 1 and np.ndim(coefficients[0]) == 0:
        return [coefficients[0] for _ in origins]
    padding = [np.zeros((), dtype)] if fill else []
    moved = primitive.bind(*full, *padding, **params)
    return list(moved) if primitive.multiple_results else [moved]
