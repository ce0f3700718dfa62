# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of operations that rearrange elements, which apply to each term separately."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import bound, jet_rules, linear_prop

for _primitive in (
    lax.broadcast_in_dim_p,
    lax.reshape_p,
    lax.squeeze_p,
    lax.transpose_p,
    lax.rev_p,
    lax.concatenate_p,
    lax.stack_p,
    lax.unstack_p,
    lax.tile_p,
    lax.pad_p,
    lax.split_p,
):
    jet_rules.define(_primitive, bound(linear_prop, _primitive))
