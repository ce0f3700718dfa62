# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.compiling.lowering.adapters.rule_context import LoweringRuleContext as LoweringRuleContext
from olympus_xla.compiling.lowering.mlir import OlympusIrContext as OlympusIrContext
from typing import Any
upstream_dialects: Any
