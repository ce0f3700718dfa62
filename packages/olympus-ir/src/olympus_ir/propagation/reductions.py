# SPDX-License-Identifier: Apache-2.0
"""Reductions, cumulative sums and sorting: along which dimensions an array may be split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..diagnostics.errors import ShardingTypeError
from ..programs.layout_inference import unreduced_as_operands
from ..programs.propagation import Entries, Propagation, propagation_rules, sharding_text
from ..types.layouts import axes_of_entry, entries_of


def _reduced(operands: Sequence[Any], results: Sequence[Any], *, axes: tuple, **params: Any) -> Any:
    return [entry for axis, entry in enumerate(entries_of(operands[0])) if axis not in axes]


def _sum_unreduced(
    operands: Sequence[Any],
    results: Sequence[Any],
    wanted: frozenset,
    *,
    axes: tuple,
    out_sharding: Any = None,
    **params: Any,
) -> frozenset:
    """A sum over a split dimension may be left as the devices' sums."""
    (operand,) = operands
    own = frozenset() if operand.layout is None else operand.layout.spec.unreduced
    entries = entries_of(operand)
    summed = {axis for dimension in axes for axis in axes_of_entry(entries[dimension])}
    if wanted - own - summed:
        raise ShardingTypeError(
            "out_sharding's unreduced axes should be in operand's specs that were summed over. Got "
            f"operand={operand!r}, axes={frozenset(axes)}, unreduced_spec={wanted}"
        )
    return own if out_sharding is None else wanted


def _generic(operands: Sequence[Any], results: Sequence[Any], *, dimensions: tuple, **params: Any):
    return [
        [e for axis, e in enumerate(entries_of(array)) if axis not in dimensions]
        for array in operands[: len(results)]
    ]


def _cumulative(
    operands: Sequence[Any], results: Sequence[Any], *, axis: int, **params: Any
) -> Any:
    entries = entries_of(operands[0])
    if entries[axis] is not None:
        raise ShardingTypeError(
            "Input should be unsharded over the axis being reduced. Got input "
            f"type={operands[0].str_short()} and axis={axis}"
        )
    return entries


def _sort(
    operands: Sequence[Any], results: Sequence[Any], *, dimension: int, **params: Any
) -> list[Entries]:
    first = operands[0].layout
    if any(aval.layout is not first for aval in operands):
        shown = " ".join(sharding_text(aval, operands) for aval in operands)
        raise ShardingTypeError(f"Arguments to sort must have equal shardings, got: {shown}")
    entries = entries_of(operands[0])
    if entries[dimension] is not None:
        raise ShardingTypeError(
            "Arguments to sort must be unsharded over the sorting dimension. Got arg "
            f"sharding={first} and sorting dimension={dimension}"
        )
    return [entries] * len(results)


def _fft(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    return entries_of(operands[0])


def _along(parameter: str) -> Any:
    def split(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> list[Entries]:
        axis = params[parameter] % operands[0].ndim
        entries = entries_of(operands[0])
        if entries[axis] is not None:
            raise ShardingTypeError(
                "The input should be unsharded over the axis along which to compute the top_k "
                f"values. Got input type={operands[0].str_short()} and axis={axis}"
            )
        return [entries] * len(results)

    return split


for _primitive in (
    lax.reduce_prod_p,
    lax.reduce_max_p,
    lax.reduce_min_p,
    lax.reduce_and_p,
    lax.reduce_or_p,
    lax.reduce_xor_p,
    lax.argmax_p,
    lax.argmin_p,
):
    propagation_rules.define(_primitive, Propagation(_reduced))
propagation_rules.define(
    lax.reduce_sum_p,
    Propagation(_reduced, unreduced=_sum_unreduced, reduced=True, parameter="out_sharding"),
)
propagation_rules.define(lax.reduce_p, Propagation(_generic))
for _primitive in (
    lax.cumsum_p,
    lax.cumprod_p,
    lax.cummax_p,
    lax.cummin_p,
    lax.cumlogsumexp_p,
):
    propagation_rules.define(_primitive, Propagation(_cumulative))
propagation_rules.define(lax.sort_p, Propagation(_sort))
propagation_rules.define(lax.top_k_p, Propagation(_along("axis")))
propagation_rules.define(lax.approx_top_k_p, Propagation(_along("reduction_dimension")))
propagation_rules.define(
    lax.fft_p, Propagation(_fft, unreduced=unreduced_as_operands, reduced=True)
)
