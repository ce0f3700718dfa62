# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of special functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from ...tables import constant, shape_of
from ..series import series_composition, times, zero_series
from ..tables import jet_rules
from ..trace import by_jvp_rule

Terms = Sequence[Any]


@jet_rules.define(lax.polygamma_p)
def _polygamma_jet(primals: Terms, series: Terms) -> Any:
    (m, x), (m_terms, x_terms) = primals, series
    if m_terms is not zero_series or shape_of(x) != shape_of(m):
        return by_jvp_rule(lax.polygamma_p, primals, series)
    orders = [m]
    for _ in x_terms:
        orders.append(lax.add(orders[-1], constant(1, m)))
    # The k-th coefficient at x is the function of order m + k, divided by k!.
    outer, factorial = [], 1
    for k, order in enumerate(orders):
        factorial *= max(k, 1)
        outer.append(times(1 / factorial, lax.polygamma_p.bind(order, x)))
    return outer[0], series_composition(outer, list(x_terms))[1:]
