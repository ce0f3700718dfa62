# SPDX-License-Identifier: Apache-2.0
"""Derivatives of transfers: tangents move like primal values, cotangents move back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.types.memory_spaces import MemorySpace

from ..tables import jvp_rules, transpose_rules
from ..zeros import Zero, is_undefined_primal


def _chosen(values: Sequence[Any], flags: Sequence[bool]) -> tuple[Any, ...]:
    return tuple(value for value, flag in zip(values, flags, strict=True) if flag)


def _origin(src: Any, operand: Any, device: Any) -> Any:
    """Returns the destination of a cotangent: the device and memory of the operand."""
    if src is not None or type(device) is not MemorySpace or not is_undefined_primal(operand):
        return src
    return operand.aval.memory_space


@jvp_rules.define(lax.device_put_p)
def _device_put_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    results = lax.device_put_p.bind(*primals, **params)
    moving = [t.__class__ is not Zero for t in tangents]
    moved = iter(
        lax.device_put_p.bind(
            *_chosen(tangents, moving),
            **{name: _chosen(values, moving) for name, values in params.items()},
        )
    )
    return results, [next(moved) if flag else t for t, flag in zip(tangents, moving, strict=True)]


@transpose_rules.define(lax.device_put_p)
def _device_put_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    devices: Sequence[Any],
    srcs: Sequence[Any],
    copy_semantics: Sequence[Any],
) -> list[Any]:
    is_nonzero = [
        is_undefined_primal(operand) and ct.__class__ is not Zero
        for operand, ct in zip(operands, cotangents, strict=True)
    ]
    moved = iter(
        lax.device_put_p.bind(
            *_chosen(cotangents, is_nonzero),
            devices=_chosen(tuple(map(_origin, srcs, operands, devices)), is_nonzero),
            srcs=_chosen(devices, is_nonzero),
            copy_semantics=_chosen(copy_semantics, is_nonzero),
        )
    )
    return [next(moved) if flag else None for flag in is_nonzero]
