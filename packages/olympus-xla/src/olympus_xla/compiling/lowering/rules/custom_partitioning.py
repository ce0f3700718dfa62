# SPDX-License-Identifier: Apache-2.0
"""Lowering of functions with user-defined partitioning rules, which the partitioner calls."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import extend_axes
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import PartitionSpec
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_sharding import NamedSharding

from ...._jaxlib import GSPMDSharding, HloSharding, OpSharding, register_custom_call_partitioner
from ....arrays.spec_search import spec_of_hlo
from ....foreign.custom_partitioning import custom_partitioning_p
from ....foreign.sharding_rules import parse_sharding_rule
from .. import isolation, mlir
from ..context import LoweringContext, ModuleLowering
from ..tables import lowering_rules
from .collectives import AxisContext

_TARGET = "CustomSPMDPartitioning"

# Maps a text in a module to the call that it identifies. Modules may be compiled later, so entries
# are never removed.
_calls: dict[bytes, _Call] = {}


class _Call:
    """Record of a call, for the partitioner."""

    def __init__(self, params: dict[str, Any], mesh: Any, platforms: Sequence[str]) -> None:
        self.params = params
        self.mesh = mesh
        self.platforms = tuple(platforms)

    def types(self, tree: Any, avals: Sequence[Any], shardings: Sequence[Any]) -> Any:
        """Returns the user's functions' arguments as a pytree of types with shardings."""
        structs = [
            ShapeDtypeStruct(aval.shape, aval.dtype, sharding=self.sharding(sharding, aval.ndim))
            for aval, sharding in zip(avals, shardings, strict=True)
        ]
        return pytrees.tree_unflatten(tree, structs)

    def sharding(self, hlo: Any, ndim: int) -> Any:
        if self.params["decode_shardings"]:
            spec = spec_of_hlo(hlo, self.mesh, ndim)
            if spec is not None:
                full = (*spec, *(None,) * (ndim - len(spec)))
                return NamedSharding(self.mesh, PartitionSpec(*full))
        return GSPMDSharding(tuple(self.mesh.devices.flat), hlo)

    @property
    def arguments(self) -> tuple[Any, Sequence[Any]]:
        return self.params["in_tree"], self.params["call"].in_avals

    @property
    def results(self) -> tuple[Any, Sequence[Any]]:
        return self.params["out_tree"], self.params["call"].out_avals


@lowering_rules.define(custom_partitioning_p)
def _custom_partitioning(context: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
    module = context.module
    mesh = module.mesh
    if mesh is None or module.num_partitions == 1 or module.axis_context is not None:
        return context.lower(params["call"], operands)
    module.is_for_devices = True
    attributes = {}
    rule = params["sharding_rule"]
    if rule is None:
        if params["infer_sharding_from_operands"] or params["propagate_user_sharding"]:
            raise NotImplementedError(
                "Shardy is used, but sharding propagation callbacks instead of sharding_rule are "
                "provided. Need to provide sharding_rule to migrate to Shardy: "
                'def_partition(..., sharding_rule="i j -> i j").'
            )
    else:
        attributes["sdy.sharding_rule"] = mlir.parsed(_rule_text(context, rule, operands, mesh))
    key = str(id(params["partition"])) + f".{len(_calls)}"
    _register()
    _calls[key.encode()] = _Call(params, mesh, context.platforms)
    return context.custom_call(
        _TARGET,
        context.result_types,
        operands,
        backend_config=key,
        api_version=2,
        attributes=attributes,
    )


def _rule_text(context: LoweringContext, rule: Any, operands: Sequence[Any], mesh: Any) -> str:
    if callable(rule):
        kinds = [operand.type for operand in operands]
        rule = rule(mesh, kinds, context.result_types)
        if isinstance(rule, str):
            rule = parse_sharding_rule(rule)
    return rule.attribute_text(
        [mlir.physical_aval(aval).shape for aval in context.avals_in],
        [mlir.physical_aval(aval).shape for aval in context.avals_out],
    )


# ---- callbacks for the partitioner ----


@functools.cache
def _register() -> None:
    isolation.expect_calls_from_compiler()
    register_custom_call_partitioner(_TARGET, _propagate, _partition, _infer, True)


def _one_each(hlo: Any, count: int, is_tuple: bool) -> list[Any]:
    return hlo.tuple_elements() if is_tuple else [hlo] * count


def _partition(
    arg_shapes: Sequence[Any],
    arg_shardings: Sequence[Any],
    result_shape: Any,
    result_sharding: Any,
    key: bytes,
) -> tuple[bytes, list[Any], Any]:
    """Returns the program of one device, with the shardings of its operands and results."""
    found = _calls[bytes(key)]
    (in_tree, in_avals), (out_tree, out_avals) = found.arguments, found.results
    is_tuple = result_shape.is_tuple()
    out_hlo = _one_each(result_sharding, len(out_avals), is_tuple)
    mesh, lower_fn, result_shardings, argument_shardings = found.params["partition"](
        *found.params["static_args"],
        found.mesh,
        found.types(in_tree, in_avals, arg_shardings),
        found.types(out_tree, out_avals, out_hlo),
    )
    in_flat = pytrees.tree_leaves(argument_shardings)
    out_flat = pytrees.tree_leaves(result_shardings)
    for role, shardings, avals in (
        ("argument", in_flat, in_avals),
        ("result", out_flat, out_avals),
    ):
        if len(shardings) != len(avals):
            raise ValueError(
                f"custom_partitioning: partition returned {len(shardings)} {role} shardings, and "
                f"there are {len(avals)} {role}s"
            )
    parts = [_part(aval, sharding) for aval, sharding in zip(in_avals, in_flat, strict=True)]
    local_results = [
        _part(aval, sharding) for aval, sharding in zip(out_avals, out_flat, strict=True)
    ]
    code = _program_of_device(found, mesh, lower_fn, in_tree, parts, local_results)
    in_hlo = [_hlo(sharding, aval.ndim) for sharding, aval in zip(in_flat, in_avals, strict=True)]
    packed = [_hlo(sharding, aval.ndim) for sharding, aval in zip(out_flat, out_avals, strict=True)]
    return code, in_hlo, _packed(packed, is_tuple)


def _part(aval: Any, sharding: Any) -> ShapedArray:
    return ShapedArray(sharding.shard_shape(aval.shape), aval.dtype)


def _hlo(sharding: Any, ndim: int) -> Any:
    return sharding._to_xla_hlo_sharding(ndim)


def _packed(shardings: Sequence[Any], is_tuple: bool) -> Any:
    if not is_tuple:
        return shardings[0]
    proto = OpSharding()
    proto.type = OpSharding.Type.TUPLE
    proto.tuple_shardings = [sharding.to_proto() for sharding in shardings]
    return HloSharding.from_proto(proto)


def _program_of_device(
    found: _Call,
    mesh: Any,
    lower_fn: Any,
    in_tree: Any,
    parts: Sequence[Any],
    local_results: Sequence[Any],
) -> bytes:
    def flat(*leaves: Any) -> list[Any]:
        return pytrees.tree_leaves(lower_fn(*pytrees.tree_unflatten(in_tree, leaves)))

    with extend_axes(dict(mesh.shape)):
        closed = trace_to_closed(flat, parts)
    for position, (aval, expected) in enumerate(zip(closed.out_avals, local_results, strict=True)):
        if (aval.shape, aval.dtype) != (expected.shape, expected.dtype):
            raise ValueError(
                f"Mismatch in result shapes of custom_partitioning: result {position} of the "
                f"function for one device is {aval.str_short()}, and its sharding gives each "
                f"device {expected.str_short()}"
            )
    with mlir.lowering_lock, mlir.context(), mlir.unknown_location():
        module = ModuleLowering("custom_partitioning", found.platforms)
        module.axis_context = AxisContext(mesh.axis_names, mesh.axis_sizes)
        module.add_function("main", closed, "custom_partitioning", public=True)
        return mlir.bytecode(module.module)


def _infer(
    arg_shapes: Sequence[Any],
    arg_shardings: Sequence[Any],
    result_shape: Any,
    key: bytes,
) -> Any:
    """Returns the sharding of the results, inferred from the shardings of the operands."""
    found = _calls[bytes(key)]
    (in_tree, in_avals), (out_tree, out_avals) = found.arguments, found.results
    infer = found.params["infer_sharding_from_operands"]
    types = found.types(in_tree, in_avals, arg_shardings)
    if infer is None:
        flat = [NamedSharding(found.mesh, PartitionSpec())] * len(out_avals)
    else:
        structs = [ShapeDtypeStruct(aval.shape, aval.dtype) for aval in out_avals]
        result = pytrees.tree_unflatten(out_tree, structs)
        inferred = infer(*found.params["static_args"], found.mesh, types, result)
        flat = pytrees.tree_leaves(inferred)
    packed = [_hlo(leaf, aval.ndim) for leaf, aval in zip(flat, out_avals, strict=True)]
    return _packed(packed, result_shape.is_tuple())


def _propagate(sharding: Any, shape: Any, key: bytes) -> Any:
    """Applies ``propagate_user_sharding``, if given, to a user's sharding."""
    found = _calls[bytes(key)]
    propagate = found.params["propagate_user_sharding"]
    out_tree, out_avals = found.results
    if propagate is None:
        return sharding
    hlo = _one_each(sharding, len(out_avals), shape.is_tuple())
    types = found.types(out_tree, out_avals, hlo)
    flat = pytrees.tree_leaves(propagate(*found.params["static_args"], found.mesh, types))
    packed = [_hlo(leaf, aval.ndim) for leaf, aval in zip(flat, out_avals, strict=True)]
    return _packed(packed, shape.is_tuple())
