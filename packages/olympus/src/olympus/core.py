# SPDX-License-Identifier: Apache-2.0
"""Types and traces, for libraries that build on them."""

from typing import Any, TypeAlias

from . import _lazy

# The parameters of an equation.
ParamDict: TypeAlias = dict[str, Any]
# What a primitive is applied to: arrays, scalars and tracers.
Value: TypeAlias = Any


__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from(
            "olympus_ir.avals",
            "AbstractValue",
            "ShapedArray",
        ),
        **_lazy.names_from(
            "olympus_ir.construction",
            "max_dim",
            "min_dim",
        ),
        **_lazy.names_from(
            "olympus_ir.evaluation",
            "eval_olympuspr",
        ),
        **_lazy.names_from(
            "olympus_ir.olympuspr",
            "Atom",
        ),
        **_lazy.names_from(
            "olympus_ir.trace_state",
            "eval_context",
        ),
        **_lazy.names_from(
            "olympus_ir.tracing",
            "Trace",
            "Tracer",
            "ensure_compile_time_eval",
        ),
    },
)
