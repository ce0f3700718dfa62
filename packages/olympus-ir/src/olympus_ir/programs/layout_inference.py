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
    asked = params[rule.parameter] if rule.parameter else None
    operands = [aval for aval in avals if isinstance(aval, ShapedArray)]
    mesh = _common_mesh(primitive, operands, asked)
    plain = tuple([_without_layout(aval) for aval in avals])
    if asked is not None:
        params_of_shape = {**params, rule.parameter: None}
    else:
        params_of_shape = params
    results, effects = primitive._infer_plain(plain, params_of_shape)
    if asked is None and all(aval.layout is None for aval in operands):
        return results, effects
    if asked is not None:
        if len(asked.spec.partitions) > results[-1].ndim:
            raise ValueError(
                f"{primitive.name} was called with the sharding {asked.spec}, which has "
                f"{len(asked.spec.partitions)} entries, but the result has shape "
                f"{results[-1].shape}. Pass at most one entry for each dimension."
            )
        given = asked.spec.partitions
        entries = (*given, *(None,) * (results[-1].ndim - len(given)))
        check_divisible(results[-1].shape, NamedSharding(mesh, type(asked.spec)(*entries)))
        # The requested layout is for the last result. The other results, such as a generator's
        # state, are replicated.
        all_entries = [(None,) * aval.ndim for aval in results[:-1]] + [entries]
    else:
        assert rule.split is not None
        entries = rule.split(operands, results, **params)
        all_entries = entries if primitive.multiple_results else [entries]
    for entries, result in zip(all_entries, results, strict=True):
        check_no_axis_twice(
            primitive.name, entries, lambda e=entries, r=result: _shown(operands, mesh, e, r)
        )
    unreduced = _unreduced(primitive, rule, operands, results, asked, params)
    reduced = _reduced(primitive, rule, operands, asked)
    typed = [
        _with_layout(result, mesh, entries, unreduced, reduced)
        for result, entries in zip(results, all_entries, strict=True)
    ]
    return tuple(typed), effects


def _refuse(primitive: Any, what: str) -> NoReturn:
    reason = propagation_rules.exemptions.get(primitive)
    raise NotImplementedError(
        f"{what} rule for {primitive.name} is not implemented{f': {reason}' if reason else ''}. "
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


def _common_mesh(primitive: Any, operands: Sequence[Any], asked: Any) -> AbstractMesh:
    """Returns the common mesh of the operands' layouts.

    Raises:
      ValueError: the layouts have different meshes, or a mesh other than the current mesh.
    """
    mesh = mesh_in_force()
    found = None if mesh.empty else mesh
    for aval in operands:
        if aval.layout is None:
            continue
        own = aval.layout.mesh
        if found is None:
            found = own
        elif own != found:
            if found is mesh and set(mesh.manual_axes).intersection(own.explicit_axes):
                raise NotImplementedError(
                    "Closing over inputs to shard_map where the input is sharded on `Explicit` "
                    "axes is not implemented. As a workaround, please pass those inputs as an "
                    f"argument to shard_map. Got input with type {aval.str_short(True, True)}"
                )
            if found is mesh:
                raise ValueError(
                    f"For primitive {primitive.name}, context mesh {mesh} should match the aval "
                    f"mesh {own} for shape {aval.str_short()}. Move the value with `reshard`, or "
                    "enter its mesh with `set_mesh`."
                )
            raise ValueError(
                f"Mesh for all inputs should be equal. Got one mesh: {found} and another mesh: "
                f"{own}. All operands of {primitive.name} must be sharded over the same mesh."
            )
    if asked is not None and found is None:
        found = asked.mesh
    assert found is not None, primitive
    return found


# ---- unreduced and reduced axes ----


def _unreduced(
    primitive: Any,
    rule: Propagation,
    operands: Sequence[Any],
    results: Sequence[Any],
    asked: Any,
    params: dict[str, Any],
) -> frozenset:
    wanted = _NO_AXES if asked is None else asked.spec.unreduced
    own = [_NO_AXES if aval.layout is None else aval.layout.spec.unreduced for aval in operands]
    if not wanted and not any(own):
        return _NO_AXES
    if rule.unreduced is not None:
        return rule.unreduced(operands, results, wanted, **params)
    _refuse(primitive, "unreduced" if rule.reduced else "unreduced/reduced")


def unreduced_as_operands(
    operands: Sequence[Any], results: Sequence[Any], wanted: frozenset, **params: Any
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
    own = [_NO_AXES if aval.layout is None else aval.layout.spec.unreduced for aval in operands]
    if all(axes == own[0] for axes in own):
        return own[0]
    words = ("lhs", "rhs") if len(own) == 2 else tuple(f"operand {n}" for n in range(len(own)))
    is_so = next(word for word, axes in zip(words, own, strict=True) if axes)
    is_not = next(
        word for word, axes in zip(words, own, strict=True) if axes != own[words.index(is_so)]
    )
    raise ShardingTypeError(
        f"{is_so} is unreduced while {is_not} is not. `{name}` operation does not allow this "
        f"because there will be implicit communication. Please reduce {is_so} via `reshard` before "
        f"calling `{name}`."
    )


def _reduced(primitive: Any, rule: Propagation, operands: Sequence[Any], asked: Any) -> frozenset:
    """Returns the axes over which all operands, and therefore the result, are reduced."""
    wanted = _NO_AXES if asked is None else asked.spec.reduced
    own = [_NO_AXES if aval.layout is None else aval.layout.spec.reduced for aval in operands]
    reduced = frozenset().union(*own)
    if not reduced or rule.reduced is False or wanted:
        return wanted
    if asked is not None:
        used = {axis for entry in asked.spec.partitions for axis in axes_of_entry(entry)}
        reduced -= used  # the axes in `used` shard a dimension of the result
    if rule.reduced is None:
        _refuse(primitive, "unreduced/reduced")
    for aval, axes in zip(operands, own, strict=True):
        unreduced = _NO_AXES if aval.layout is None else aval.layout.spec.unreduced
        # Scalars are usually constants, so they do not determine the axes.
        if aval.ndim and reduced - axes - unreduced:
            split = {axis for entry in entries_of(aval) for axis in axes_of_entry(entry)}
            if split & reduced:
                raise ShardingTypeError(
                    "Inputs cannot be sharded/varying on the same axes that another input is "
                    "reduced on. Reshard the input which is reduced to be sharded on those axes "
                    "via `olympus.sharding.reshard(inp, olympus.P(...))`. Got input type: "
                    f"{aval.str_short()} and reduced spec: {reduced}"
                )
            raise ShardingTypeError(
                "Inputs cannot be replicated on the same axes that another input is reduced on. "
                f"Got input type: {aval.str_short()} and reduced spec: {reduced}"
            )
    return reduced - frozenset().union(
        *(aval.layout.spec.unreduced for aval in operands if aval.layout is not None)
    )
