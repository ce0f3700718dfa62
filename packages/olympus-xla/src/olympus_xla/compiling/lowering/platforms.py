# SPDX-License-Identifier: Apache-2.0
"""Programs for several platforms, which branch on the platform's index at run time.

The first operand of such a program is the index of the actual platform. The program passes the
index to its functions. Each platform's compiler removes the branches of the other platforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.effects import ordered_effects

from . import mlir
from .tables import LoweringRule

if TYPE_CHECKING:
    from .context import LoweringContext

INDEX_ATTRIBUTES = {"jax.global_constant": "_platform_index"}


def index_type() -> Any:
    """Returns the MLIR type of the platform's index."""
    return mlir.tensor_type((), np.dtype(np.int32))


def index_attributes() -> dict[str, Any]:
    """Returns the attributes of the operand that holds the platform's index."""
    return {name: mlir.string(value) for name, value in INDEX_ATTRIBUTES.items()}


def by_platform(
    context: LoweringContext,
    emit: Callable[[LoweringContext], Sequence[Any]],
    result_types: Sequence[Any],
    effects: Sequence[Any] = (),
) -> list[Any]:
    """Builds a branch for each platform on which the program may run.

    Args:
      context: the block.
      emit: called once for each platform, with a context of only that platform. Returns the values
        of the results.
      result_types: the MLIR types of the results.
      effects: the ordered effects that the branches may have.
    """
    types = [mlir.token_type()] * len(effects) + list(result_types)
    count = len(context.platforms)
    case = context.operation("stablehlo.case", types, [context.platform_index], regions=count)
    for position, platform in enumerate(context.platforms):
        inner = context.region(case, position, ())
        inner.platforms = (platform,)
        inner.platform_index = None
        results = emit(inner)
        inner.end_region([*(inner.tokens[effect] for effect in effects), *results])
    values = list(case.results)
    context.tokens.update(zip(effects, values, strict=False))
    return values[len(effects) :]


def rule_by_platform(
    rules: Sequence[LoweringRule], platforms: Sequence[str], primitive: Primitive
) -> LoweringRule:
    """Returns a rule that chooses among a primitive's rules by the platform."""
    of_platform: dict[str, Any] = dict(zip(platforms, rules, strict=True))

    def rule(context: LoweringContext, *operands: Any, **params: Any) -> Any:
        def emit(inner: LoweringContext) -> Sequence[Any]:
            results = of_platform[inner.platforms[0]](inner, *operands, **params)
            return results if primitive.multiple_results else [results]

        effects = sorted(ordered_effects.filter_in(context.equation.effects), key=str)
        results = by_platform(context, emit, context.result_types, effects)
        return results if primitive.multiple_results else results[0]

    return rule
