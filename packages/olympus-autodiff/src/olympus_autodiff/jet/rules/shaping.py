# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of operations that rearrange elements, which apply to each term separately."""

from __future__ import annotations

from ...rules.shaping import LINEAR
from ..tables import bound, jet_rules, linear_prop

for _primitive in LINEAR:
    jet_rules.define(_primitive, bound(linear_prop, _primitive))
