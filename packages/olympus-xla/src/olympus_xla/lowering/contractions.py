# SPDX-License-Identifier: Apache-2.0
"""Lowering of contractions."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from . import mlir
from .context import LoweringContext
from .tables import lowering_rules


def precision_attribute(precision: Any) -> Any:
    """The precision of a product's two operands, as an attribute."""
    if precision is None:
        names = ("DEFAULT", "DEFAULT")
    elif isinstance(precision, tuple):
        names = tuple(getattr(each, "name", str(each)).upper() for each in precision)
    else:
        names = (getattr(precision, "name", str(precision)).upper(),) * 2
    return mlir.parsed(f"[{', '.join(f'#stablehlo<precision {name}>' for name in names)}]")


def _list(values: Any) -> str:
    return f"[{', '.join(map(str, values))}]"


@lowering_rules.define(lax.dot_general_p)
def _dot_general(
    context: LoweringContext,
    left: Any,
    right: Any,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    **params: Any,
) -> Any:
    (left_contracting, right_contracting), (left_batch, right_batch) = dimension_numbers
    numbers = mlir.parsed(
        f"#stablehlo.dot<lhs_batching_dimensions = {_list(left_batch)}, "
        f"rhs_batching_dimensions = {_list(right_batch)}, "
        f"lhs_contracting_dimensions = {_list(left_contracting)}, "
        f"rhs_contracting_dimensions = {_list(right_contracting)}>"
    )
    attributes = {"dot_dimension_numbers": numbers}
    algorithm = getattr(precision, "stablehlo_algorithm", None)
    if algorithm is not None:
        attributes["algorithm"] = mlir.parsed(algorithm(*(aval.dtype for aval in context.avals_in)))
        precision = None
    attributes["precision_config"] = precision_attribute(precision)
    return context.create(
        "stablehlo.dot_general", mlir.aval_type(context.aval_out), (left, right), attributes
    )
