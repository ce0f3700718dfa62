# SPDX-License-Identifier: Apache-2.0
"""Lowering of contractions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.contractions.scaled_products import scaled_dot_decomposition
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types import dtypes

from .. import mlir
from ..context import LoweringContext
from ..cpu.products.batches import is_product_in_one_loop, product_in_one_loop
from ..cpu.products.vectors import parts_of_product, product_in_parts
from ..gpu.products import is_padded_product, product_of_wide
from ..tables import lowering_rules
from .composites import composite_operation


def precision_attribute(precision: Any) -> Any:
    """Returns the precision of a product's two operands, as an attribute."""
    if precision is None:
        names = ("DEFAULT", "DEFAULT")
    elif isinstance(precision, tuple):
        names = tuple(getattr(part, "name", str(part)).upper() for part in precision)
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
    if is_padded_product(context, dimension_numbers):
        params = {
            "dimension_numbers": dimension_numbers,
            "precision": precision,
            "preferred_element_type": preferred_element_type,
            **params,
        }
        return context.inline_function(product_of_wide, (left, right), params)
    if _is_complex(context.avals_in[0]) and not _is_complex(context.aval_out):
        params = {
            "dimension_numbers": dimension_numbers,
            "precision": precision,
            "dtype": context.aval_out.dtype,
        }
        return context.inline_function(_real_part_of_product, (left, right), params)
    if isinstance(precision, lax.DotAlgorithmPreset | lax.DotAlgorithm):
        if precision is not lax.DotAlgorithmPreset.DEFAULT:
            return _dot_by_algorithm(context, left, right, dimension_numbers, precision)
        precision = None
    if (parts := parts_of_product(context, dimension_numbers)) > 1:
        params = {"parts": parts, "precision": precision}
        return context.inline_function(product_in_parts, (left, right), params)
    if is_product_in_one_loop(context, dimension_numbers):
        params = {"dimension_numbers": dimension_numbers}
        return context.inline_function(product_in_one_loop, (left, right), params)
    attributes = {
        "dot_dimension_numbers": dot_dimension_numbers(dimension_numbers),
        "precision_config": precision_attribute(precision),
    }
    return context.create(
        "stablehlo.dot_general", mlir.aval_type(context.aval_out), (left, right), attributes
    )


def _is_complex(aval: Any) -> bool:
    return dtypes.issubdtype(aval.dtype, np.complexfloating)


def _real_part_of_product(
    left: Any, right: Any, *, dimension_numbers: Any, precision: Any, dtype: Any
) -> Any:
    """Multiplies complex numbers for a real dtype, which XLA supports for some shapes only."""
    product = lax.dot_general(left, right, dimension_numbers, precision)
    return lax.convert_element_type(lax.real(product), dtype)


def dot_dimension_numbers(dimension_numbers: Any) -> Any:
    """Returns the batch and contracting dimensions as an attribute."""
    (left_contracting, right_contracting), (left_batch, right_batch) = dimension_numbers
    return mlir.parsed(
        f"#stablehlo.dot<lhs_batching_dimensions = {_list(left_batch)}, "
        f"rhs_batching_dimensions = {_list(right_batch)}, "
        f"lhs_contracting_dimensions = {_list(left_contracting)}, "
        f"rhs_contracting_dimensions = {_list(right_contracting)}>"
    )


# ---- products by a requested algorithm ----

_SUPPORTED_ON_CPU = frozenset(
    (
        lax.DotAlgorithmPreset.F16_F16_F16,
        lax.DotAlgorithmPreset.F32_F32_F32,
        lax.DotAlgorithmPreset.F64_F64_F64,
        lax.DotAlgorithmPreset.BF16_BF16_F32,
        lax.DotAlgorithmPreset.BF16_BF16_F32_X3,
        lax.DotAlgorithmPreset.BF16_BF16_F32_X6,
    )
)


def _dot_by_algorithm(
    context: LoweringContext, left: Any, right: Any, dimension_numbers: Any, algorithm: Any
) -> Any:
    """Builds the product, with operands and result converted to the algorithm's dtypes."""
    if "cpu" in context.platforms and algorithm not in _SUPPORTED_ON_CPU:
        raise ValueError(
            f"The precision '{algorithm}' is not supported by dot_general on CPU; supported are "
            f"{', '.join(sorted(map(str, _SUPPORTED_ON_CPU)))}."
        )
    left_aval, right_aval = context.avals_in
    plan = _algorithm_plan(algorithm, left_aval.dtype, right_aval.dtype)
    operands = [
        operand
        if aval.dtype in stored
        else context.convert(operand, aval.shape, np.dtype(stored[0]))
        for operand, aval, stored in (
            (left, left_aval, plan.left_types),
            (right, right_aval, plan.right_types),
        )
    ]
    aval = context.aval_out
    out_dtype = aval.dtype
    if plan.result_types is not None and out_dtype not in plan.result_types:
        out_dtype = np.dtype(plan.result_types[0])
    result = context.create(
        "stablehlo.dot_general",
        mlir.tensor_type(aval.shape, out_dtype),
        operands,
        {
            "dot_dimension_numbers": dot_dimension_numbers(dimension_numbers),
            "precision_config": precision_attribute(None),
            "algorithm": mlir.parsed(plan.attribute),
        },
    )
    return result if out_dtype == aval.dtype else context.convert(result, aval.shape, aval.dtype)


class _AlgorithmPlan(NamedTuple):
    """An algorithm for operands of given dtypes.

    Attributes:
      attribute: the algorithm's text in MLIR.
      left_types: the accepted dtypes of the left operand.
      right_types: the accepted dtypes of the right operand.
      result_types: the accepted dtypes of the result; None for any.
    """

    attribute: str
    left_types: tuple
    right_types: tuple
    result_types: tuple | None


def _algorithm_plan(algorithm: Any, left: Any, right: Any) -> _AlgorithmPlan:
    if isinstance(algorithm, lax.DotAlgorithm):
        types: list[Any] = [np.dtype(kind) for kind in algorithm[:3]]
        left_type, right_type, sums = [mlir.element_type(kind) for kind in types]
        text = _algorithm_attribute(left_type, right_type, sums, algorithm)
        return _AlgorithmPlan(text, (types[0],), (types[1],), (types[2],))
    if algorithm.takes_any_float8:
        if dtypes.itemsize_bits(left) != 8 or dtypes.itemsize_bits(right) != 8:
            raise ValueError(
                f"The dot algorithm '{algorithm}' requires both inputs to have float8 dtypes. Got "
                f"{dtypes.name_of(left)} and {dtypes.name_of(right)} instead."
            )
        fast = algorithm is lax.DotAlgorithmPreset.ANY_F8_ANY_F8_F32_FAST_ACCUM
        details = lax.DotAlgorithm(None, None, None, allow_imprecise_accumulation=fast)
        left_type, right_type = mlir.element_type(left), mlir.element_type(right)
        text = _algorithm_attribute(left_type, right_type, "f32", details)
        return _AlgorithmPlan(text, (left,), (right,), None)
    left_type, right_type, sums, *repeated = algorithm.name.lower().split("_")
    details = lax.DotAlgorithm(
        None, None, None, num_primitive_operations=int(repeated[0][1:]) if repeated else 1
    )
    stored = algorithm.supported_lhs_types
    return _AlgorithmPlan(
        _algorithm_attribute(left_type, right_type, sums, details),
        stored,
        stored,
        algorithm.supported_output_types(
            *(dtype if dtype in stored else stored[0] for dtype in (left, right))
        ),
    )


def _algorithm_attribute(left: Any, right: Any, sums: Any, details: lax.DotAlgorithm) -> str:
    return (
        f"#stablehlo.dot_algorithm<lhs_precision_type = {left}, rhs_precision_type = {right}, "
        f"accumulation_type = {sums}, lhs_component_count = {details.lhs_component_count}, "
        f"rhs_component_count = {details.rhs_component_count}, num_primitive_operations = "
        f"{details.num_primitive_operations}, allow_imprecise_accumulation = "
        f"{str(details.allow_imprecise_accumulation).lower()}>"
    )


# ---- scaled products, which compilers recognize by name ----


@lowering_rules.define(lax.scaled_dot_p)
def _scaled_dot(
    context: LoweringContext,
    *operands: Any,
    dimension_numbers: Any,
    preferred_element_type: Any,
) -> Any:
    params = {
        "dimension_numbers": dimension_numbers,
        "preferred_element_type": preferred_element_type,
    }
    if len(context.platforms) > 1:
        return context.inline_function(scaled_dot_decomposition, operands, params)
    closed = trace_to_closed(
        lambda *args: [scaled_dot_decomposition(*args, **params)], context.avals_in
    )
    return composite_operation(
        context,
        closed,
        operands,
        "xla.scaled_dot",
        {
            "dimension_numbers": tuple(map(list, dimension_numbers)),
            "preferred_element_type": preferred_element_type,
        },
    )[0]
