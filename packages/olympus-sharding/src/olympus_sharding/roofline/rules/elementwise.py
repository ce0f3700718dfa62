# SPDX-License-Identifier: Apache-2.0
"""Costs of elementwise operations for which the default cost is wrong."""

from __future__ import annotations

from olympus_ir import lax

from ..results import elementwise, free, roofline_rules

for _primitive in (lax.clamp_p, lax.select_n_p, lax.to_edtype_p, lax.from_edtype_p):
    roofline_rules.define(_primitive, elementwise)

for _primitive in (
    lax.convert_element_type_p,
    lax.bitcast_convert_type_p,
    lax.copy_p,
    lax.stop_gradient_p,
    lax.reduce_precision_p,
    lax.real_p,
    lax.imag_p,
    lax.complex_p,
):
    roofline_rules.define(_primitive, free)
