# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.adapters.partial_evaluation import OlympusprTracer as OlympusprTracer
from olympus_ir.adapters.partial_evaluation import PartialVal as PartialVal
from olympus_ir.adapters.partial_evaluation import custom_partial_eval_rules as custom_partial_eval_rules
from olympus_ir.adapters.partial_evaluation import partial_eval_olympuspr_custom_rules as partial_eval_olympuspr_custom_rules
from olympus_ir.adapters.partial_evaluation import trace_to_olympuspr_dynamic as trace_to_olympuspr_dynamic
from olympus_ir.adapters.partial_evaluation import trace_to_olympuspr_nounits as trace_to_olympuspr_nounits
from olympus_ir.programs.dead_code import dead_code_rules as dead_code_rules
from olympus_ir.programs.staging import StagingTrace as _StagingTrace
from olympus_ir.programs.staging import StagingTracer as _StagingTracer
from typing import Any
import olympus_ir.programs.dead_code as dead_code
Callable: Any
DynamicOlympusprTrace = _StagingTrace
DynamicOlympusprTracer = _StagingTracer
Equation: Any
Iterator: Any
Olympuspr: Any
Primitive: Any
Rule: Any
Sequence: Any
Val: Any
dce_olympuspr: Any
dce_olympuspr_call_rule: Any
dce_olympuspr_closed_call_rule: Any
dce_olympuspr_consts: Any
dce_rules: Any
