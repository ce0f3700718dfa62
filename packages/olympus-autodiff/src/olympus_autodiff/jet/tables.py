# SPDX-License-Identifier: Apache-2.0
"""The table of Taylor rules, and the rules that apply to whole kinds of primitives.

A rule has the form ``rule(primals, series, **params) -> (result, terms)``, with lists of both if
the primitive has several results. The series of an operand is a list of its terms, which include
the factors ``1 / k!`` of Taylor's formula. It is `zero_series` if the operand is constant. At least
one operand is not constant.

The jvp rule of a primitive without a Taylor rule is used instead; see `trace.along_curve`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable

from ..tables import DerivativeTable, jvp_rules
from ..zeros import Zero, aval_of, has_tangents, instantiate
from .series import order_of, terms_or_zeros, zero_series

__all__ = [
    "assign_rule",
    "bound",
    "call_param_updaters",
    "jet_rules",
    "linear_prop",
    "termwise",
    "zero_prop",
]

JetRule = Callable[..., tuple[Any, Any]]


class JetTable(DerivativeTable):
    """Table of Taylor rules. Rules that third parties assign receive all terms as arrays."""

    def __setitem__(self, primitive: Primitive, rule: JetRule) -> None:
        def with_arrays(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> Any:
            order = order_of(series)
            terms = [
                terms_or_zeros(x, terms, order) for x, terms in zip(primals, series, strict=True)
            ]
            return rule(primals, terms, **params)

        super().__setitem__(primitive, with_arrays)


jet_rules: JetTable = JetTable("jet", package="olympus_autodiff", folder="jet.rules")

# Libraries add entries to this dictionary. The entries are ignored, because the parameters of calls
# follow from the called programs.
call_param_updaters: dict[Primitive, Callable[..., Any]] = {}


def assign_rule(primitive: Primitive, rule: JetRule) -> None:
    """Defines or replaces a rule that accepts `zero_series` among the operands' terms."""
    RuleTable.__setitem__(jet_rules, primitive, rule)


# ---- rules for whole kinds of primitives ----


def zero_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Applies a primitive whose results are locally constant: their series are zero."""
    results = prim.bind(*primals_in, **params)
    if prim.multiple_results:
        return results, [zero_series] * len(results)
    return results, zero_series


def linear_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Applies a primitive that is jointly linear in its operands, once for each order."""
    order = order_of(series_in)
    terms = [
        terms_or_zeros(x, series, order) for x, series in zip(primals_in, series_in, strict=True)
    ]
    result = prim.bind(*primals_in, **params)
    moved = [prim.bind(*of_order, **params) for of_order in zip(*terms, strict=True)]
    if prim.multiple_results:
        return result, [list(of_result) for of_result in zip(*moved, strict=True)]
    return result, moved


def termwise(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Applies a locally linear primitive: its jvp rule maps the terms of each order separately."""
    order = order_of(series_in)
    series = [without_discrete(x, terms) for x, terms in zip(primals_in, series_in, strict=True)]
    if all(terms is zero_series for terms in series):
        return zero_prop(prim, primals_in, series_in, **params)
    rule = jvp_rules[prim]
    primals_out: Any = None
    moved = []
    for k in range(order):
        tangents = [
            Zero.of(x) if terms is zero_series else terms[k]
            for x, terms in zip(primals_in, series, strict=True)
        ]
        primals_out, tangents_out = rule(primals_in, tangents, **params)
        moved.append(tangents_out)
    if not prim.multiple_results:
        return primals_out, joined_terms(moved)
    return primals_out, [joined_terms(of_result) for of_result in zip(*moved, strict=True)]


def without_discrete(value: Any, terms: Any) -> Any:
    """Returns the terms of a value as arrays; `zero_series` if the value has no tangents."""
    if terms is zero_series or not has_tangents(aval_of(value).dtype):
        return zero_series
    return terms_or_zeros(value, terms, len(terms))


def joined_terms(tangents: Sequence[Any]) -> Any:
    if all(tangent.__class__ is Zero for tangent in tangents):
        return zero_series
    return [instantiate(tangent) for tangent in tangents]


def bound(combinator: Callable[..., Any], primitive: Primitive) -> Callable[..., Any]:
    """Returns the rule that applies a combinator of this module to a primitive."""

    def rule(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> Any:
        return combinator(primitive, primals, series, **params)

    return rule
