# SPDX-License-Identifier: Apache-2.0
"""Lowering of placement: a compiled computation runs where it runs, so nothing is left to do."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from .context import LoweringContext
from .tables import lowering_rules


@lowering_rules.define(lax.device_put_p)
def _device_put(context: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
    return list(operands)
