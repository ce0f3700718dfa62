# SPDX-License-Identifier: Apache-2.0
"""Lowering: registers rules, and builds the types, constants and attributes that rules need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from olympus_ir.types.avals import get_aval
from olympus_ir.types.effects import lowerable_effects as lowerable_effects
from olympus_sharding import Mesh as Mesh
from olympus_xla._jaxlib import ir_tree_registry as ir_tree_registry
from olympus_xla.compiling.lowering import mlir as _mlir
from olympus_xla.compiling.lowering.adapters.library_operations import (
    emit_python_callback as emit_python_callback,
)
from olympus_xla.compiling.lowering.adapters.library_operations import (
    flatten_ir_values as flatten_ir_values,
)
from olympus_xla.compiling.lowering.adapters.library_operations import shape_tensor as shape_tensor
from olympus_xla.compiling.lowering.adapters.rule_context import AxisContext as AxisContext
from olympus_xla.compiling.lowering.adapters.rule_context import (
    LoweringParameters as LoweringParameters,
)
from olympus_xla.compiling.lowering.adapters.rule_context import LoweringResult as LoweringResult
from olympus_xla.compiling.lowering.adapters.rule_context import (
    LoweringRuleContext as LoweringRuleContext,
)
from olympus_xla.compiling.lowering.adapters.rule_context import ModuleContext as ModuleContext
from olympus_xla.compiling.lowering.adapters.rule_context import (
    ShapePolyLoweringState as ShapePolyLoweringState,
)
from olympus_xla.compiling.lowering.adapters.rule_context import ShardingContext as ShardingContext
from olympus_xla.compiling.lowering.adapters.rule_context import SPMDAxisContext as SPMDAxisContext
from olympus_xla.compiling.lowering.adapters.rule_context import TokenSet as TokenSet
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import (
    core_call_lowering as core_call_lowering,
)
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import lower_fun as lower_fun
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import (
    lower_olympuspr_to_fun as lower_olympuspr_to_fun,
)
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import (
    lower_olympuspr_to_module as lower_olympuspr_to_module,
)
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import (
    merge_mlir_modules as merge_mlir_modules,
)
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import (
    olympuspr_subcomp as olympuspr_subcomp,
)
from olympus_xla.compiling.lowering.adapters.rules_of_libraries import (
    register_lowering as register_lowering,
)
from olympus_xla.compiling.lowering.context import constant_handlers
from olympus_xla.compiling.lowering.mlir import bytecode as module_to_bytecode
from olympus_xla.compiling.lowering.mlir import element_type as dtype_to_ir_type
from olympus_xla.compiling.lowering.mlir import i64_array as dense_int_array
from olympus_xla.compiling.lowering.mlir import ir as ir
from olympus_xla.compiling.lowering.mlir import ir_type_handlers as ir_type_handlers
from olympus_xla.compiling.lowering.mlir import token_type as token_type

from .. import _lazy

MeshAxisName: TypeAlias = Any
# A value of a program being built; tokens are values too.
Value = ir.Value
Token = ir.Value
LoweringRule = Callable[..., Sequence[Any]]

# The kinds of channels between devices, and between a device and the host.
DEVICE_TO_DEVICE_TYPE = 1
SEND_TO_HOST_TYPE = 2
RECV_FROM_HOST_TYPE = 3

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})


class ConstantHandler(Protocol):
    """Function that converts constants of a type to MLIR values or to NumPy arrays."""

    def __call__(self, val: Any, aval: Any = None) -> Any:
        """Returns MLIR values or a NumPy array for a constant of the type ``aval``."""
        ...


def register_constant_handler(type_: type, handler_fun: Any) -> None:
    """Registers the conversion of constants of a type to NumPy arrays.

    Args:
      type_: the type.
      handler_fun: maps a constant to a NumPy array.
    """
    constant_handlers[type_] = handler_fun


def make_ir_context() -> Any:
    """Returns the MLIR context in which programs are built."""
    return _mlir.context()


def i32_attr(i: int) -> Any:
    """Returns a 32-bit integer attribute."""
    return _mlir.i32(i)


def i64_attr(i: int) -> Any:
    """Returns a 64-bit integer attribute."""
    return _mlir.i64(i)


def dense_int_elements(xs: Any) -> Any:
    """Returns a dense attribute of 64-bit integers."""
    return _mlir.i64_elements(xs)


def aval_to_ir_type(ctx: Any, aval: Any) -> Any:
    """Returns the MLIR type of values of an abstract value.

    Args:
      ctx: the module's context, which is ignored.
      aval: the abstract value.

    Returns:
      An MLIR type.
    """
    return _mlir.aval_type(aval)


def aval_to_ir_types(ctx: Any, aval: Any) -> tuple[Any, ...]:
    """Returns the MLIR type of values of an abstract value, in a tuple."""
    return (aval_to_ir_type(ctx, aval),)


def ir_constant(val: Any, *, const_lowering: Any = None, aval: Any = None) -> Any:
    """Adds a constant at the current insertion point.

    Args:
      val: an array or scalar.
      const_lowering: ignored; constants that are already built are built again.
      aval: the abstract value of the constant, if ``val`` does not determine it.

    Returns:
      An MLIR value.
    """
    handler = constant_handlers.get(type(val))
    if aval is None and isinstance(val, np.ndarray | np.generic):
        dtype = val.dtype  # A 64-bit dtype is kept, because operands that are shapes need it.
    else:
        dtype = _mlir.physical_aval(get_aval(val) if aval is None else aval).dtype
    array = np.asarray(val if handler is None else handler(val), dtype)
    return ir.Operation.create(
        "stablehlo.constant",
        results=[_mlir.tensor_type(array.shape, array.dtype)],
        attributes={"value": _mlir.dense(array)},
    ).result


def ir_constants(val: Any, *, const_lowering: Any = None, aval: Any = None) -> tuple[Any, ...]:
    """Adds a constant as `ir_constant` does, and returns its value in a tuple."""
    return (ir_constant(val, const_lowering=const_lowering, aval=aval),)


def ir_attribute(val: Any) -> Any:
    """Returns a Python value (boolean, number, string, array or sequence) as an attribute."""
    if isinstance(val, ir.Attribute):
        return val
    if isinstance(val, bool | np.bool_):
        return _mlir.boolean(bool(val))
    if isinstance(val, int):
        return _mlir.i64(val)
    if isinstance(val, float):  # NumPy's float64 is a subclass of float
        return ir.FloatAttr.get(_mlir.element_type(np.dtype("float64")), float(val))
    if isinstance(val, np.integer):
        return ir.IntegerAttr.get(_mlir.element_type(val.dtype), int(val))
    if isinstance(val, np.floating):
        return ir.FloatAttr.get(_mlir.element_type(val.dtype), float(val))
    if isinstance(val, str):
        return _mlir.string(val)
    if isinstance(val, np.ndarray | np.generic):
        return _mlir.dense(np.asarray(val))
    if isinstance(val, Sequence):
        return _mlir.array([ir_attribute(item) for item in val])
    raise TypeError(f"a value of type {type(val)} cannot be an attribute of an operation")


def module_to_string(module: Any, enable_debug_info: bool | None = None) -> str:
    """Returns the text of a module.

    Args:
      module: the module.
      enable_debug_info: whether to show locations.

    Returns:
      The text of the module.
    """
    return str(module.operation.get_asm(enable_debug_info=bool(enable_debug_info)))


flatten_ir_types = flatten_ir_values


def unflatten_ir_values_like_types(xs: Iterable[Any], ys: Sequence[Any]) -> list[Any]:
    """Groups flat values into tuples as the types ``ys`` are grouped."""
    values = iter(xs)
    return [
        tuple(next(values) for _ in y) if isinstance(y, list | tuple) else next(values) for y in ys
    ]


__all__ = [
    "DEVICE_TO_DEVICE_TYPE",
    "RECV_FROM_HOST_TYPE",
    "SEND_TO_HOST_TYPE",
    "AxisContext",
    "ConstantHandler",
    "LoweringParameters",
    "LoweringResult",
    "LoweringRule",
    "LoweringRuleContext",
    "Mesh",
    "MeshAxisName",
    "ModuleContext",
    "SPMDAxisContext",
    "ShapePolyLoweringState",
    "ShardingContext",
    "Token",
    "TokenSet",
    "Value",
    "aval_to_ir_type",
    "aval_to_ir_types",
    "core_call_lowering",
    "dense_int_array",
    "dense_int_elements",
    "dtype_to_ir_type",
    "emit_python_callback",
    "flatten_ir_types",
    "flatten_ir_values",
    "i32_attr",
    "i64_attr",
    "ir",
    "ir_attribute",
    "ir_constant",
    "ir_constants",
    "ir_tree_registry",
    "ir_type_handlers",
    "lower_fun",
    "lower_olympuspr_to_fun",
    "lower_olympuspr_to_module",
    "lowerable_effects",
    "make_ir_context",
    "merge_mlir_modules",
    "module_to_bytecode",
    "module_to_string",
    "olympuspr_subcomp",
    "register_constant_handler",
    "register_lowering",
    "shape_tensor",
    "token_type",
    "unflatten_ir_values_like_types",
]
