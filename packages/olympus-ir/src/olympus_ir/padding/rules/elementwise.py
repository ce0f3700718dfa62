# SPDX-License-Identifier: Apache-2.0
"""Padding rules of elementwise operations that are not declared as elementwise."""

from __future__ import annotations

from typing import Any

from ... import lax
from ...symbolic.expressions import SymbolicDim
from ..evaluation import Site, padding_rules, refused, spread_to


@padding_rules.define(lax.select_n_p)
def _select_n(site: Site, which: Any, *cases: Any) -> Any:
    return lax.select_n_p.bind(which, *cases)  # the cases have equal shapes


@padding_rules.define(lax.clamp_p)
def _clamp(site: Site, least: Any, operand: Any, most: Any) -> Any:
    least_aval, aval, most_aval = site.operands
    least = spread_to(site.lengths, least, least_aval, aval)
    most = spread_to(site.lengths, most, most_aval, aval)
    return lax.clamp_p.bind(least, operand, most)


@padding_rules.define(lax.bitcast_convert_type_p)
def _bitcast_convert_type(site: Site, operand: Any, *, new_dtype: Any) -> Any:
    (aval,), (result,) = site.operands, site.results
    if result.ndim < aval.ndim and isinstance(aval.shape[-1], SymbolicDim):
        raise refused(
            site,
            lax.bitcast_convert_type_p,
            "the last dimension, which holds the parts of one element, varies",
        )
    return lax.bitcast_convert_type_p.bind(operand, new_dtype=new_dtype)


@padding_rules.define(lax.to_edtype_p)
def _to_edtype(site: Site, operand: Any, **params: Any) -> Any:
    return lax.to_edtype_p.bind(operand, **params)


@padding_rules.define(lax.from_edtype_p)
def _from_edtype(site: Site, operand: Any, **params: Any) -> Any:
    return lax.from_edtype_p.bind(operand, **params)
