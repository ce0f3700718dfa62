# SPDX-License-Identifier: Apache-2.0
"""Lowering: the registration of rules, and the pieces of programs that rules build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from olympus_ir.avals import get_aval
from olympus_ir.effects import lowerable_effects as lowerable_effects
from olympus_ir.primitives import Primitive
from olympus_sharding import Mesh as Mesh
from olympus_xla.lowering import mlir as _mlir
from olympus_xla.lowering.context import LoweringContext as LoweringRuleContext
from olympus_xla.lowering.context import ModuleLowering as ModuleContext
from olympus_xla.lowering.context import constant_handlers
from olympus_xla.lowering.mlir import bytecode as module_to_bytecode
from olympus_xla.lowering.mlir import element_type as dtype_to_ir_type
from olympus_xla.lowering.mlir import i32 as i32_attr
from olympus_xla.lowering.mlir import i64 as i64_attr
from olympus_xla.lowering.mlir import i64_array as dense_int_array
from olympus_xla.lowering.mlir import i64_elements as dense_int_elements
from olympus_xla.lowering.mlir import ir as ir
from olympus_xla.lowering.mlir import token_type as token_type
from olympus_xla.lowering.tables import lowering_rules, platform_rules

from .. import _lazy

LoweringRule: TypeAlias = Callable[..., Any]
MeshAxisName: TypeAlias = Any
Value: TypeAlias = Any
ConstantHandler: TypeAlias = Callable[..., Any]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})


def register_lowering(
    prim: Primitive,
    rule: LoweringRule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Gives a primitive a lowering rule, or replaces the one there is.

    Args:
      prim: the primitive.
      rule: ``(context, *operands, **params)`` to the result, or a sequence of results. It may build
        operations with the generated builders of MLIR's Python bindings.
      platform: the only platform for which the rule is; None for all.
      inline: whether the operations are put in place; they always are.
      cacheable: whether equal equations may share what was built; they do not.
    """

    def entered(context: Any, *operands: Any, **params: Any) -> Any:
        with _mlir.context(), context.location, context.insertion_point:
            results = rule(context, *operands, **params)
        if prim.multiple_results:
            return list(results)
        return (
            results[0] if isinstance(results, list | tuple) or _is_result_list(results) else results
        )

    if platform is None:
        lowering_rules[prim] = entered
        return
    for name in _PLATFORMS.get(platform, (platform,)):
        platform_rules.setdefault(name, {})[prim] = entered


_PLATFORMS = {"gpu": ("cuda", "rocm")}


def _is_result_list(results: Any) -> bool:
    return isinstance(results, ir.OpResultList)


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweringRule:
    """Returns the rule that traces a function of the operands and lowers its program in place.

    Args:
      fun: takes the operands and the parameters.
      multiple_results: whether it returns a sequence of results rather than one.
    """

    def rule(context: Any, *operands: Any, **params: Any) -> Any:
        results = context.inline_function(fun, operands, params)
        return results if context.equation.primitive.multiple_results else [results]

    return rule


def register_constant_handler(type_: type, handler_fun: ConstantHandler) -> None:
    """Says how constants of a type become arrays of NumPy in programs.

    Args:
      type_: the type.
      handler_fun: from a constant to a NumPy array.
    """
    constant_handlers[type_] = handler_fun


def make_ir_context() -> Any:
    """Returns the context in which programs are built."""
    return _mlir.context()


def aval_to_ir_type(aval_or_context: Any, aval: Any = None) -> Any:
    """Returns the MLIR type of values of a type.

    Args:
      aval_or_context: the type; or a module's context, which makes no difference.
      aval: the type, where the first argument is a context.
    """
    return _mlir.aval_type(aval_or_context if aval is None else aval)


def aval_to_ir_types(aval_or_context: Any, aval: Any = None) -> tuple[Any, ...]:
    """As `aval_to_ir_type`, as a tuple of one."""
    return (aval_to_ir_type(aval_or_context, aval),)


def ir_constant(val: Any, *, const_lowering: Any = None, aval: Any = None) -> Any:
    """Adds a constant at the current insertion point.

    Args:
      val: an array or scalar.
      const_lowering: values of constants that are built already; they are built again.
      aval: the constant's type, where ``val`` does not say.
    """
    aval = get_aval(val) if aval is None else aval
    array = np.asarray(val, aval.dtype)
    return ir.Operation.create(
        "stablehlo.constant",
        results=[_mlir.tensor_type(array.shape, array.dtype)],
        attributes={"value": _mlir.dense(array)},
    ).result


def ir_constants(val: Any, *, const_lowering: Any = None, aval: Any = None) -> tuple[Any, ...]:
    """As `ir_constant`, as a tuple of one."""
    return (ir_constant(val, const_lowering=const_lowering, aval=aval),)


def ir_attribute(val: Any) -> Any:
    """Returns a Python value as an attribute: truth values, numbers, text, arrays, sequences."""
    if isinstance(val, ir.Attribute):
        return val
    if isinstance(val, bool | np.bool_):
        return _mlir.boolean(bool(val))
    if isinstance(val, int):
        return _mlir.i64(val) if abs(val) > 2**31 - 1 else _mlir.i32(val)
    if isinstance(val, float):
        return ir.FloatAttr.get(_mlir.element_type(np.dtype("float32")), val)
    if isinstance(val, str):
        return _mlir.string(val)
    if isinstance(val, np.ndarray | np.generic):
        return _mlir.dense(np.asarray(val))
    if isinstance(val, Sequence):
        return _mlir.array([ir_attribute(each) for each in val])
    raise TypeError(f"a value of type {type(val)} cannot be an attribute of an operation")


def module_to_string(module: Any, enable_debug_info: bool | None = None) -> str:
    """Returns a module as text.

    Args:
      module: the module.
      enable_debug_info: whether to show locations.
    """
    return str(module.operation.get_asm(enable_debug_info=bool(enable_debug_info)))


def flatten_ir_values(xs: Iterable[Any]) -> list[Any]:
    """Returns values, and sequences of values, as one list."""
    flat: list[Any] = []
    for each in xs:
        flat.extend(each) if isinstance(each, list | tuple) else flat.append(each)
    return flat


flatten_ir_types = flatten_ir_values


def unflatten_ir_values_like_types(xs: Iterable[Any], ys: Sequence[Any]) -> list[Any]:
    """Groups values as types are grouped."""
    values = iter(xs)
    return [
        tuple(next(values) for _ in each) if isinstance(each, list | tuple) else next(values)
        for each in ys
    ]


__all__ = [
    "ConstantHandler",
    "LoweringRule",
    "LoweringRuleContext",
    "Mesh",
    "MeshAxisName",
    "ModuleContext",
    "Value",
    "aval_to_ir_type",
    "aval_to_ir_types",
    "dense_int_array",
    "dense_int_elements",
    "dtype_to_ir_type",
    "flatten_ir_types",
    "flatten_ir_values",
    "i32_attr",
    "i64_attr",
    "ir",
    "ir_attribute",
    "ir_constant",
    "ir_constants",
    "lower_fun",
    "lowerable_effects",
    "make_ir_context",
    "module_to_bytecode",
    "module_to_string",
    "register_constant_handler",
    "register_lowering",
    "token_type",
    "unflatten_ir_values_like_types",
]
