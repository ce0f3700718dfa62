# SPDX-License-Identifier: Apache-2.0
"""Discharge rules of masked loads and stores, and of atomic updates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import shape_of
from olympus_ir.references.discharge import discharge_rules
from olympus_ir.references.indexing import NDIndexer, Slice
from olympus_ir.references.transforms import accumulated, read_view, written
from olympus_ir.trees import pytrees

from .access import AtomicOpType, atomic_cas_p, atomic_rmw_p, load_p, swap_p
from .uninitialized import unset_value


def _changes(operands: Sequence[Any], array: Any) -> list[Any]:
    """Returns ``array`` as the new value of the first operand, a reference, and None for others."""
    return [array, *[None] * (len(operands) - 1)]


def _unset(dtype: Any) -> Any:
    return np.asarray(unset_value(dtype), dtype)


def _with_room(array: Any, transforms: Sequence[Any]) -> tuple[Any, tuple, tuple[int, ...]]:
    """Returns the array, extended for slices that begin inside and end outside.

    Returns:
      The larger array, the transforms for it, and the shape of the original array.
    """
    shape = shape_of(array)
    first = transforms[0] if transforms else None
    if not isinstance(first, NDIndexer):
        return array, tuple(transforms), shape
    room = [
        (index.size - 1) * index.stride + 1
        if isinstance(index, Slice) and not isinstance(index.start, int)
        else 0
        for index in first.indices
    ]
    if not any(room):
        return array, tuple(transforms), shape
    padded = lax.pad(array, _unset(array.dtype), [(0, extra, 0) for extra in room])
    indexer = NDIndexer(first.indices, shape_of(padded), first.int_indexer_shape)
    return padded, (indexer, *transforms[1:]), shape


def _masked(mask: Any, value: Any, other: Any) -> Any:
    """Returns ``value`` where the mask is true, and ``other`` elsewhere."""
    if shape_of(other) != shape_of(value):
        other = lax.broadcast_in_dim(other, shape_of(value), ())
    return lax.select_n(mask, other, value)


@discharge_rules.define(load_p)
def _load(equation: Any, operands: Sequence[Any]) -> Any:
    array, transforms, mask, other = pytrees.tree_unflatten(equation.params["args_tree"], operands)
    if mask is not None:
        array, transforms, _ = _with_room(array, transforms)
    value = read_view(array, transforms)
    if mask is not None:
        value = _masked(mask, value, _unset(value.dtype) if other is None else other)
    return [None] * len(operands), [value]


@discharge_rules.define(swap_p)
def _swap(equation: Any, operands: Sequence[Any]) -> Any:
    array, transforms, value, mask = pytrees.tree_unflatten(equation.params["args_tree"], operands)
    if mask is None:
        return _changes(operands, written(array, transforms, value)), [read_view(array, transforms)]
    roomy, transforms, shape = _with_room(array, transforms)
    previous = read_view(roomy, transforms)
    changed = written(roomy, transforms, _masked(mask, value, previous))
    if shape_of(changed) != shape:
        changed = lax.slice(changed, (0,) * len(shape), shape)
    return _changes(operands, changed), [previous]


def _exchange(old: Any, new: Any) -> Any:
    return new


_COMBINATIONS: dict[AtomicOpType, Callable[[Any, Any], Any]] = {
    AtomicOpType.XCHG: _exchange,
    AtomicOpType.ADD: lax.add,
    AtomicOpType.MAX: lax.max,
    AtomicOpType.MIN: lax.min,
    AtomicOpType.AND: lax.bitwise_and,
    AtomicOpType.OR: lax.bitwise_or,
    AtomicOpType.XOR: lax.bitwise_xor,
}


@discharge_rules.define(atomic_rmw_p)
def _atomic_rmw(equation: Any, operands: Sequence[Any]) -> Any:
    array, transforms, value, mask = pytrees.tree_unflatten(equation.params["args_tree"], operands)
    kind = equation.params["atomic_type"]
    shape = shape_of(array)
    if mask is not None:
        array, transforms, shape = _with_room(array, transforms)
    previous = read_view(array, transforms)
    if kind is AtomicOpType.ADD:
        # An element that several indices select gets one addition for each index.
        if mask is not None:
            value = _masked(mask, value, np.zeros((), value.dtype))
        changed = accumulated(array, transforms, value)
    else:
        combined = _COMBINATIONS[kind](previous, value)
        if mask is not None:
            combined = _masked(mask, combined, previous)
        changed = written(array, transforms, combined)
    if shape_of(changed) != shape:
        changed = lax.slice(changed, (0,) * len(shape), shape)
    return _changes(operands, changed), [previous]


@discharge_rules.define(atomic_cas_p)
def _atomic_cas(equation: Any, operands: Sequence[Any]) -> Any:
    array, transforms, compared, value = pytrees.tree_unflatten(
        equation.params["args_tree"], operands
    )
    previous = read_view(array, transforms)
    new = lax.select_n(lax.eq(previous, compared), previous, value)
    return _changes(operands, written(array, transforms, new)), [previous]
