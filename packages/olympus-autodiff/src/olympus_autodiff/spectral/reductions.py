# SPDX-License-Identifier: Apache-2.0
"""Recognition of sums over all eigenvalues, which are smooth functions of the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from ..forward.recognition import RecognitionTrace, Solved
from ..tables import recognition_rules
from ..zeros import aval_of
from .forms import BATCH, VALUE
from .solutions import sum_over_values

__all__: list[str] = []


@recognition_rules.define(lax.reduce_sum_p)
def _reduce_sum(
    trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]
) -> Solved | None:
    form = trace.form_of(args[0])
    if form is None or not form.is_of_values or params.get("out_sharding") is not None:
        return None
    reduced = form.place(VALUE)
    if reduced not in params["axes"]:
        return None
    shape = aval_of(args[0]).shape
    rest = [position for position in range(len(shape)) if position != reduced]
    positions = [position for position, axis in enumerate(rest) if form.axes[axis][0] == BATCH]
    order = [form.axes[rest[position]][1] for position in positions]
    others = [position for position, axis in enumerate(rest) if axis in params["axes"]]
    if len(order) != form.source.batch:
        return None

    def compute() -> Any:
        total = lax.transpose(sum_over_values(form.source, form.function), order)
        total = lax.broadcast_in_dim(total, [shape[axis] for axis in rest], positions)
        return lax.reduce_sum(total, others) if others else total

    return Solved(compute)
