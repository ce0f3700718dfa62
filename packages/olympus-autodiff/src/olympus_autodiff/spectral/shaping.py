# SPDX-License-Identifier: Apache-2.0
"""Recognition rules of operations that permute, add or remove dimensions of a `forms.Form`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from ..forward.recognition import RecognitionTrace
from ..tables import recognition_rules
from ..zeros import aval_of
from .forms import REPEATED, Form

__all__: list[str] = []

_NEW = (REPEATED, 0)


@recognition_rules.define(lax.transpose_p)
def _transpose(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    form = trace.form_of(args[0])
    if form is None:
        return None
    return form.replace(axes=tuple(form.axes[position] for position in params["permutation"]))


@recognition_rules.define(lax.broadcast_in_dim_p)
def _broadcast(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    form = trace.form_of(args[0])
    if form is None or len(args) != 1:
        return None
    axes = [_NEW] * len(params["shape"])
    sizes = aval_of(args[0]).shape
    for position, size, label in zip(params["broadcast_dimensions"], sizes, form.axes, strict=True):
        if label != _NEW and size != params["shape"][position]:
            return None
        axes[position] = label
    return form.replace(axes=tuple(axes))


@recognition_rules.define(lax.squeeze_p)
def _squeeze(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    form = trace.form_of(args[0])
    if form is None or any(form.axes[position] != _NEW for position in params["dimensions"]):
        return None
    removed = params["dimensions"]
    return form.replace(
        axes=tuple(axis for position, axis in enumerate(form.axes) if position not in removed)
    )


@recognition_rules.define(lax.reshape_p)
def _reshape(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    """Returns the form of a reshape that only adds and removes dimensions of size one, or None."""
    form = trace.form_of(args[0])
    if form is None or params.get("dimensions") is not None:
        return None
    old = [
        (size, label)
        for size, label in zip(aval_of(args[0]).shape, form.axes, strict=True)
        if size != 1
    ]
    new = params["new_sizes"]
    if [size for size, _ in old] != [size for size in new if size != 1]:
        return None
    labels = iter(label for _, label in old)
    return form.replace(axes=tuple(_NEW if size == 1 else next(labels) for size in new))


@recognition_rules.define(lax.pad_p)
def _pad(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    if any(any(amounts) for amounts in params["padding_config"]):
        return None
    return trace.form_of(args[0])
