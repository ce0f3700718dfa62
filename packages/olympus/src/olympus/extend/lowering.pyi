# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.compiling.lowering.adapters.rule_context import LoweringRuleContext as LoweringRuleContext
from typing import Any
OlympusIrContext: Any
upstream_dialects: Any
