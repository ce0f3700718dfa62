# SPDX-License-Identifier: Apache-2.0
"""Propagation rule of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..diagnostics.errors import ShardingTypeError
from ..lax.convolution.convolutions import conv_general_dilated_p
from ..programs.propagation import (
    Entries,
    Propagation,
    layout_of,
    propagation_rules,
    refuse_ragged_parts,
)
from ..types.layouts import entries_of
from .contractions import asked_unreduced


def _convolution(
    operands: Sequence[Any], results: Sequence[Any], *, dimension_numbers: Any, **params: Any
) -> Entries:
    lhs, rhs = operands
    entries = entries_of(lhs)
    lhs_spec, out_spec = dimension_numbers.lhs_spec, dimension_numbers.out_spec
    if any(entries_of(rhs)) or entries[lhs_spec[1]] is not None:
        raise ShardingTypeError(
            "Please specify the output sharding via `out_sharding` parameter of "
            "`conv_general_dilated`"
        )
    split: list[Any] = [None] * results[0].ndim
    split[out_spec[0]] = entries[lhs_spec[0]]
    for source, target in zip(lhs_spec[2:], out_spec[2:], strict=True):
        split[target] = entries[source]
    # The operand's sizes and the result's sizes, in the order of the result's dimensions.
    before: list[Any] = [0] * results[0].ndim
    for source, target in zip(lhs_spec, out_spec, strict=True):
        before[target] = lhs.shape[source]
    ordered = [lhs.update(shape=tuple(before), sharding=None)]
    if any(split):
        mesh = layout_of(operands).mesh
        refuse_ragged_parts("conv_general_dilated", ordered, results[0].shape, split, mesh)
    return split


propagation_rules.define(
    conv_general_dilated_p,
    Propagation(_convolution, unreduced=asked_unreduced, reduced=False, parameter="out_sharding"),
)
