# SPDX-License-Identifier: Apache-2.0
"""Calls and control flow, whose results have the types of programs' results, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..programs.primitives import instruction
from ..programs.propagation import Propagation, family_rules, of_program, propagation_rules
from ..types.layouts import entries_of

# Results of callbacks, foreign functions and references are of the types that they declare.
for _family in (
    "annotations",
    "calls",
    "callbacks",
    "control_flow",
    "export",
    "ffi",
    "references",
    "tokens",
):
    family_rules[_family] = lambda primitive: of_program


def _state_and_bits(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Any:
    return [entries_of(operands[0]), (None,) * results[1].ndim]


def _bits_unreduced(*types: Any, **params: Any) -> frozenset:
    raise TypeError("random bits are no sums: rng_bit_generator takes no unreduced axes")


propagation_rules.define(
    instruction("rng_bit_generator"),
    Propagation(_state_and_bits, unreduced=_bits_unreduced, parameter="out_sharding"),
)
propagation_rules.define(
    instruction("rng_uniform"),
    Propagation(lambda operands, results, **params: (None,) * len(results[0].shape)),
)


# Where arrays are put says how their types are split.
propagation_rules.define(instruction("device_put"), of_program)
