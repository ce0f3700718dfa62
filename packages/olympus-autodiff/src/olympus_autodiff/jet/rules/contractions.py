# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of sums of products: each coefficient is a sum over pairs of terms."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import jet_rules
from .elementwise import product_rule

jet_rules.define(lax.dot_general_p, product_rule(lax.dot_general_p.bind))
