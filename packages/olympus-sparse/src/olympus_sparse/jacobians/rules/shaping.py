# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns, Jacobian terms and origins of operations that move elements."""

from __future__ import annotations

from olympus_ir import lax

from ..elimination import moved_terms, term_rules
from ..origins import moved_origins, origin_rules
from ..propagation import moved_elements, sparsity_rules

for _primitive in (
    lax.broadcast_in_dim_p,
    lax.concatenate_p,
    lax.pad_p,
    lax.reshape_p,
    lax.rev_p,
    lax.split_p,
    lax.squeeze_p,
    lax.stack_p,
    lax.transpose_p,
    lax.tile_p,
):
    sparsity_rules.define(_primitive, moved_elements(_primitive))
    term_rules.define(_primitive, moved_terms(_primitive, fill=_primitive is lax.pad_p))
    origin_rules.define(_primitive, moved_origins(_primitive))
