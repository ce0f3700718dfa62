# SPDX-License-Identifier: Apache-2.0
"""Functions that are called as such in compiled programs, and scheduled as one group."""

from olympus_ir.annotating import scheduling_group, xla_metadata_call
from olympus_ir.dead_code import dce_olympuspr_xla_metadata_rule
from olympus_ir.lax.annotations import xla_metadata_call_p
from olympus_xla.lowering.annotations import attr_get

__all__ = [
    "attr_get",
    "dce_olympuspr_xla_metadata_rule",
    "scheduling_group",
    "xla_metadata_call",
    "xla_metadata_call_p",
]
