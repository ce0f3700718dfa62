# SPDX-License-Identifier: Apache-2.0
"""Functions that the compiler does not inline, and schedules as one group each."""

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from(
            "olympus_ir.lax.annotations.functions", "scheduling_group", "xla_metadata_call"
        ),
        **_lazy.names_from("olympus_ir.rules.annotations", "dce_olympuspr_xla_metadata_rule"),
        **_lazy.names_from("olympus_ir.lax.annotations.primitives", "xla_metadata_call_p"),
        **_lazy.names_from("olympus_xla.compiling.lowering.rules.annotations", "attr_get"),
    },
)
