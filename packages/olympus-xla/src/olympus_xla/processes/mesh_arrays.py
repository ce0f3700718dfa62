# SPDX-License-Identifier: Apache-2.0
"""Conversion between arrays over the devices of one process and arrays over all processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_batching.dimensions import BatchAxis
from olympus_batching.tables import axis_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.trees import pytrees
from olympus_ir.trees.pytree_prefix import spread_prefix
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding.meshes.mesh import Mesh

from .._jaxlib import ArrayImpl, NamedSharding
from ..arrays.assembly import _global_shape, make_array_from_single_device_arrays
from ..arrays.transfer import put_leaf

__all__ = [
    "global_array_to_host_local_array",
    "global_array_to_host_local_array_impl",
    "host_local_array_to_global_array",
    "host_local_array_to_global_array_impl",
    "is_global",
]


def is_global(value: Any) -> bool:
    """Returns whether a value is an array with shards on devices of other processes."""
    return type(value) is ArrayImpl and not value.is_fully_addressable


def _specs(pspecs: Any, tree: Any) -> list[PartitionSpec]:
    def is_leaf(value: Any) -> bool:
        return value is None or isinstance(value, PartitionSpec)

    specs = spread_prefix(pspecs, tree, is_leaf)
    return [PartitionSpec() if spec is None else spec for spec in specs]


def host_local_array_to_global_array(
    local_inputs: PyTree, global_mesh: Mesh, pspecs: PyTree
) -> PyTree:
    """Joins the arrays of the processes into arrays over all devices of a mesh.

    Args:
      local_inputs: a pytree of arrays; each process passes the data for its devices.
      global_mesh: a mesh over the devices of all processes.
      pspecs: a pytree of partition specs that is a prefix of ``local_inputs``.

    Returns:
      A pytree of arrays over the mesh.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> host_local_array_to_global_array(np.arange(2), mesh, olympus.P("i"))
      Array([0, 1], dtype=int32)
    """
    leaves, tree = pytrees.tree_flatten(local_inputs)
    results = [
        host_local_array_to_global_array_p.bind(leaf, global_mesh=global_mesh, pspec=spec)
        for leaf, spec in zip(leaves, _specs(pspecs, local_inputs), strict=True)
    ]
    return pytrees.tree_unflatten(tree, results)


def global_array_to_host_local_array(
    global_inputs: PyTree, global_mesh: Mesh, pspecs: PyTree
) -> PyTree:
    """Returns this process's part of global arrays, as arrays over the devices of this process.

    Args:
      global_inputs: a pytree of arrays over the devices of all processes.
      global_mesh: a mesh over these devices.
      pspecs: a pytree of partition specs of the arrays, a prefix of ``global_inputs``.

    Returns:
      A pytree of arrays over the mesh's devices in this process.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> array = olympus.device_put(np.arange(2), olympus.NamedSharding(mesh, olympus.P("i")))
      >>> global_array_to_host_local_array(array, mesh, olympus.P("i"))
      Array([0, 1], dtype=int32)
    """
    leaves, tree = pytrees.tree_flatten(global_inputs)
    results = [
        global_array_to_host_local_array_p.bind(leaf, global_mesh=global_mesh, pspec=spec)
        for leaf, spec in zip(leaves, _specs(pspecs, global_inputs), strict=True)
    ]
    return pytrees.tree_unflatten(tree, results)


def host_local_array_to_global_array_impl(
    arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec
) -> Array:
    """Applies `host_local_array_to_global_array` to one array."""
    if is_global(arr):
        return arr
    sharding = NamedSharding(global_mesh, pspec)
    local = put_leaf(arr, NamedSharding(global_mesh.local_mesh, pspec))
    parts = [shard.data for shard in local.addressable_shards]
    return make_array_from_single_device_arrays(
        _global_shape(sharding, local.shape), sharding, parts
    )


def global_array_to_host_local_array_impl(
    arr: Array, *, global_mesh: Mesh, pspec: PartitionSpec
) -> Array:
    """Applies `global_array_to_host_local_array` to one array."""
    if type(arr) is ArrayImpl and not is_global(arr):
        return arr
    placed = put_leaf(arr, NamedSharding(global_mesh, pspec))
    local_sharding = NamedSharding(global_mesh.local_mesh, pspec)
    shape = _local_shape(placed.shape, global_mesh, pspec)
    parts = [shard.data for shard in placed.addressable_shards]
    return make_array_from_single_device_arrays(shape, local_sharding, parts)


def _local_shape(shape: tuple[int, ...], mesh: Any, spec: PartitionSpec) -> tuple[int, ...]:
    """Returns the shape of this process's block of an array."""
    part = NamedSharding(mesh, spec).shard_shape(shape)
    probe = tuple(mesh.size for _ in shape)
    local_part = NamedSharding(mesh.local_mesh, spec).shard_shape(probe)
    return tuple(
        size * (whole // own) for size, whole, own in zip(part, probe, local_part, strict=True)
    )


def ltg_abstract_eval(arr: ShapedArray, *, global_mesh: Any, pspec: Any) -> ShapedArray:
    """Returns the type of a global array, given the type of one process's block."""
    return ShapedArray(_global_shape(NamedSharding(global_mesh, pspec), arr.shape), arr.dtype)


def gtl_abstract_eval(arr: ShapedArray, *, global_mesh: Any, pspec: Any) -> ShapedArray:
    """Returns the type of one process's block, given the type of the global array."""
    return ShapedArray(_local_shape(arr.shape, global_mesh, pspec), arr.dtype)


def ltg_batcher(
    insert_axis: bool,
    axis_data: BatchAxis,
    vals_in: Sequence[Any],
    dims_in: Sequence[Any],
    global_mesh: Any,
    pspec: Any,
) -> tuple[Any, int]:
    """Applies the batching rule of `host_local_array_to_global_array`.

    Args:
      insert_axis: whether the batch dimension is sharded over the mesh axes of the mapped axis.
      axis_data: the mapped axis.
      vals_in: the operand.
      dims_in: the operand's batch dimension.
      global_mesh: the mesh.
      pspec: the partition spec of the array without the batch dimension.
    """
    (arr,), (dim,) = vals_in, dims_in
    entries = (*pspec, *(None,) * (dim - len(pspec)))
    examples = axis_data.spmd_name if insert_axis else None
    batched = PartitionSpec(*entries[:dim], examples, *entries[dim:])
    primitive = host_local_array_to_global_array_p
    return primitive.bind(arr, global_mesh=global_mesh, pspec=batched), dim


host_local_array_to_global_array_p = Primitive("host_local_array_to_global_array")
host_local_array_to_global_array_p.def_abstract_eval(ltg_abstract_eval)
host_local_array_to_global_array_p.def_impl(host_local_array_to_global_array_impl)
axis_rules.define(
    host_local_array_to_global_array_p,
    lambda axis, args, dims, **params: ltg_batcher(
        axis.spmd_name is not None, axis, args, dims, **params
    ),
)
global_array_to_host_local_array_p = Primitive("global_array_to_host_local_array")
global_array_to_host_local_array_p.def_abstract_eval(gtl_abstract_eval)
global_array_to_host_local_array_p.def_impl(global_array_to_host_local_array_impl)
