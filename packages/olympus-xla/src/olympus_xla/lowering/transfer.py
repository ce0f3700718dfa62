# SPDX-License-Identifier: Apache-2.0
"""Lowering of placement: a computation runs where it runs, but over a mesh values are cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from .._jaxlib import NamedSharding
from .constraints import constrain
from .context import LoweringContext
from .tables import lowering_rules


@lowering_rules.define(lax.device_put_p)
def _device_put(
    context: LoweringContext, *operands: Any, devices: Sequence[Any], **params: Any
) -> list[Any]:
    if len(operands) > 1:  # of several operands, as of several results, each keeps its place
        return list(operands)
    return [
        constrain(context, operand, place) if type(place) is NamedSharding else operand
        for operand, place in zip(operands, devices, strict=True)
    ]
