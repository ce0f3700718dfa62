# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.adapters.trace_state import eval_context as eval_context
from olympus_ir.lax.core.sizes import max_dim as max_dim
from olympus_ir.lax.core.sizes import min_dim as min_dim
from olympus_ir.programs.evaluation import eval_olympuspr as eval_olympuspr
from olympus_ir.programs.tracing import ensure_compile_time_eval as ensure_compile_time_eval
from typing import Any
AbstractValue: Any
Atom: Any
ParamDict: Any
ShapedArray: Any
Trace: Any
Tracer: Any
Value: Any
