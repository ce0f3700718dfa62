# SPDX-License-Identifier: Apache-2.0
"""Declaration of the primitives of sparse arrays by their expansions.

A primitive is declared once by its expansion, a function of `lax` operations. The types of results
follow from the expansion, and every evaluator runs it. A primitive without a batching rule of its
own is batched by batching the expansion. The primitives keep programs readable and the derivatives
of sparse operations sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_autodiff import Zero, is_undefined_primal, jvp_rules, linear_transpose, transpose_rules
from olympus_autodiff.zeros import add_tangents, instantiate
from olympus_batching import batching_rules, vmap
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.avals import ShapedArray

__all__ = [
    "batched_expansion",
    "define_batching_by_expansion",
    "define_multilinear_jvp",
    "define_transpose_by_expansion",
    "sparse_primitive",
    "sparse_primitives",
    "transposed_expansion",
]

# All primitives of this package, in order of declaration.
sparse_primitives: list[Primitive] = []


def sparse_primitive(
    name: str, *, multiple_results: bool = False, linear_in: tuple[int, ...] = ()
) -> Callable[[Callable[..., Any]], Primitive]:
    """Returns a decorator that makes a primitive from its expansion.

    Args:
      name: the primitive's name.
      multiple_results: whether the expansion returns a list.
      linear_in: the positions of operands in which the result is linear.
    """

    def decorate(expansion: Callable[..., Any]) -> Primitive:
        primitive = Primitive.declare(name, multiple_results=multiple_results, family="sparse")
        primitive.linear_in = linear_in
        expansion_rules.define(primitive, expansion)

        def shape_rule(*avals: ShapedArray, **params: Any) -> Any:
            def results(*operands: Any) -> Sequence[Any]:
                out = expansion(*operands, **params)
                return out if multiple_results else [out]

            strong = [aval.update(weak_type=False) for aval in avals]
            closed = trace_to_closed(results, strong, DebugInfo.of(name, results))
            out_avals = [aval.update(weak_type=False) for aval in closed.out_avals]
            return out_avals if multiple_results else out_avals[0]

        primitive.def_abstract_eval(shape_rule)
        sparse_primitives.append(primitive)
        return primitive

    return decorate


def define_multilinear_jvp(primitive: Primitive, *operands: int) -> None:
    """Defines the JVP rule of a primitive that is linear in each of some operands.

    Other operands are constant. If there are several results, only the first has a tangent: the
    other results are indices.
    """

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        total = None
        for position in operands:
            if tangents[position].__class__ is not Zero:
                moved = list(primals)
                moved[position] = tangents[position]
                term = primitive.bind(*moved, **params)
                term = term[0] if primitive.multiple_results else term
                total = term if total is None else add_tangents(total, term)
        if primitive.multiple_results:
            first = Zero.of(out[0]) if total is None else total
            return out, [first, *map(Zero.of, out[1:])]
        return out, Zero.of(out) if total is None else total

    jvp_rules.define(primitive, rule)


def define_transpose_by_expansion(primitive: Primitive) -> None:
    """Defines the transpose rule of a primitive by transposing its expansion."""

    def rule(cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        return transposed_expansion(primitive, cotangent, *operands, **params)

    transpose_rules.define(primitive, rule)


def transposed_expansion(
    primitive: Primitive, cotangent: Any, *operands: Any, **params: Any
) -> list[Any]:
    """Returns the cotangents of a primitive's linear operands, from its expansion."""
    expansion = expansion_rules[primitive]
    linear = [position for position, operand in enumerate(operands) if is_undefined_primal(operand)]

    def fun(*values: Any) -> Any:
        full = list(operands)
        for position, value in zip(linear, values, strict=True):
            full[position] = value
        out = expansion(*full, **params)
        return out[0] if primitive.multiple_results else out

    avals = [operands[position].aval for position in linear]
    result_cotangent = cotangent[0] if primitive.multiple_results else cotangent
    results: list[Any] = [None] * len(operands)
    if result_cotangent.__class__ is Zero:
        return results
    for index, value in zip(
        linear, linear_transpose(fun, *avals)(instantiate(result_cotangent)), strict=True
    ):
        results[index] = value
    return results


def define_batching_by_expansion(primitive: Primitive) -> None:
    """Defines the batching rule of a primitive by batching its expansion."""

    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        return batched_expansion(primitive, axis_size, args, batch_dims, **params)

    batching_rules.define(primitive, rule)


def batched_expansion(
    primitive: Primitive, axis_size: int, args: Any, batch_dims: Any, **params: Any
) -> Any:
    """Applies the batched expansion of a primitive; returns results and batch dimensions."""
    expansion = expansion_rules[primitive]

    def fun(*operands: Any) -> Any:
        return expansion(*operands, **params)

    out = vmap(fun, in_axes=tuple(batch_dims), axis_size=axis_size)(*args)
    return out, [0] * len(out) if primitive.multiple_results else 0
