# SPDX-License-Identifier: Apache-2.0
"""Sharding constraints on values inside programs.

`with_sharding_constraint` refers to axes of type `AxisType.Auto`, over which the compiler
partitions. `reshard` refers to axes of type `AxisType.Explicit`. Both are the identity on values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_autodiff.tables import jvp_rules, linear, transpose_rules
from olympus_autodiff.zeros import Zero
from olympus_batching.tables import BatchAxis, define_axis_rule
from olympus_ir import lax
from olympus_ir.programs.jit import jit, jit_p
from olympus_ir.programs.key_rules import key_rules, pass_operand
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.print_rules import printing_rules
from olympus_ir.programs.propagation import declared_types, propagation_rules
from olympus_ir.reference.tables import reference_rules
from olympus_ir.settings import config_states
from olympus_ir.trees import pytrees
from olympus_ir.trees.pytree_prefix import specification_mismatch, spread_prefix
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.layouts import check_divisible, mesh_in_force, normal_form
from olympus_ir.types.placement import (
    UNCONSTRAINED,
    AbstractMesh,
    AxisType,
    BaseMesh,
    PartitionSpec,
)
from olympus_ir.types.resharding import asked_sharding, bind_reshard, mesh_scope

from ..meshes.context import concrete_sharding, get_abstract_mesh
from ..meshes.mesh import Mesh, empty_mesh
from ..shardings.behavior import NamedSharding, Sharding, SingleDeviceSharding
from ..shardings.tiling import axes_of_dimensions

__all__ = [
    "concrete_sharding",
    "constrain",
    "reshard",
    "reshard_p",
    "sharding_constraint_p",
    "with_sharding_constraint",
]

# Parameters: ``sharding``; ``layout``, the order of the dimensions in memory, or None for the
# compiler's order; ``context_mesh``, the current mesh when the equation was made; and
# ``unconstrained_dims``, the dimensions that the compiler may divide as it likes.
sharding_constraint_p = Primitive.declare("sharding_constraint", family="constraints")
# Parameters: ``dst_sharding``, over an abstract mesh; ``concrete_mesh``, the mesh of devices, or
# None if the user gave none; ``source_mesh``, the current mesh when the operand was made.
reshard_p = Primitive.declare("reshard", family="constraints")

for _primitive in (sharding_constraint_p, reshard_p):
    _primitive.linear_in = True
    propagation_rules.define(_primitive, declared_types)
    # Values do not change: the NumPy evaluator has only one device.
    reference_rules.define(_primitive, lambda operand, **params: operand)
    jvp_rules.define(_primitive, linear)

printing_rules.define(reshard_p, lambda equation, printer: [])
sharding_constraint_p.def_abstract_eval(lambda operand, **params: operand)


@reshard_p.def_abstract_eval
def _reshard_type(operand: ShapedArray, *, dst_sharding: NamedSharding, **params: Any) -> Any:
    return operand.update(sharding=dst_sharding)


def _mesh_of_sharding(sharding: Any) -> BaseMesh | None:
    """Returns the mesh that a program with a constraint to a sharding is compiled for."""
    if type(sharding) is NamedSharding:
        return sharding.mesh
    if type(sharding) is SingleDeviceSharding:
        return Mesh(np.array(sharding._device, dtype=object), ())
    return None


def _meshes_of_call(params: dict[str, Any]) -> list[BaseMesh | None]:
    return [
        _mesh_of_sharding(sharding)
        for sharding in (*params["in_shardings"], *params["out_shardings"])
    ]


sharding_constraint_p.placement_meshes = lambda params: [_mesh_of_sharding(params["sharding"])]  # type: ignore[attr-defined]
reshard_p.placement_meshes = lambda params: [params["concrete_mesh"]]  # type: ignore[attr-defined]
jit_p.placement_meshes = _meshes_of_call  # type: ignore[attr-defined]


# ---- public functions ----


def with_sharding_constraint(x: Any, shardings: PyTree) -> PyTree:
    """Constrains the sharding of arrays inside a compiled function.

    The constraint overrules the compiler's choice for intermediate values. Outside of compiled
    functions, arrays are moved to their shardings immediately.

    Args:
      x: an array or a pytree of arrays.
      shardings: a sharding, or a partition spec over the current mesh; or a tree of them that is a
        prefix of ``x``. Dimensions with `PartitionSpec.UNCONSTRAINED` are left to the compiler.

    Returns:
      ``x``, with every array sharded as requested.

    Raises:
      ValueError: a spec has more entries than an array has dimensions, or names axes that the mesh
        does not have or that are not of type `AxisType.Auto`.
      RuntimeError: a partition spec is given and no mesh is in force.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> from olympus.sharding import AxisType, NamedSharding
      >>> mesh = olympus.make_mesh((1,), ("i",), (AxisType.Auto,))
      >>> rows = NamedSharding(mesh, olympus.P("i"))
      >>> print(olympus.make_olympuspr(lambda x: with_sharding_constraint(x, rows))(np.ones(3)))
      { lambda ; a:f32[3]. let
          b:f32[3] = sharding_constraint[...] a
        in (b,) }
    """
    name = "with_sharding_constraint"
    leaves, tree = pytrees.tree_flatten(x)
    flat = _flat_shardings(name, shardings, x)
    results = [
        leaf if _is_as_asserted(leaf, sharding) else _constrain_leaf(leaf, sharding, name)
        for leaf, sharding in zip(leaves, flat, strict=True)
    ]
    return pytrees.tree_unflatten(tree, results)


def _constrain_leaf(leaf: Any, target: Any, name: str) -> Any:
    if not _is_format(target):
        return constrain(leaf, _constraint_sharding(target), name)
    layout = target.layout
    if layout is not None:
        try:
            layout.check_compatible_aval(get_aval(leaf).shape)
        except (AttributeError, ValueError) as error:
            raise ValueError(
                f"One of {name} arguments is incompatible with its layout annotation {layout}: "
                f"{error}"
            ) from None
    return constrain(leaf, _constraint_sharding(target.sharding), name, layout)


def _is_format(value: Any) -> bool:
    """Returns whether a value is a `Format` of olympus-xla: a sharding with a memory layout."""
    return getattr(type(value), "is_format", False)


def _is_as_asserted(value: Any, spec: Any) -> bool:
    """Asserts that a value has the given spec; returns False if not all axes are explicit.

    Raises:
      AssertionError: all axes are explicit, but the value has another sharding.
    """
    if not isinstance(spec, PartitionSpec):
        return False
    mesh = get_abstract_mesh()
    if not mesh.are_all_axes_explicit:
        return False
    aval = get_aval(value)
    constrained = normal_form(NamedSharding(mesh, spec), aval.ndim)
    if aval.layout is not constrained:
        raise AssertionError(
            "`with_sharding_constraint` acts as an assert when all axes of mesh are of type "
            f"`Explicit`. The array sharding: {aval.sharding.spec} did not match the sharding "
            f"provided: {spec}. Please use `olympus.sharding.reshard` to shard your input to the "
            "sharding you want."
        )
    return True


def constrain(value: Any, sharding: Any, name: str, layout: Any = None) -> Any:
    """Applies a constraint to one value, over axes of any type.

    Args:
      value: the value.
      sharding: the sharding; a partition spec refers to the current mesh.
      name: the name of the calling function, for error messages.
      layout: the order of the elements in memory; None for the order that the compiler chooses.

    Returns:
      The value, constrained.
    """
    if isinstance(sharding, PartitionSpec):
        sharding = NamedSharding(_mesh_in_force(), sharding)
    unconstrained: frozenset[int] = frozenset()
    if isinstance(sharding, NamedSharding):
        unconstrained = frozenset(
            position for position, entry in enumerate(sharding.spec) if entry is UNCONSTRAINED
        )
    # Only concrete arrays need divisible sizes: the compiler may pad values inside programs.
    _check_rank(name, sharding, get_aval(value))
    return sharding_constraint_p.bind(
        value,
        sharding=sharding,
        layout=layout,
        context_mesh=_mesh_in_force(),
        unconstrained_dims=unconstrained,
    )


def reshard(xs: PyTree, out_shardings: PyTree) -> Any:
    """Reshards arrays over mesh axes of type `AxisType.Explicit`.

    Args:
      xs: an array or a pytree of arrays.
      out_shardings: a `NamedSharding`, or a partition spec over the current mesh; or a tree of
        them that is a prefix of ``xs``.

    Returns:
      ``xs``, with every array sharded as requested.

    Raises:
      ValueError: a spec names axes of another type; see `with_sharding_constraint` for these axes.
      TypeError: ``out_shardings`` contains other objects.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> with olympus.set_mesh(olympus.make_mesh((1,), ("i",))):
      ...     reshard(np.arange(3.0), olympus.P("i")).sharding.spec
      P('i',)
    """
    leaves, tree = pytrees.tree_flatten(xs)
    flat = _flat_shardings("reshard", out_shardings, xs)
    results = [_reshard_leaf(leaf, sharding) for leaf, sharding in zip(leaves, flat, strict=True)]
    return pytrees.tree_unflatten(tree, results)


def _reshard_leaf(leaf: Any, sharding: Any) -> Any:
    if isinstance(sharding, PartitionSpec | NamedSharding):
        destination = asked_sharding(sharding, "reshard")
    else:
        raise TypeError(
            "`out_shardings` argument of reshard only supports instances of `NamedSharding` or "
            f"`PartitionSpec`. Got {sharding} of type: {type(sharding)}"
        )
    if destination is None:
        return leaf  # without a mesh, a value is not resharded
    mesh = (
        sharding.mesh if type(sharding) is NamedSharding and type(sharding.mesh) is Mesh else None
    )
    return bind_reshard(leaf, destination, mesh)


def bind_reshard_p(value: Any, destination: NamedSharding, concrete_mesh: Any) -> Any:
    """Reshards one value, also over axes that are not explicit."""
    aval = get_aval(value)
    spec, mesh = destination.spec, destination.mesh
    entries = spec.partitions
    if len(entries) > aval.ndim:
        # Entries of None beyond the rank are harmless.
        if any(entry is not None for entry in entries[aval.ndim :]):
            _check_rank("reshard", destination, aval)
        entries = entries[: aval.ndim]
    entries += (None,) * (aval.ndim - len(entries))
    destination = NamedSharding(mesh, spec.update(partitions=entries))
    check_divisible(aval.shape, destination)
    source_mesh = mesh_in_force() if aval.layout is None else aval.layout.mesh
    return reshard_p.bind(
        value,
        dst_sharding=destination,
        concrete_mesh=concrete_mesh,
        source_mesh=mesh if source_mesh.empty else source_mesh,
    )


# ---- reading the arguments ----


def _is_leaf(value: Any) -> bool:
    return value is None or isinstance(value, Sharding | PartitionSpec) or _is_format(value)


def _flat_shardings(name: str, shardings: Any, target: Any) -> list[Any]:
    """Returns the sharding or spec for each leaf, from a prefix of the structure."""
    for leaf in pytrees.tree_leaves(shardings, is_leaf=_is_leaf):
        if not _is_leaf(leaf):
            raise TypeError(
                f"{name} takes shardings and PartitionSpecs, or a pytree of them, got {leaf!r} of "
                f"type {type(leaf).__name__}. To move a value to a device, use device_put."
            )
        if leaf is None:
            raise ValueError(
                f"One of the shardings of {name} is None, which is not allowed: pass a sharding or "
                "a PartitionSpec for each value. `P()` keeps the whole value on every device; "
                "leave out values that are to stay as they are."
            )
    try:
        return spread_prefix(shardings, target, _is_leaf)
    except ValueError:
        raise specification_mismatch(f"{name} shardings", shardings, target, _is_leaf) from None


def _mesh_in_force() -> BaseMesh:
    """Returns the abstract mesh of `set_mesh` or of ``with mesh:``; an empty one otherwise."""
    abstract = get_abstract_mesh()
    if not abstract.empty:
        return abstract
    entered = config_states.current_scope("mesh")
    return empty_mesh if entered is None else entered


def _constraint_sharding(sharding: Any) -> Any:
    if isinstance(sharding, PartitionSpec):
        mesh = _mesh_in_force()
        if mesh.empty:
            raise RuntimeError(
                "with_sharding_constraint requires a non-empty mesh in context if you are passing "
                f"`PartitionSpec`s to shardings, got {sharding}. You can define a context mesh via "
                "`olympus.set_mesh(mesh)`. Alternatively, provide `Sharding`s to shardings and "
                "then the mesh context manager is not required."
            )
        sharding = NamedSharding(mesh, sharding)
    if type(sharding) is NamedSharding:
        _check_not_manual(sharding)
        _check_axis_types(
            sharding,
            (AxisType.Auto,),
            "The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto "
            f"axes of the mesh. Got spec={sharding.spec} and mesh={sharding.mesh}. You probably "
            "meant to use the `reshard` API?",
        )
    return sharding


def _check_not_manual(sharding: NamedSharding) -> None:
    manual = get_abstract_mesh().manual_axes
    axes = axes_of_dimensions(sharding.spec, len(sharding.spec)) if manual else ()
    manual_axes = tuple(axis for entry in axes for axis in entry if axis in manual)
    if manual_axes:
        raise ValueError(
            f"pspec {sharding.spec} contains a manual axes {manual_axes} of mesh which is not "
            "allowed. If you are using a with_sharding_constraint under a shard_map, only use the "
            "mesh axis in PartitionSpec which are not manual."
        )


def _check_axis_types(sharding: NamedSharding, allowed: Sequence[AxisType], message: str) -> None:
    spec, mesh = sharding.spec, sharding.mesh
    types = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for axes in axes_of_dimensions(spec, len(spec)):
        if any(types[axis] not in allowed for axis in axes):
            raise ValueError(message)


def _check_rank(name: str, sharding: Any, aval: Any) -> None:
    """Raises ValueError if an array has fewer dimensions than the sharding refers to."""
    check = getattr(sharding, "check_compatible_aval", None)
    if check is not None:
        try:
            check(aval.shape)
        except ValueError as error:
            raise ValueError(
                f"One of {name} arguments is incompatible with its sharding annotation "
                f"{sharding}: {error}"
            ) from None


# ---- interpreters ----


def _constrain_now(operand: Any, *, sharding: Any, layout: Any = None, **params: Any) -> Any:
    """Applies the constraint to a concrete array by moving it."""
    sharding = concrete_sharding(sharding)
    if type(sharding) is NamedSharding and type(sharding.mesh) is AbstractMesh:
        sharding = concrete_sharding(sharding, _mesh_of_operand(operand, sharding.mesh))
    if type(sharding) is NamedSharding and UNCONSTRAINED in sharding.spec:
        old_sharding: Any = getattr(operand, "sharding", None)
        entries = [None if entry is UNCONSTRAINED else entry for entry in sharding.spec]
        if type(old_sharding) is NamedSharding and old_sharding.mesh == sharding.mesh:
            # An unconstrained dimension stays split over its mesh axes, unless the spec uses one of
            # them for another dimension.
            used = {
                axis for axes in axes_of_dimensions(sharding.spec, len(entries)) for axis in axes
            }
            present = axes_of_dimensions(old_sharding.spec, len(entries))
            for position, entry in enumerate(sharding.spec):
                if entry is UNCONSTRAINED and not used.intersection(present[position]):
                    entries[position] = present[position] or None
        sharding = NamedSharding(
            sharding.mesh, PartitionSpec(*entries), memory_kind=sharding.memory_kind
        )
    return lax.device_put(operand, sharding if layout is None else layout._on(sharding))


def _mesh_of_operand(operand: Any, abstract: AbstractMesh) -> Mesh:
    """Returns the mesh of a concrete array, which must have the axes of an abstract mesh."""
    shape = get_aval(operand).str_short()
    own: Any = getattr(operand, "sharding", None)
    if own is None:
        raise ValueError(
            "Target sharding contains a `olympus.sharding.AbstractMesh` which requires the input "
            f"passed should be a `olympus.Array`. Got {type(operand)} with shape {shape}"
        )
    if type(own) is not NamedSharding:
        raise TypeError(
            "The sharding on the input must be a `NamedSharding` since the target sharding has an "
            f"`AbstractMesh` in it. Got sharding type {type(own)} for shape {shape}"
        )
    if own.mesh.shape_tuple != abstract.shape_tuple:
        raise ValueError(
            f"Mesh shape of the input {own.mesh.shape_tuple} does not match the mesh shape of the "
            f"target sharding {abstract.shape_tuple} for shape {shape}"
        )
    return own.mesh


def _reshard_now(
    operand: Any, *, dst_sharding: Any, concrete_mesh: Any, source_mesh: AbstractMesh
) -> Any:
    params = {
        "dst_sharding": dst_sharding,
        "concrete_mesh": concrete_mesh,
        "source_mesh": source_mesh,
    }
    spec = dst_sharding.spec
    own = get_aval(operand).layout
    if spec.unreduced or (own is not None and own.spec.unreduced):
        # Unreduced values must be summed, which needs a compiled program.
        with mesh_scope(dst_sharding.mesh):
            return jit(lambda value: reshard_p.bind(value, **params))(operand)
    return lax.device_put(operand, concrete_sharding(dst_sharding, concrete_mesh))


sharding_constraint_p.eager = _constrain_now
reshard_p.eager = _reshard_now


key_rules.define(sharding_constraint_p, pass_operand)


@transpose_rules.define(sharding_constraint_p)
def _constraint_transpose(cotangent: Any, operand: Any, **params: Any) -> list[Any]:
    # The cotangent gets the same sharding constraint as the value.
    if cotangent.__class__ is Zero:
        return [cotangent]
    return [sharding_constraint_p.bind(cotangent, **params)]


@transpose_rules.define(reshard_p)
def _reshard_transpose(
    cotangent: Any,
    operand: Any,
    *,
    dst_sharding: NamedSharding,
    concrete_mesh: Any,
    source_mesh: AbstractMesh,
) -> list[Any]:
    if cotangent.__class__ is Zero:
        return [cotangent]
    aval = operand.aval.to_ct_aval()
    if aval.layout is not None:
        return [bind_reshard(cotangent, aval.layout, concrete_mesh)]
    # The operand's type has no sharding. If the source mesh has explicit axes, the operand is
    # replicated. If not, the compiler decides.
    entries = (None,) * aval.ndim if source_mesh.explicit_axes else dst_sharding.spec.partitions
    return [bind_reshard(cotangent, NamedSharding(source_mesh, PartitionSpec(*entries)))]


@define_axis_rule(sharding_constraint_p)
def _constraint_batch(
    axis: BatchAxis,
    args: Any,
    batch_dims: Any,
    *,
    sharding: Any,
    unconstrained_dims: frozenset,
    **params: Any,
) -> Any:
    (operand,), (dim,) = args, batch_dims
    if dim is not None:
        sharding = _with_batch_dim(sharding, axis, dim)
        unconstrained_dims = frozenset(d + (d >= dim) for d in unconstrained_dims)
        if type(sharding) is NamedSharding and sharding.spec[dim] is UNCONSTRAINED:
            unconstrained_dims |= {dim}
    result = sharding_constraint_p.bind(
        operand, sharding=sharding, unconstrained_dims=unconstrained_dims, **params
    )
    return result, dim


@define_axis_rule(reshard_p)
def _reshard_batch(
    axis: BatchAxis, args: Any, batch_dims: Any, *, dst_sharding: Any, **params: Any
) -> Any:
    (operand,), (dim,) = args, batch_dims
    if dim is not None:
        dst_sharding = _with_batch_dim(dst_sharding, axis, dim)
    return reshard_p.bind(operand, dst_sharding=dst_sharding, **params), dim


def _with_batch_dim(sharding: Any, axis: BatchAxis, dim: int) -> Any:
    """Returns the sharding of a batch, given the sharding of one batch element."""
    if type(sharding) is SingleDeviceSharding:
        if axis.spmd_name is not None:
            raise ValueError(
                "If you are using spmd_axis_name parameter of olympus.vmap, please make sure to "
                "run your jitted function inside the mesh context manager, and to constrain "
                f"values with a NamedSharding. Got {sharding}"
            )
        return sharding
    if type(sharding) is not NamedSharding:
        raise TypeError(
            f"a constraint to {sharding} cannot be batched, since the sharding does not specify "
            "how each dimension is split. Use a NamedSharding."
        )
    spec, mesh = sharding.spec, sharding.mesh
    names = axis.spmd_name
    if axis.layout is not None:
        entry = axis.layout[1]
    elif names is None:
        # The compiler chooses how the batch dimension is divided.
        entry = UNCONSTRAINED if mesh.auto_axes else None
    else:
        names = names if isinstance(names, tuple) else (names,)
        used = {name for axes in axes_of_dimensions(spec, len(spec)) for name in axes}
        if used.intersection(names):
            raise ValueError(
                f"vmap spmd_axis_name {names} cannot appear in with_sharding_constraint spec, but "
                f"got spec {spec}"
            )
        entry = names
    entries = (*spec, *(None,) * (dim - len(spec)))
    batched_spec = spec.update(partitions=(*entries[:dim], entry, *entries[dim:]))
    return NamedSharding(mesh, batched_spec, memory_kind=sharding.memory_kind)
