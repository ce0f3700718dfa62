# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of contractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..diagnostics.errors import ShardingTypeError
from ..lax.contractions.scaled_products import scaled_dot_p
from ..programs.propagation import (
    Entries,
    Propagation,
    propagation_rules,
)
from ..types.layouts import entries_of

_NO_AXES: frozenset = frozenset()


def _chosen(entries: Entries, dimensions: Sequence[int]) -> tuple:
    return tuple(entries[dimension] for dimension in dimensions)


def _dot_general(
    operands: Sequence[Any], results: Sequence[Any], *, dimension_numbers: Any, **params: Any
) -> Entries:
    lhs, rhs = operands[:2]
    (lhs_contracted, rhs_contracted), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_entries, rhs_entries = entries_of(lhs), entries_of(rhs)
    for own, other in zip(
        _chosen(lhs_entries, lhs_batch), _chosen(rhs_entries, rhs_batch), strict=True
    ):
        if own is not None and other is not None and own != other:
            raise ShardingTypeError(
                "dot_general requires lhs batch dimensions and rhs batch dimensions to have the "
                f"consistent sharding, got {_chosen(lhs_entries, lhs_batch)} and "
                f"{_chosen(rhs_entries, rhs_batch)}."
            )
    contracted = _chosen(lhs_entries, lhs_contracted), _chosen(rhs_entries, rhs_contracted)
    for own, other in zip(*contracted, strict=True):
        if own is None or other is None:
            continue
        if own != other:
            raise ShardingTypeError(
                "dot_general requires contracting dimensions to have consistent sharding, got "
                f"{contracted[0]} and {contracted[1]}."
            )
        raise ShardingTypeError(
            "Contracting dimensions are sharded and it is ambiguous how the output should be "
            "sharded. Please specify the output sharding via the `out_sharding` parameter. Got "
            f"lhs_contracting_spec={contracted[0]} and rhs_contracting_spec={contracted[1]}"
        )
    lhs_used, rhs_used = {*lhs_contracted, *lhs_batch}, {*rhs_contracted, *rhs_batch}
    free = [entry for n, entry in enumerate(lhs_entries) if n not in lhs_used]
    free += [entry for n, entry in enumerate(rhs_entries) if n not in rhs_used]
    return [*_chosen(lhs_entries, lhs_batch), *free]


def _dot_unreduced(
    operands: Sequence[Any],
    results: Sequence[Any],
    requested: frozenset,
    *,
    dimension_numbers: Any,
    **params: Any,
) -> frozenset:
    lhs, rhs = operands[:2]
    if any(aval.layout is not None and aval.layout.spec.unreduced for aval in (lhs, rhs)):
        raise ShardingTypeError(
            f"lhs or rhs passed to dot_general cannot be unreduced. Got lhs={lhs!r} and rhs={rhs!r}"
        )
    (lhs_contracted, rhs_contracted), _ = dimension_numbers
    lhs_spec = _chosen(entries_of(lhs), lhs_contracted)
    rhs_spec = _chosen(entries_of(rhs), rhs_contracted)
    if lhs_spec != rhs_spec:
        raise ShardingTypeError(
            "lhs and rhs contracting dims should be sharded identically when out_sharding provided "
            f"to dot_general mentions unreduced_axes. Got unreduced axes={requested}, "
            f"lhs_contracting_spec={lhs_spec}, rhs_contracting_spec={rhs_spec}"
        )
    summed = {
        axis
        for entry in lhs_spec
        if entry is not None
        for axis in (entry if isinstance(entry, tuple) else (entry,))
    }
    if requested != summed:
        raise ShardingTypeError(
            "out_sharding's unreduced axes should be equal to the contracting specs. Got unreduced "
            f"axes={requested} and contracting spec={lhs_spec}"
        )
    return requested


def _scaled_dot(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    """Shards batch and free dimensions. Scales are sharded like their operands."""
    return _dot_general(operands, results, dimension_numbers=_scaled_dimensions(operands, params))


def _scaled_dimensions(operands: Sequence[Any], params: dict[str, Any]) -> Any:
    numbers = params.get("dimension_numbers")
    if numbers is not None:
        return numbers
    batch = tuple(range(operands[0].ndim - 2))
    last = operands[0].ndim - 1
    return ((last,), (last,)), (batch, batch)


def asked_unreduced(
    operands: Sequence[Any], results: Sequence[Any], requested: frozenset, **params: Any
) -> frozenset:
    raise ShardingTypeError(
        "this contraction supports no unreduced axes, got operands of types "
        f"{[aval.str_short() for aval in operands]} and out_sharding with "
        f"unreduced={set(requested)}"
    )


propagation_rules.define(
    lax.dot_general_p,
    Propagation(_dot_general, unreduced=_dot_unreduced, reduced=False, parameter="out_sharding"),
)
propagation_rules.define(scaled_dot_p, Propagation(_scaled_dot, reduced=False))
