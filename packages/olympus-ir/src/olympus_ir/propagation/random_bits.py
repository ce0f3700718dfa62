# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of random bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lax.random_bits import rng_bit_generator_p, rng_uniform_p
from ..programs.propagation import Propagation, propagation_rules
from ..types.layouts import entries_of


def _state_and_bits(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Any:
    return [entries_of(operands[0]), (None,) * results[1].ndim]


def _bits_unreduced(*types: Any, **params: Any) -> frozenset:
    raise TypeError(
        "rng_bit_generator supports no unreduced axes: random bits are not partial sums"
    )


propagation_rules.define(
    rng_bit_generator_p,
    Propagation(_state_and_bits, unreduced=_bits_unreduced, parameter="out_sharding"),
)
propagation_rules.define(
    rng_uniform_p,
    Propagation(lambda operands, results, **params: (None,) * len(results[0].shape)),
)
