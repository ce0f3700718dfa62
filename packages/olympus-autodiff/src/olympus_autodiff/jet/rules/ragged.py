# SPDX-License-Identifier: Apache-2.0
"""Taylor rule of ragged products, in which each group of rows has its own matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from ..tables import jet_rules
from .elementwise import product_rule


@jet_rules.define(lax.ragged_dot_general_p)
def _ragged_dot_jet(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> Any:
    x, y, group_sizes = primals
    rule = product_rule(
        lambda first, second: lax.ragged_dot_general_p.bind(first, second, group_sizes, **params)
    )
    return rule([x, y], series[:2])
