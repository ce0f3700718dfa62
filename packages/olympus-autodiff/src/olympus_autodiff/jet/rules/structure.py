# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of what arranges, picks and passes on elements: terms go along with the values."""

from __future__ import annotations

from olympus_ir import lax
from olympus_ir.lax import windows
from olympus_ir.lax.ragged_exchange import ragged_all_to_all_p

from ..tables import jet_rules, linear_prop, termwise, zero_prop
from .elementwise import bound

# ---- linear in all operands together ----

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
    lax.slice_p,
    lax.fft_p,
    lax.psum_p,
    lax.all_gather_p,
    lax.reduce_scatter_p,
    lax.ppermute_p,
    lax.pbroadcast_p,
    lax.all_to_all_p,
    lax.psum_invariant_p,
    lax.pvary_p,
    windows.reduce_window_sum_p,
):
    jet_rules.define(_primitive, bound(linear_prop, _primitive))

# ---- linear as long as the order of elements, or an operand that says where, stays the same ----

for _primitive in (
    lax.dynamic_slice_p,
    lax.dynamic_update_slice_p,
    lax.gather_p,
    lax.scatter_p,
    lax.scatter_add_p,
    lax.scatter_sub_p,
    lax.scatter_min_p,
    lax.scatter_max_p,
    lax.sort_p,
    lax.top_k_p,
    lax.approx_top_k_p,
    lax.device_put_p,
    lax.pmax_p,
    lax.pmin_p,
    ragged_all_to_all_p,
    windows.reduce_window_max_p,
    windows.reduce_window_min_p,
    windows.select_and_gather_add_p,
    windows.select_and_scatter_add_p,
):
    jet_rules.define(_primitive, bound(termwise, _primitive))

# ---- what values do not move through ----

for _primitive in (lax.debug_print_p, lax.debug_callback_p, lax.dce_sink_p):
    jet_rules.define(_primitive, bound(zero_prop, _primitive))
