# SPDX-License-Identifier: Apache-2.0
"""Lowering of calls of exported functions.

The module of an exported function becomes part of the caller's module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_xla._jaxlib import register_called_routines
from olympus_xla.arrays.spec_search import spec_of_hlo
from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.lowering.context import LoweringContext, ModuleLowering
from olympus_xla.compiling.lowering.merging import move_operations
from olympus_xla.compiling.lowering.mlir import ir
from olympus_xla.compiling.lowering.platforms import by_platform, index_type
from olympus_xla.compiling.lowering.shardings import spec_attribute
from olympus_xla.compiling.lowering.tables import lowering_rules

from .checking import check_module
from .exported import Exported, call_exported_p
from .safety_checks import DisabledSafetyCheck

# Attributes of operands and results that have a meaning only at the boundary of a module.
_BOUNDARY_ATTRIBUTES = ("tf.aliasing_output", "jax.buffer_donor", "sdy.sharding", "mhlo.sharding")


@lowering_rules.define(call_exported_p)
def _call_exported(context: LoweringContext, *operands: Any, exported: Exported) -> list[Any]:
    _check_platforms(context, exported)
    devices = context.module.num_partitions
    if exported.nr_devices not in (1, devices):
        raise ValueError(
            f"Function {exported.fun_name} was exported for {exported.nr_devices} devices and is "
            f"called in a context with {devices} devices, which is not allowed. Pass arguments "
            "on as many devices, or jit the caller with shardings over so many devices."
        )
    values = [
        _constrain(context, operands[position], exported, position, is_result=False)
        for position in exported.module_kept_var_idx
    ]
    result_types = context.result_types
    if exported.is_symbolic:
        context.module.needs_refinement = True
        values = _converted(
            context, values, [exported.in_avals[p] for p in exported.module_kept_var_idx]
        )
        result_types = [mlir.aval_type(aval) for aval in exported.out_avals]
    elif exported.uses_global_constants:
        context.module.needs_refinement = True
    if len(exported.platforms) > 1:
        values.insert(0, _platform_index(context, exported))
    symbol = _merged(context.module, exported)
    results = context.operation(
        "func.call", mlir.plain_types(result_types), values, {"callee": mlir.symbol(symbol)}
    ).results
    if exported.is_symbolic:
        results = _converted(context, results, context.avals_out)
    return [
        _constrain(context, result, exported, position, is_result=True)
        for position, result in enumerate(results)
    ]


def _converted(context: LoweringContext, values: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    """Converts values to the types of ``avals``.

    A dimension that is static in one type may be dynamic in the other.
    """
    types = mlir.plain_types([mlir.aval_type(aval) for aval in avals])
    return [
        value if value.type == kind else context.create("stablehlo.convert", kind, (value,))
        for value, kind in zip(values, types, strict=True)
    ]


def _check_platforms(context: LoweringContext, exported: Exported) -> None:
    if DisabledSafetyCheck.platform() in exported.disabled_safety_checks:
        return
    if not set(context.platforms) <= set(exported.platforms):
        raise ValueError(
            f"Function '{exported.fun_name}' was exported for platforms '{exported.platforms}' but "
            f"it is used on '{context.platforms}'. Export it for both, with "
            f"platforms={sorted({*exported.platforms, *context.platforms})}."
        )


def _platform_index(context: LoweringContext, exported: Exported) -> Any:
    """Returns the index of the current platform in the exported function's list of platforms."""

    def index_of(inner: LoweringContext) -> list[Any]:
        # If the check of platforms is disabled, the index of an unknown platform is 0.
        platform = inner.platforms[0]
        known = platform in exported.platforms
        index = exported.platforms.index(platform) if known else 0
        return [inner.scalar(index, np.dtype(np.int32))]

    if len(context.platforms) > 1:
        return by_platform(context, index_of, [index_type()])[0]
    return index_of(context)[0]


def _constrain(
    context: LoweringContext, value: Any, exported: Exported, position: int, *, is_result: bool
) -> Any:
    """Returns an operand or result, constrained to its sharding in the exported function."""
    module = context.module
    if exported.nr_devices == 1 or module.mesh is None:
        return value
    if is_result:
        named, hlo = exported._out_named_shardings, exported.out_shardings_hlo
        aval = exported.out_avals[position]
    else:
        named, hlo = exported._in_named_shardings, exported.in_shardings_hlo
        aval = exported.in_avals[position]
    mesh = module.mesh
    if (of_mesh := named[position]) is not None:
        mesh, spec = of_mesh.mesh, of_mesh.spec
    elif hlo[position] is not None:
        spec = spec_of_hlo(hlo[position], mesh, aval.ndim)
        if spec is None:
            raise ValueError(
                f"'{exported.fun_name}' was exported with the sharding {hlo[position]} of "
                f"{aval.str_short()}, which cannot be expressed over the caller's mesh {mesh}"
            )
    else:
        return value
    attribute = spec_attribute(spec, mlir.physical_aval(aval).ndim, mesh=module.mesh_symbol(mesh))
    return context.create("sdy.sharding_constraint", value.type, (value,), {"sharding": attribute})


def _merged(module: ModuleLowering, exported: Exported) -> str:
    """Returns the symbol of an exported function in the caller's module.

    The first call moves the function into the module.
    """
    symbol = module.merged.get(exported)
    if symbol is None:
        symbol = module.merged[exported] = _merge(module, exported)
    return symbol


def _merge(module: ModuleLowering, exported: Exported) -> str:
    register_called_routines(exported.mlir_module_serialized)
    source = mlir.portable_module(exported.mlir_module_serialized)
    check_module(exported, source)

    def rename(operation: Any, old: str) -> str:
        if operation.operation.name == "sdy.mesh":
            return module.unique_name(f"exported_{old}")
        if old != "main":
            return module.unique_name(old)
        _make_private(operation)
        return module.unique_name(f"call_exported_{exported.fun_name}")

    return move_operations(source, module.module, rename)["main"]


def _make_private(function: Any) -> None:
    function.attributes["sym_visibility"] = mlir.string("private")
    for name in ("arg_attrs", "res_attrs"):
        if name in function.attributes:
            function.attributes[name] = mlir.array(_without_boundary(function.attributes[name]))


def _without_boundary(dictionaries: Sequence[Any]) -> list[Any]:
    return [
        mlir.dictionary(
            {
                attribute.name: attribute.attr
                for attribute in attributes
                if attribute.name not in _BOUNDARY_ATTRIBUTES
            }
        )
        for attributes in map(ir.DictAttr, dictionaries)
    ]
