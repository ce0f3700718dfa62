# SPDX-License-Identifier: Apache-2.0
"""Attributes of the operands and results of functions: shardings, donation, memory, layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_sharding.shardings.behavior import NamedSharding

from . import mlir
from .context import ModuleLowering
from .shardings import spec_attribute

Attributes = list[dict[str, Any]]


def argument_attributes(
    module: ModuleLowering,
    avals: Sequence[Any],
    *,
    num_tokens: int = 0,
    out_avals: Sequence[Any] = (),
    replicated: Sequence[bool] | None = None,
    shardings: Sequence[Any] | None = None,
    aliases: Sequence[int | None] | None = None,
    donated: Sequence[bool] | None = None,
    memory_kinds: Sequence[str | None] | None = None,
    layouts: Sequence[Any] | None = None,
) -> Attributes:
    """Returns the attributes of a function's operands, one dictionary for each operand.

    Args:
      module: the module.
      avals: the operands' types.
      num_tokens: the number of tokens, which precede the program's results.
      out_avals: the types of the results, which may reuse operands' memory.
      replicated: for each operand, whether it is the same on all replicas.
      shardings: the shardings of operands, or None.
      aliases: for each operand, the result that reuses its memory, or None.
      donated: for each operand, whether any result of its type may reuse its memory.
      memory_kinds: the memory kinds of operands.
      layouts: the layouts.
    """
    attributes = _placement_attributes(module, avals, shardings, memory_kinds, layouts)
    targets: list[int | None] = [None] * len(avals) if aliases is None else list(aliases)
    if donated is not None:
        targets = _results_for(avals, donated, out_avals, targets)
    for position, attribute in enumerate(attributes):
        if replicated is not None and replicated[position]:
            attribute["mhlo.is_same_data_across_replicas"] = mlir.boolean(True)
        target = targets[position]
        if target is not None:
            attribute["tf.aliasing_output"] = mlir.i32(target + num_tokens)
        elif donated is not None and donated[position]:
            attribute["jax.buffer_donor"] = mlir.boolean(True)
    return attributes


def result_attributes(
    module: ModuleLowering,
    avals: Sequence[Any],
    *,
    shardings: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    memory_kinds: Sequence[str | None] | None = None,
    layouts: Sequence[Any] | None = None,
) -> Attributes:
    """Returns the attributes of a function's results; see `argument_attributes`."""
    attributes = _placement_attributes(module, avals, shardings, memory_kinds, layouts)
    for attribute, name in zip(attributes, names or (), strict=False):
        if name:
            attribute["jax.result_info"] = mlir.string(name)
    return attributes


def _placement_attributes(
    module: ModuleLowering,
    avals: Sequence[Any],
    shardings: Sequence[Any] | None,
    memory_kinds: Sequence[str | None] | None,
    layouts: Sequence[Any] | None,
) -> Attributes:
    attributes: Attributes = [{} for _ in avals]
    for position, attribute in enumerate(attributes):
        sharding = shardings[position] if shardings is not None else None
        if sharding is not None:
            attribute.update(_sharding_attribute(module, sharding, avals[position]))
        kind = memory_kinds[position] if memory_kinds is not None else None
        if kind is not None:
            attribute["mhlo.memory_kind"] = mlir.string(kind)
        layout = layouts[position] if layouts is not None else None
        if layout is not None:
            attribute["mhlo.layout_mode"] = mlir.string(_layout_mode(layout))
    return attributes


def _sharding_attribute(module: ModuleLowering, sharding: Any, aval: Any) -> dict[str, Any]:
    ndim = mlir.physical_aval(aval).ndim
    if isinstance(sharding, NamedSharding):
        symbol = module.mesh_symbol(sharding.mesh)
        return {"sdy.sharding": spec_attribute(sharding.spec, ndim, mesh=symbol)}
    hlo = getattr(sharding, "_to_xla_hlo_sharding", None)
    proto = sharding if hlo is None else hlo(ndim)
    return {"mhlo.sharding": mlir.string(repr(proto))}


def _layout_mode(layout: Any) -> str:
    """Returns a layout in XLA's notation, dimensions from minor to major."""
    if isinstance(layout, str):
        return layout
    return "{" + ",".join(map(str, reversed(layout.major_to_minor))) + "}"


def _results_for(
    avals: Sequence[Any],
    donated: Sequence[bool],
    out_avals: Sequence[Any],
    targets: list[int | None],
) -> list[int | None]:
    """Returns for each operand the position of the result that reuses its memory, or None.

    ``targets`` has the positions that are already chosen, and is updated. Each donated operand gets
    the first free result of its type.
    """
    free: dict[Any, list[int]] = {}
    for position, aval in enumerate(out_avals):
        if position not in targets:
            free.setdefault((aval.shape, aval.dtype), []).append(position)
    for position, (aval, give) in enumerate(zip(avals, donated, strict=True)):
        fitting = free.get((aval.shape, aval.dtype)) if give else None
        if fitting and targets[position] is None:
            targets[position] = fitting.pop(0)
    return targets
