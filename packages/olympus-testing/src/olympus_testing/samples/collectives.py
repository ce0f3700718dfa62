# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of collectives over positional axes.

Collectives over named axes cannot be sampled: the samples are bound where no axis has a name.
"""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from .declarations import Operand, Operation, sample, samples

# Over positional axes these collectives are reductions; `vmap` rewrites named axes to positional
# axes.
for _primitive in (lax.psum_p, lax.pmax_p, lax.pmin_p):

    def _reduction(label: str, axes: tuple[int, ...], **options: Any) -> Operation:
        params = {"axes": axes, "axis_index_groups": None}
        return Operation(label, (Operand((2, 3)),), params, **options)

    sample(_primitive, _reduction("rows", (0,)), _reduction("all", (0, 1)))

for _primitive in (
    lax.axis_index_p,
    lax.all_gather_p,
    lax.reduce_scatter_p,
    lax.ppermute_p,
    lax.pbroadcast_p,
    lax.psum_invariant_p,
    lax.pvary_p,
    lax.all_to_all_p,
):
    samples.exempt(_primitive, reason="means something across a named axis only")
