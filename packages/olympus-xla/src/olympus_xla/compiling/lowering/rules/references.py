# SPDX-License-Identifier: Apache-2.0
"""Exemption of reference primitives from lowering, because programs are discharged first."""

from __future__ import annotations

from olympus_ir.references import primitives as references

from ..tables import lowering_rules

for _primitive in (
    references.get_p,
    references.swap_p,
    references.addupdate_p,
    references.new_ref_p,
    references.empty_ref_p,
    references.freeze_p,
    references.free_ref_p,
):
    lowering_rules.exempt(
        _primitive,
        reason="programs are lowered in their pure form (olympus_ir.references.discharge)",
    )
