# SPDX-License-Identifier: Apache-2.0
"""Taylor rule of convolutions: each coefficient is a sum over pairs of terms."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import jet_rules
from .elementwise import product_rule

jet_rules.define(lax.conv_general_dilated_p, product_rule(lax.conv_general_dilated_p.bind))
