# SPDX-License-Identifier: Apache-2.0
"""Types and traces, for libraries that build on them."""

from typing import Any, TypeAlias

from . import _lazy

# Names that this module had before they moved to another module or became internal.
_DEPRECATED = {
    **_lazy.names_from(
        "olympus.extend.core",
        "CallPrimitive",
        "DebugInfo",
        "DropVar",
        "Effect",
        "Effects",
        "check_olympuspr",
        "concrete_or_error",
        "find_top_trace",
        "gensym",
        "get_opaque_trace_state",
        "new_olympuspr_eqn",
        "no_effects",
        "olympusprs_in_params",
        "primal_dtype_to_tangent_dtype",
        "valid_olympustype",
    ),
    **_lazy.names_from(
        "olympus.errors",
        "InconclusiveDimensionOperation",
        "OlympusprTypeError",
    ),
    **_lazy.names_from(
        "olympus_ir.types.avals",
        "abstract_token",
        "pytype_aval_mappings=aval_getters",
    ),
    **_lazy.names_from(
        "olympus_ir.programs.tracing",
        "is_concrete",
        "is_constant_dim",
        "is_constant_shape",
        "trace_ctx=current",
    ),
    **_lazy.names_from(
        "olympus_ir.adapters.trace_state",
        "nonempty_axis_env_DO_NOT_USE=nonempty_axis_env",
        "unsafe_am_i_under_a_jit_DO_NOT_USE=am_i_under_a_trace",
        "unsafe_am_i_under_a_vmap_DO_NOT_USE=am_i_under_a_vmap",
        "unsafe_get_axis_names_DO_NOT_USE=axis_names",
    ),
}

# The parameters of an equation.
ParamDict: TypeAlias = dict[str, Any]
# An operand of a primitive: an array, a scalar or a tracer.
Value: TypeAlias = Any


__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from(
            "olympus_ir.types.avals",
            "AbstractValue",
            "ShapedArray",
        ),
        **_lazy.names_from(
            "olympus_ir.adapters.construction",
            "max_dim",
            "min_dim",
        ),
        **_lazy.names_from(
            "olympus_ir.programs.evaluation",
            "eval_olympuspr",
        ),
        **_lazy.names_from(
            "olympus_ir.programs.olympuspr",
            "Atom",
        ),
        **_lazy.names_from(
            "olympus_ir.adapters.trace_state",
            "eval_context",
        ),
        **_lazy.names_from(
            "olympus_ir.programs.tracing",
            "Trace",
            "Tracer",
            "ensure_compile_time_eval",
        ),
    },
    deprecated=_DEPRECATED,
)
