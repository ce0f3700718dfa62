# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.types.avals import get_aval as get_aval
from olympus_ir.types.effects import lowerable_effects as lowerable_effects
from olympus_sharding import Mesh as Mesh
from olympus_xla.compiling.lowering.adapters.library_operations import emit_python_callback as emit_python_callback
from olympus_xla.compiling.lowering.adapters.library_operations import flatten_ir_values as _flatten_ir_values
from olympus_xla.compiling.lowering.adapters.library_operations import flatten_ir_values as flatten_ir_values
from olympus_xla.compiling.lowering.adapters.library_operations import shape_tensor as shape_tensor
from olympus_xla.compiling.lowering.adapters.rule_context import AxisContext as AxisContext
from olympus_xla.compiling.lowering.adapters.rule_context import LoweringParameters as LoweringParameters
from olympus_xla.compiling.lowering.adapters.rule_context import LoweringResult as LoweringResult
from olympus_xla.compiling.lowering.adapters.rule_context import LoweringRuleContext as LoweringRuleContext
from olympus_xla.compiling.lowering.adapters.rule_context import ModuleContext as ModuleContext
from olympus_xla.compiling.lowering.adapters.rule_context import SPMDAxisContext as SPMDAxisContext
from olympus_xla.compiling.lowering.adapters.rule_context import ShapePolyLoweringState as ShapePolyLoweringState
from olympus_xla.compiling.lowering.adapters.rule_context import ShardingContext as ShardingContext
from olympus_xla.compiling.lowering.adapters.rule_context import TokenSet as TokenSet
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import core_call_lowering as core_call_lowering
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import lower_fun as lower_fun
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import lower_olympuspr_to_fun as lower_olympuspr_to_fun
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import lower_olympuspr_to_module as lower_olympuspr_to_module
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import merge_mlir_modules as merge_mlir_modules
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import olympuspr_subcomp as olympuspr_subcomp
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import register_lowering as register_lowering
from olympus_xla.compiling.lowering.mlir import bytecode as _bytecode
from olympus_xla.compiling.lowering.mlir import element_type as _element_type
from olympus_xla.compiling.lowering.mlir import i64_array as _i64_array
from olympus_xla.compiling.lowering.mlir import token_type as token_type
from typing import Any
Callable: Any
ConstantHandler: Any
DEVICE_TO_DEVICE_TYPE: int
Iterable: Any
LoweringRule: Any
MeshAxisName: Any
Protocol: Any
RECV_FROM_HOST_TYPE: int
SEND_TO_HOST_TYPE: int
Sequence: Any
Token: Any
Value: Any
aval_to_ir_type: Any
aval_to_ir_types: Any
constant_handlers: Any
dense_int_array = _i64_array
dense_int_elements: Any
dtype_to_ir_type = _element_type
flatten_ir_types = _flatten_ir_values
i32_attr: Any
i64_attr: Any
ir_attribute: Any
ir_constant: Any
ir_constants: Any
ir_tree_registry: Any
ir_type_handlers: Any
make_ir_context: Any
module_to_bytecode = _bytecode
module_to_string: Any
register_constant_handler: Any
unflatten_ir_values_like_types: Any
