# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of calls. The Taylor program of the called program is memoized."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.evaluation import olympuspr_as_fun
from olympus_ir.programs.olympuspr import ClosedOlympuspr, close_olympuspr
from olympus_ir.programs.primitives import Primitive

from ...rules.calls import MakeParams, closed_call_params, jit_params, positions, without_constants
from ...zeros import aval_of
from ..series import order_of
from ..series_programs import flags_of, flat_terms, grouped, jet_olympuspr
from ..tables import jet_rules
from ..trace import jet_flat


def _call_jet(primitive: Primitive, key: str, make_params: MakeParams) -> Callable[..., Any]:
    """Returns the Taylor rule of a primitive that calls the program ``params[key]``."""

    def rule(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> Any:
        order, moving_in = order_of(series), flags_of(series)
        program = params[key]
        terms = flat_terms(primals, series, moving_in, order)
        derived, moving_out = jet_olympuspr(program, order, moving_in, list(map(aval_of, terms)))
        count = len(program.out_avals)
        new_params = make_params(
            params,
            derived,
            [*range(len(primals)), *_repeated(positions(moving_in), order)],
            [*(~i for i in range(count)), *(~i for i in _repeated(positions(moving_out), order))],
            (False,) * (len(primals) + len(terms)),
        )
        results = primitive.bind(*primals, *terms, **new_params)
        return results[:count], grouped(results[count:], moving_out, order)

    return rule


def _repeated(positions: Sequence[int], order: int) -> list[int]:
    return [position for position in positions for _ in range(order)]


jet_rules.define(lax.jit_p, _call_jet(lax.jit_p, "jaxpr", jit_params))
jet_rules.define(lax.closed_call_p, _call_jet(lax.closed_call_p, "call_jaxpr", closed_call_params))


@jet_rules.define(lax.composite_p)
def _composite_jet(
    primals: Sequence[Any], series: Sequence[Any], *, jaxpr: ClosedOlympuspr, **params: Any
) -> Any:
    """Applies the Taylor rules of the operations in a composite's decomposition."""
    return jet_flat(olympuspr_as_fun(jaxpr), primals, series, order_of(series))


@jet_rules.define(lax.checkpoint_p)
def _checkpoint_jet(
    primals: Sequence[Any], series: Sequence[Any], *, jaxpr: Any, **params: Any
) -> Any:
    order, moving_in = order_of(series), flags_of(series)
    terms = flat_terms(primals, series, moving_in, order)
    derived, moving_out = jet_olympuspr(
        close_olympuspr(jaxpr), order, moving_in, list(map(aval_of, terms))
    )
    count = len(jaxpr.outvars)
    results = lax.checkpoint_p.bind(
        *derived.consts, *primals, *terms, jaxpr=without_constants(derived), **params
    )
    return results[:count], grouped(results[count:], moving_out, order)


@jet_rules.define(lax.optimization_barrier_p)
def _optimization_barrier_jet(primals: Sequence[Any], series: Sequence[Any]) -> Any:
    order, moving = order_of(series), flags_of(series)
    terms = flat_terms(primals, series, moving, order)
    passed = lax.optimization_barrier_p.bind(*primals, *terms)
    count = len(primals)
    return passed[:count], grouped(passed[count:], moving, order)
