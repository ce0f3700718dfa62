# SPDX-License-Identifier: Apache-2.0
"""Batching of `true_positions`; the number of true elements may differ between examples."""

from __future__ import annotations

from typing import Any

from olympus_ir.padding.counting import refuse_mapped_mask, true_positions_p

from ..tables import batching_rules


@batching_rules.define(true_positions_p)
def _true_positions(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    """Raises an error, because the results of the examples have no common size.

    `vmap` catches the error and, if possible, lets each example count and pad by itself.
    """
    refuse_mapped_mask()
