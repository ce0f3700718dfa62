# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from . import primitives as primitives
from olympus_ir.adapters.construction import CallPrimitive as CallPrimitive
from olympus_ir.adapters.construction import call_impl as call_impl
from olympus_ir.adapters.construction import gensym as gensym
from olympus_ir.adapters.construction import new_olympuspr_eqn as new_olympuspr_eqn
from olympus_ir.adapters.construction import olympuspr_as_fun as olympuspr_as_fun
from olympus_ir.adapters.construction import primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype
from olympus_ir.adapters.construction import valid_olympustype as valid_olympustype
from olympus_ir.adapters.mapped_types import mapped_aval as mapped_aval
from olympus_ir.adapters.mapped_types import unmapped_aval as unmapped_aval
from olympus_ir.adapters.trace_state import TraceTag as TraceTag
from olympus_ir.adapters.trace_state import am_i_under_a_trace as _am_i_under_a_trace
from olympus_ir.adapters.trace_state import am_i_under_a_vmap as _am_i_under_a_vmap
from olympus_ir.adapters.trace_state import axis_names as _axis_names
from olympus_ir.adapters.trace_state import find_top_trace as find_top_trace
from olympus_ir.adapters.trace_state import get_opaque_trace_state as get_opaque_trace_state
from olympus_ir.adapters.trace_state import nonempty_axis_env as _nonempty_axis_env
from olympus_ir.adapters.trace_state import set_current_trace as set_current_trace
from olympus_ir.adapters.trace_state import take_current_trace as take_current_trace
from olympus_ir.diagnostics.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from olympus_ir.diagnostics.errors import OlympusprTypeError as OlympusprTypeError
from olympus_ir.lax import Token as Token
from olympus_ir.programs.checker import check_olympuspr as check_olympuspr
from olympus_ir.programs.olympuspr import Equation as _Equation
from olympus_ir.programs.olympuspr import olympusprs_in_params as olympusprs_in_params
from olympus_ir.programs.olympuspr import subolympusprs as subolympusprs
from olympus_ir.programs.tracing import concrete_or_error as concrete_or_error
from typing import Any
AbstractToken: Any
ClosedOlympuspr: Any
DebugInfo: Any
DropVar: Any
Effect: Any
Effects: Any
Literal: Any
Olympuspr: Any
OlympusprEqn = _Equation
Primitive: Any
Var: Any
array_types: Any
no_effects: Any
nonempty_axis_env_DO_NOT_USE = _nonempty_axis_env
unsafe_am_i_under_a_jit_DO_NOT_USE = _am_i_under_a_trace
unsafe_am_i_under_a_vmap_DO_NOT_USE = _am_i_under_a_vmap
unsafe_get_axis_names_DO_NOT_USE = _axis_names
