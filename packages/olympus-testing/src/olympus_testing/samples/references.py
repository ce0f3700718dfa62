# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of the primitives of references, in programs that create and read references."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.references import primitives as references

from .declarations import samples


def written_in_place(x: Any, y: Any) -> list[Any]:
    """Reads from, writes to and adds to a reference at static indices."""
    ref = references.new_ref(x)
    ref[0] = lax.mul(ref[1], y[0])
    references.addupdate(ref, slice(1, None), lax.sin(y[1:]))
    previous = references.swap(ref, (), lax.mul(ref[...], x))
    return [previous, references.freeze(ref)]


def written_in_loops(x: Any, y: Any) -> list[Any]:
    """Writes to a reference at computed indices, in a loop and in one of two branches."""
    ref = references.new_ref(x)

    def body(total: Any, place: Any) -> Any:
        ref[place] = lax.mul(ref[place], total)
        references.addupdate(ref, 0, lax.sin(total))
        return lax.add(total, ref[place]), None

    total, _ = lax.scan(body, y[0], np.arange(3, dtype=np.int32))
    lax.cond(
        lax.gt(total, lax.full_like(total, 1.0)),
        lambda: references.addupdate(ref, np.array([2, 2], np.int32), y[:2]),
        lambda: references.set(ref, 2, y[1]),
    )
    return [references.freeze(ref), total]


for _primitive in (
    references.get_p,
    references.swap_p,
    references.addupdate_p,
    references.new_ref_p,
    references.empty_ref_p,
    references.freeze_p,
    references.free_ref_p,
):
    samples.exempt(
        _primitive,
        reason="a reference cannot be drawn at random; the samples of `jit` are programs that make "
        "and use references",
    )
