# SPDX-License-Identifier: Apache-2.0
"""Members of traces and of functions with custom rules for libraries that define interpreters.

`olympus_autodiff` imports this module.
"""

from __future__ import annotations

from olympus_ir.adapters.attaching import attach

from ..custom.custom_jvp import FlatCall
from ..forward.jvp import JVPTrace

__all__: list[str] = []

# Traces call the function of a call with a custom rule by this name.
attach(FlatCall, call_wrapped=FlatCall.__call__)
# The name by which libraries take a value's primal and tangent from a trace.
attach(JVPTrace, to_primal_tangent_pair=JVPTrace.unpair)
