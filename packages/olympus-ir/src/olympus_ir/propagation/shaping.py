# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of operations that rearrange elements.

Each dimension of the result comes from one or several dimensions of the operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import lax
from ..diagnostics.errors import ShardingTypeError
from ..lax.shaping.creation import iota_p
from ..lax.shaping.dimensions import dim_as_value_p
from ..lax.shaping.rearrangement import stack_p, tile_p, unstack_p
from ..programs.layout_inference import unreduced_as_operands
from ..programs.propagation import (
    Entries,
    Propagation,
    alike,
    layout_of,
    propagation_rules,
    refuse_ragged_parts,
    same_entries,
)
from ..types.layouts import axes_of_entry, entries_of


def _broadcast(
    operands: Sequence[Any],
    results: Sequence[Any],
    *,
    shape: tuple,
    broadcast_dimensions: tuple,
    **params: Any,
) -> Entries:
    operand = operands[0]
    entries: list[Any] = [None] * len(shape)
    for source, target in enumerate(broadcast_dimensions):
        if operand.shape[source] == shape[target]:
            entries[target] = entries_of(operand)[source]
    return entries


# ---- reshape ----


def _reshape(
    operands: Sequence[Any],
    results: Sequence[Any],
    *,
    new_sizes: tuple,
    dimensions: tuple | None,
    **params: Any,
) -> Entries:
    operand = operands[0]
    shape, entries = operand.shape, entries_of(operand)
    if dimensions is not None:
        shape = tuple(shape[dimension] for dimension in dimensions)
        entries = tuple(entries[dimension] for dimension in dimensions)
    reshaped: list[Any] = [None] * len(new_sizes)
    if shape == new_sizes or not any(entries):
        return entries if shape == new_sizes else reshaped
    sizes = layout_of(operands).mesh.shape
    # `_groups` compares products of sizes, so all sizes must be known and positive.
    fixed = all(type(size) is int and size for size in (*shape, *new_sizes))
    for sources, targets in _groups(shape, new_sizes) if fixed else [((), ())]:
        merged = _merged([entries[source] for source in sources]) if fixed else None
        if merged == ():
            continue
        several = len(sources) > 1 and len(targets) > 1
        if merged is None or several or not _divided(merged, targets, new_sizes, sizes, reshaped):
            raise ShardingTypeError(
                "This reshape is not supported. Please specify the sharding of the output via the "
                "`out_sharding` argument of olympus.lax.reshape. Got operand type: "
                f"{operand.str_short()}, new sizes: {new_sizes}"
            )
    return reshaped


def _groups(shape: Sequence[int], new_shape: Sequence[int]) -> Iterator[tuple[list, list]]:
    """Pairs minimal runs of old and new dimensions that have the same number of elements.

    Dimensions of size one are left out.
    """
    old = [(n, size) for n, size in enumerate(shape) if size != 1]
    new = [(n, size) for n, size in enumerate(new_shape) if size != 1]
    while old or new:
        (first, size), (target, new_size) = old.pop(0), new.pop(0)
        sources, targets = [first], [target]
        while size != new_size:
            if size < new_size:
                position, more = old.pop(0)
                sources.append(position)
                size *= more
            else:
                position, more = new.pop(0)
                targets.append(position)
                new_size *= more
        yield sources, targets


def _merged(entries: Sequence[Any]) -> tuple | None:
    """Returns the mesh axes, major first, of the dimension that joins dimensions with ``entries``.

    Returns None unless the sharded dimensions come first.
    """
    axes: tuple = ()
    ended = False
    for entry in entries:
        if entry is None:
            ended = True
        elif ended:
            return None
        else:
            axes += axes_of_entry(entry)
    return axes


def _divided(
    axes: tuple, targets: Sequence[int], new_sizes: tuple, sizes: Any, reshaped: list[Any]
) -> bool:
    """Distributes mesh axes over dimensions of the result, and returns whether all axes fit.

    Args:
      axes: the names of the mesh axes, major first.
      targets: the dimensions of the result, major first.
      new_sizes: the shape of the result.
      sizes: the sizes of the mesh axes, by name.
      reshaped: the partition entries of the result, which are changed in place.
    """
    axes = tuple(axes)
    for target in targets:
        used_axes: tuple = ()
        rest = new_sizes[target]
        while axes and rest % sizes[axes[0]] == 0:
            rest //= sizes[axes[0]]
            used_axes += axes[:1]
            axes = axes[1:]
        if used_axes:
            reshaped[target] = used_axes[0] if len(used_axes) == 1 else used_axes
        if not axes:
            return True
        if rest != 1:
            return False
    return not axes


# ---- each dimension from one dimension of the operand ----


def _squeeze(
    operands: Sequence[Any], results: Sequence[Any], *, dimensions: tuple, **params: Any
) -> Entries:
    return [e for axis, e in enumerate(entries_of(operands[0])) if axis not in dimensions]


def _transpose(operands: Sequence[Any], results: Sequence[Any], *, permutation: tuple) -> Entries:
    entries = entries_of(operands[0])
    return [entries[axis] for axis in permutation]


def _concatenate(operands: Sequence[Any], results: Sequence[Any], *, dimension: int) -> Entries:
    return entries_of(alike(operands))


def _stack(operands: Sequence[Any], results: Sequence[Any], *, axis: int) -> Entries:
    entries = entries_of(alike(operands))
    return (*entries[:axis], None, *entries[axis:])


def _unstack(operands: Sequence[Any], results: Sequence[Any], *, axis: int) -> list[Entries]:
    entries = entries_of(operands[0])
    if entries[axis] is not None:
        raise ShardingTypeError(
            f"unstack operand cannot be sharded on the unstacking axis {axis}. Got operand "
            f"type={operands[0].str_short(True)}"
        )
    return [(*entries[:axis], *entries[axis + 1 :])] * len(results)


def _tile(operands: Sequence[Any], results: Sequence[Any], *, reps: tuple) -> Entries:
    entries = entries_of(operands[0])
    for dimension, (entry, count) in enumerate(zip(entries, reps, strict=True)):
        if entry is not None and count != 1:
            raise ShardingTypeError(
                f"Operand cannot be sharded on dimension {dimension} when the tiling is "
                f"non-trivial. Got input type: {operands[0].str_short()} with reps: {reps}"
            )
    return entries


def _pad(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    entries = entries_of(operands[0])
    mesh = layout_of(operands).mesh
    refuse_ragged_parts("padding", operands, results[0].shape, entries, mesh)
    return entries


def _pad_unreduced(
    operands: Sequence[Any], results: Sequence[Any], requested: frozenset, **params: Any
) -> frozenset:
    # The padding of partial sums must be a partial sum, too. Zero is the only such constant.
    return operands[0].layout.spec.unreduced if operands[0].layout is not None else frozenset()


def _split(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> list[Entries]:
    entries = entries_of(operands[0])
    mesh = layout_of(operands).mesh
    for result in results:
        refuse_ragged_parts("split", operands, result.shape, entries, mesh)
    return [entries] * len(results)


def _nothing(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    return (None,) * results[0].ndim


def _as_asked(
    operands: Sequence[Any], results: Sequence[Any], requested: frozenset, **params: Any
) -> frozenset:
    """Returns the requested unreduced axes; without a request, those of the operands."""
    own = [aval.layout.spec.unreduced for aval in operands if aval.layout is not None]
    return requested or frozenset().union(*own)


propagation_rules.define(
    lax.broadcast_in_dim_p,
    Propagation(_broadcast, unreduced=_as_asked, reduced=True, parameter="sharding"),
)
propagation_rules.define(
    iota_p, Propagation(_nothing, unreduced=_as_asked, reduced=True, parameter="sharding")
)
propagation_rules.define(
    lax.reshape_p, Propagation(_reshape, unreduced=_as_asked, reduced=True, parameter="sharding")
)
propagation_rules.define(lax.rev_p, Propagation(same_entries))
propagation_rules.define(tile_p, Propagation(_tile))
propagation_rules.define(lax.pad_p, Propagation(_pad, unreduced=_pad_unreduced, reduced=True))
for _primitive, _split_of in (
    (lax.squeeze_p, _squeeze),
    (lax.transpose_p, _transpose),
    (lax.concatenate_p, _concatenate),
    (stack_p, _stack),
    (unstack_p, _unstack),
    (lax.split_p, _split),
):
    propagation_rules.define(
        _primitive, Propagation(_split_of, unreduced=unreduced_as_operands, reduced=True)
    )
propagation_rules.exempt(
    dim_as_value_p, reason="it has no operands; sizes are the same on all devices"
)
