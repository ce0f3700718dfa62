# SPDX-License-Identifier: Apache-2.0
"""Derivatives of placement: tangents go along, cotangents go back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from ..tables import jvp_rules, transpose_rules
from ..zeros import Zero


@jvp_rules.define(lax.device_put_p)
def _device_put_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    results = lax.device_put_p.bind(*primals, **params)
    return results, _put_non_zeros(tangents, **params)


@transpose_rules.define(lax.device_put_p)
def _device_put_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    devices: Sequence[Any],
    srcs: Sequence[Any],
    copy_semantics: Sequence[Any],
) -> list[Any]:
    return _put_non_zeros(cotangents, devices=srcs, srcs=devices, copy_semantics=copy_semantics)


def _put_non_zeros(values: Sequence[Any], **params: Sequence[Any]) -> list[Any]:
    """Places the values that are not zero; each parameter has one entry a value."""
    results = list(values)
    positions = [position for position, value in enumerate(values) if value.__class__ is not Zero]
    chosen = {
        name: tuple(given[position] for position in positions) for name, given in params.items()
    }
    if positions:
        placed = lax.device_put_p.bind(*(values[position] for position in positions), **chosen)
        for position, value in zip(positions, placed, strict=True):
            results[position] = value
    return results
