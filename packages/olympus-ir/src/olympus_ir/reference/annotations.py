# SPDX-License-Identifier: Apache-2.0
"""Reference rules of annotations, which return their operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lax.annotations import primitives
from .calls import call
from .tables import reference_rules


@reference_rules.define(primitives.xla_metadata_value_p)
@reference_rules.define(primitives.layout_constraint_p)
def _same(operand: np.ndarray, **params: Any) -> np.ndarray:
    return operand


@reference_rules.define(primitives.shard_alike_p)
def _both(*operands: np.ndarray) -> list[np.ndarray]:
    return list(operands)


for _primitive in (
    primitives.xla_metadata_call_p,
    primitives.compute_on_p,
    primitives.fused_call_p,
):
    reference_rules.define(
        _primitive, lambda *operands, jaxpr, **params: call(*operands, call_jaxpr=jaxpr)
    )
