# SPDX-License-Identifier: Apache-2.0
"""Operations on integers of two bits, which XLA for CPUs cannot do, in eight bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive

from ..context import LoweringContext
from ..tables import LoweringRule

_IN_BYTES: dict[Any, Any] = {
    np.dtype(ml_dtypes.int2): np.dtype(np.int8),
    np.dtype(ml_dtypes.uint2): np.dtype(np.uint8),
}


def in_bytes(primitive: Primitive, rule: LoweringRule) -> LoweringRule:
    """Returns a rule that computes on integers of two bits in eight.

    XLA for CPUs packs four of these integers in a byte. It ends the process at their
    concatenation, fails at the positions of their extremes, and sorts them wrongly.

    Args:
      primitive: the primitive, which rearranges or compares its operands.
      rule: the rule for wider operands.
    """

    def rule_or_in_bytes(context: LoweringContext, *operands: Any, **params: Any) -> Any:
        if not any(aval.dtype in _IN_BYTES for aval in context.avals_in):
            return rule(context, *operands, **params)
        kinds = tuple(aval.dtype for aval in context.avals_out)
        return context.inline_function(compute, operands, {"result_dtypes": kinds, **params})

    def compute(*operands: Any, result_dtypes: tuple, **params: Any) -> list[Any]:
        wide = [lax.convert_element_type(x, _IN_BYTES.get(x.dtype, x.dtype)) for x in operands]
        results = primitive.bind(*wide, **params)
        if not primitive.multiple_results:
            results = [results]
        return list(map(lax.convert_element_type, results, result_dtypes))

    return rule_or_in_bytes
