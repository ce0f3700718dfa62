# SPDX-License-Identifier: Apache-2.0
"""Origins of the elements of values: elements of earlier values, times known factors.

Slices, transpositions and gathers with known indices move elements, and products with constants
scale them. So each element of such a value is an element of an earlier value, its source, times a
known factor. The element can therefore be computed from its source with one multiplication, even if
it was moved and scaled many times.

A rule is a function ``(results, *operands, **params)``. It takes the types of the results and the
`Origin` of each operand, None for operands that are not numbers, and returns the origin of the
result, or a list of origins if the primitive has several results. A rule returns None if the
elements of the result are new. Results of primitives without a rule are new, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Literal, Var
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable
from olympus_ir.reference import reference_rules
from olympus_ir.types import dtypes

from .propagation import known_constant

__all__ = ["Origin", "Origins", "moved_origins", "origin_rules", "origins_of", "scaled_origin"]

Rule = Callable[..., Any]

origin_rules: RuleTable[Rule] = RuleTable(
    "origins", package="olympus_sparse", folder="jacobians.rules"
)


class Origin(NamedTuple):
    """Elements of a value as products of a known factor and an element of a source.

    Attributes:
      indices: for each element, the index of the source's element among the elements of all
        sources; -1 if the element is the factor alone.
      factors: the factors, of the shape of ``indices`` or of rank zero.
    """

    indices: np.ndarray
    factors: np.ndarray

    @property
    def is_known(self) -> bool:
        """True if all elements follow from constants."""
        return bool((self.indices < 0).all())


class Origins(NamedTuple):
    """Origins of the results of a program.

    Attributes:
      results: the origin of each result.
      sources: the variables from which the results take elements.
      starts: the index of the first element of each source.
    """

    results: list[Origin]
    sources: list[Var]
    starts: list[int]


def origins_of(closed: ClosedOlympuspr) -> Origins:
    """Returns the origins of the results of a program, which are arrays of real numbers."""
    program = closed.olympuspr
    starts: dict[Var, int] = {}
    end = 0
    found = {
        var: Origin(np.broadcast_to(np.int64(-1), value.shape), value)
        for var, value in zip(program.constvars, map(known_constant, closed.consts), strict=True)
        if value is not None
    }

    def read(atom: Any) -> Origin | None:
        nonlocal end
        if atom.__class__ is Literal:
            value = known_constant(atom.val)
            return None if value is None else Origin(np.array(-1), value.astype(atom.aval.dtype))
        if atom in found:
            return found[atom]
        if not _is_real(atom.aval):
            return None
        size = int(np.prod(atom.aval.shape))
        if atom not in starts:
            starts[atom] = end
            end += size
        indices = np.arange(starts[atom], starts[atom] + size).reshape(atom.aval.shape)
        return Origin(indices, np.ones((), atom.aval.dtype))

    for equation in program.eqns:
        rule = origin_rules.find(equation.primitive)
        results = [var.aval for var in equation.outvars]
        if rule is None or not all(map(_is_real, results)):
            continue
        made = rule(results, *map(read, equation.invars), **equation.params)
        if made is not None:
            listed = made if equation.primitive.multiple_results else [made]
            found.update(zip(equation.outvars, listed, strict=True))
    outputs = [origin for origin in map(read, program.outvars) if origin is not None]
    assert len(outputs) == len(program.outvars), "results are arrays of real numbers"
    return Origins(outputs, list(starts), list(starts.values()))


def _is_real(aval: Any) -> bool:
    return dtypes.issubdtype(aval.dtype, np.floating)


def moved_origins(primitive: Primitive) -> Rule:
    """Returns the rule of a primitive that only moves elements.

    The reference rule of the primitive is applied to the indices of the elements.
    """

    def rule(results: Sequence[Any], *operands: Origin | None, **params: Any) -> Any:
        origins = [operand for operand in operands if operand is not None]
        if len(origins) < len(operands):
            return None
        ends = np.cumsum([origin.indices.size for origin in origins])
        indices = [
            np.arange(end - origin.indices.size, end).reshape(origin.indices.shape)
            for origin, end in zip(origins, ends, strict=True)
        ]
        moved = reference_rules[primitive](*indices, **params)
        if primitive.multiple_results:
            return [chosen(origins, np.asarray(positions)) for positions in moved]
        return chosen(origins, np.asarray(moved))

    return rule


def chosen(origins: Sequence[Origin], positions: np.ndarray) -> Origin:
    """Returns the origin of the elements at ``positions`` in the concatenation of values."""
    indices = np.concatenate([origin.indices.ravel() for origin in origins])[positions]
    factors = [origin.factors for origin in origins]
    if all(factor.ndim == 0 and factor == factors[0] for factor in factors):
        return Origin(indices, factors[0])
    full = [np.broadcast_to(origin.factors, origin.indices.shape).ravel() for origin in origins]
    return Origin(indices, np.concatenate(full)[positions])


def scaled_origin(
    origin: Origin, factors: np.ndarray, shape: Sequence[int], apply: Callable[..., Any]
) -> Origin | None:
    """Returns the origin of ``apply(value, factors)``, of a shape; None if factors lose digits.

    Args:
      origin: the origin of the value.
      factors: the known factors.
      shape: the shape of the result.
      apply: the product or quotient.
    """
    with np.errstate(all="ignore"):
        made = np.asarray(apply(origin.factors, factors))
    is_zero = (origin.factors == 0) | (factors == 0)
    is_normal = np.isfinite(made) & (is_zero | (np.abs(made) >= jnp.finfo(made.dtype).tiny))
    if not is_normal.all():
        return None
    return Origin(
        np.broadcast_to(origin.indices, shape),
        np.broadcast_to(made, shape) if made.ndim else made,
    )
