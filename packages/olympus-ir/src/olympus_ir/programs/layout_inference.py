# SPDX-License-Identifier: Apache-2.0
"""Inference of the types of results from operands with layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..diagnostics.errors import ShardingTypeError
from ..types.avals import ShapedArray
from ..types.layouts import (
    axes_of_entry,
    axes_text,
    check_divisible,
    check_no_axis_twice,
    entries_of,
    layout_over,
    mesh_in_force,
)
from ..types.placement import AbstractMesh, NamedSharding
from .propagation import Propagation, declared_types, propagation_rules

__all__ = ["infer_with_layouts"]

_NO_AXES: frozenset = frozenset()


def infer_with_layouts(primitive: Any, avals: tuple, params: dict[str, Any]) -> Any:
    """Infers the types of results with layouts, and the effects.

    This is needed only if an operand has a layout or a parameter requests a layout.

    Args:
      primitive: the primitive.
      avals: the operands' types.
      params: the parameters.

    Raises:
      ShardingTypeError: layouts are incompatible, or do not determine the result's sharding.
      NotImplementedError: the primitive has no propagation rule.
    """
    rule = propagation_rules.find(primitive)
    if rule is declared_types or (rule is None and not primitive.is_instruction):
        return primitive._infer_plain(avals, params)
    if rule is None:
        _refuse(primitive, "sharding")
    if rule.infer is not None:
        return rule.infer(avals, params)
    requested = params[rule.parameter] if rule.parameter else None
    operands = [aval for aval in avals if isinstance(aval, ShapedArray)]
    mesh = _common_mesh(primitive, operands, requested)
    plain = tuple([_without_layout(aval) for aval in avals])
    if requested is None:
        results, effects = primitive._infer_plain(plain, params)
        if all(aval.layout is None for aval in operands):
            return results, effects
        assert rule.split is not None
        entries = rule.split(operands, results, **params)
        all_entries = entries if primitive.multiple_results else [entries]
    else:
        results, effects = primitive._infer_plain(plain, {**params, rule.parameter: None})
        # The requested layout is for the last result. The other results, such as a generator's
        # state, are replicated.
        replicated = [(None,) * aval.ndim for aval in results[:-1]]
        all_entries = [*replicated, _requested_entries(primitive, requested, mesh, results[-1])]
    for entries, result in zip(all_entries, results, strict=True):
        check_no_axis_twice(
            primitive.name, entries, lambda e=entries, r=result: _shown(operands, mesh, e, r)
        )
    unreduced = _unreduced(primitive, rule, operands, results, requested, params)
    reduced = _reduced(primitive, rule, operands, requested)
    typed = [
        _with_layout(result, mesh, entries, unreduced, reduced)
        for result, entries in zip(results, all_entries, strict=True)
    ]
    return tuple(typed), effects


def _requested_entries(
    primitive: Any, requested: NamedSharding, mesh: AbstractMesh, result: ShapedArray
) -> tuple[Any, ...]:
    """Returns one entry for each dimension of a result whose sharding a parameter requests.

    Raises:
      ValueError: the sharding has too many entries, or does not divide the result evenly.
    """
    partitions = requested.spec.partitions
    if len(partitions) > result.ndim:
        raise ValueError(
            f"{primitive.name} was called with the sharding {requested.spec}, which has "
            f"{len(partitions)} entries, but the result has shape {result.shape}. Pass at most one "
            "entry for each dimension."
        )
    entries = (*partitions, *(None,) * (result.ndim - len(partitions)))
    check_divisible(result.shape, NamedSharding(mesh, type(requested.spec)(*entries)))
    return entries


def _refuse(primitive: Any, kind: str) -> NoReturn:
    reason = propagation_rules.exemptions.get(primitive)
    raise NotImplementedError(
        f"{kind} rule for {primitive.name} is not implemented{f': {reason}' if reason else ''}. "
        "Make its operands' axes automatic with `auto_axes`, or unshard the operands with "
        "`reshard`."
    )


def _without_layout(aval: Any) -> Any:
    return aval.strip_layout() if isinstance(aval, ShapedArray) else aval


def _with_layout(
    result: Any,
    mesh: AbstractMesh,
    entries: Sequence[Any],
    unreduced: frozenset,
    reduced: frozenset,
) -> Any:
    if not isinstance(result, ShapedArray):
        return result
    return result.update(sharding=layout_over(mesh, entries, unreduced, reduced))


def _shown(operands: Sequence[Any], mesh: AbstractMesh, entries: Any, result: Any) -> tuple:
    dimensions = ",".join(
        str(size) if entry is None else f"{size}@{axes_text(axes_of_entry(entry))}"
        for size, entry in zip(result.shape, entries, strict=True)
    )
    name = result.str_short(True).partition("[")[0]
    return ", ".join(aval.str_short(True) for aval in operands), f"{name}[{dimensions}]"


def _common_mesh(
    primitive: Any, operands: Sequence[Any], requested: NamedSharding | None
) -> AbstractMesh:
    """Returns the common mesh of the operands' layouts.

    Raises:
      ValueError: the layouts have different meshes, or a mesh other than the current mesh.
    """
    current = mesh_in_force()
    common = None if current.empty else current
    for aval in operands:
        if aval.layout is None:
            continue
        if common is None:
            common = aval.layout.mesh
        elif aval.layout.mesh != common:
            raise _different_meshes(primitive, aval, common, common is current)
    if requested is not None and common is None:
        common = requested.mesh
    assert common is not None, primitive
    return common


def _different_meshes(
    primitive: Any, aval: ShapedArray, common: AbstractMesh, is_current: bool
) -> Exception:
    """Returns the error for an operand whose mesh differs from the common mesh.

    Args:
      primitive: the primitive.
      aval: the operand's type.
      common: the mesh of the operands before it, or the current mesh.
      is_current: whether ``common`` is the current mesh.
    """
    mesh = aval.layout.mesh  # type: ignore[union-attr]  # the operand has a layout
    if is_current and set(common.manual_axes).intersection(mesh.explicit_axes):
        return NotImplementedError(
            "Closing over inputs to shard_map where the input is sharded on `Explicit` axes is not "
            "implemented. As a workaround, please pass those inputs as an argument to shard_map. "
            f"Got input with type {aval.str_short(True, True)}"
        )
    if is_current:
        return ValueError(
            f"For primitive {primitive.name}, context mesh {common} should match the aval mesh "
            f"{mesh} for shape {aval.str_short()}. Move the value with `reshard`, or enter its "
            "mesh with `set_mesh`."
        )
    return ValueError(
        f"Mesh for all inputs should be equal. Got one mesh: {common} and another mesh: {mesh}. "
        f"All operands of {primitive.name} must be sharded over the same mesh."
    )


# ---- unreduced and reduced axes ----


def _unreduced_axes(aval: Any) -> frozenset:
    return _NO_AXES if aval.layout is None else aval.layout.spec.unreduced


def _reduced_axes(aval: Any) -> frozenset:
    return _NO_AXES if aval.layout is None else aval.layout.spec.reduced


def _unreduced(
    primitive: Any,
    rule: Propagation,
    operands: Sequence[Any],
    results: Sequence[Any],
    requested: NamedSharding | None,
    params: dict[str, Any],
) -> frozenset:
    """Returns the axes over which the results are unreduced."""
    requested_axes = _NO_AXES if requested is None else requested.spec.unreduced
    if not requested_axes and not any(map(_unreduced_axes, operands)):
        return _NO_AXES
    if rule.unreduced is not None:
        return rule.unreduced(operands, results, requested_axes, **params)
    _refuse(primitive, "unreduced" if rule.reduced else "unreduced/reduced")


def unreduced_as_operands(
    operands: Sequence[Any], results: Sequence[Any], requested: frozenset, **params: Any
) -> frozenset:
    """Returns the operands' unreduced axes, for operations that only rearrange elements.

    Such operations commute with sums, so they may be applied to the terms of a sum.
    """
    return unreduced_of_all("an", operands)


def unreduced_of_all(name: str, operands: Sequence[Any]) -> frozenset:
    """Returns the axes over which all operands are unreduced.

    Raises:
      ShardingTypeError: the operands are unreduced over different axes.
    """
    axes = list(map(_unreduced_axes, operands))
    if all(over == axes[0] for over in axes):
        return axes[0]
    names = ("lhs", "rhs") if len(axes) == 2 else tuple(f"operand {n}" for n in range(len(axes)))
    first = next(position for position, over in enumerate(axes) if over)
    other = next(position for position, over in enumerate(axes) if over != axes[first])
    is_so, is_not = names[first], names[other]
    raise ShardingTypeError(
        f"{is_so} is unreduced while {is_not} is not. `{name}` operation does not allow this "
        f"because there will be implicit communication. Please reduce {is_so} via `reshard` before "
        f"calling `{name}`."
    )


def _reduced(
    primitive: Any, rule: Propagation, operands: Sequence[Any], requested: NamedSharding | None
) -> frozenset:
    """Returns the axes over which all operands, and therefore the result, are reduced."""
    requested_axes = _NO_AXES if requested is None else requested.spec.reduced
    reduced = frozenset().union(*map(_reduced_axes, operands))
    if not reduced or rule.reduced is False or requested_axes:
        return requested_axes
    if requested is not None:
        # An axis that shards a dimension of the result is not reduced.
        reduced -= {axis for entry in requested.spec.partitions for axis in axes_of_entry(entry)}
    if rule.reduced is None:
        _refuse(primitive, "unreduced/reduced")
    for aval in operands:
        # Scalars are usually constants, so they do not determine the axes.
        if aval.ndim and reduced - _reduced_axes(aval) - _unreduced_axes(aval):
            raise _not_reduced(aval, reduced)
    return reduced.difference(*map(_unreduced_axes, operands))


def _not_reduced(aval: ShapedArray, reduced: frozenset) -> ShardingTypeError:
    """Returns the error for an operand that is not reduced over axes as another operand is."""
    sharded = {axis for entry in entries_of(aval) for axis in axes_of_entry(entry)}
    if sharded & reduced:
        return ShardingTypeError(
            "Inputs cannot be sharded/varying on the same axes that another input is reduced on. "
            "Reshard the input which is reduced to be sharded on those axes via "
            "`olympus.sharding.reshard(inp, olympus.P(...))`. Got input type: "
            f"{aval.str_short()} and reduced spec: {reduced}"
        )
    return ShardingTypeError(
        "Inputs cannot be replicated on the same axes that another input is reduced on. "
        f"Got input type: {aval.str_short()} and reduced spec: {reduced}"
    )
