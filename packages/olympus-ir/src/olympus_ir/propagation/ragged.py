# SPDX-License-Identifier: Apache-2.0
"""Propagation rule of ragged products; the program must specify the layout of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..lax.ragged import ragged_dot_general_p
from ..programs.propagation import Propagation, propagation_rules
from .contractions import asked_unreduced


def _ask(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> NoReturn:
    raise NotImplementedError(
        "Explicit sharding inference for ragged_dot_general is not currently implemented. Please "
        "specify out_sharding."
    )


propagation_rules.define(
    ragged_dot_general_p,
    Propagation(_ask, unreduced=asked_unreduced, reduced=False, parameter="out_sharding"),
)
