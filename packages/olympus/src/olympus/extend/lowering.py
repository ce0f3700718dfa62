# SPDX-License-Identifier: Apache-2.0
"""The context of lowering rules, and the MLIR context in which they build operations."""

from __future__ import annotations

from olympus_xla.compiling.lowering.adapters.rule_context import (
    LoweringRuleContext as LoweringRuleContext,
)
from olympus_xla.compiling.lowering.mlir import OlympusIrContext as OlympusIrContext
from olympus_xla.compiling.lowering.mlir import upstream_dialects as upstream_dialects

from .. import _lazy

__all__ = ["LoweringRuleContext", "OlympusIrContext", "upstream_dialects"]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})
