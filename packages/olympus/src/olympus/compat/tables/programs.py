# SPDX-License-Identifier: Apache-2.0
"""Names of JAX's private modules of programs: tracing, interpreters, references, pytrees."""

from __future__ import annotations

from olympus._lazy import names_from

_PRIMITIVES = "olympus.extend.core.primitives"
_FUNCTIONS = "olympus.compat.counterparts.functions"
_ACCUMULATORS = "olympus.compat.counterparts.accumulators"
_LISTS = "olympus.compat.counterparts.lists"
_PROGRAMS = "olympus.compat.counterparts.programs"
_CLASSES = "olympus.compat.counterparts.classes"
_EQUATIONS = "olympus.compat.equations"
_POLICIES = "olympus_autodiff.rematerialization.policies"
_GRADIENT_REFERENCES = "olympus_autodiff.reverse.gradient_references"
_PRINTING = "olympus.compat.counterparts.printing"
_PARTIAL = "olympus.compat.counterparts.evaluation.partial_evaluation"
_BATCHING = "olympus.compat.counterparts.batching"
_TANGENTS = "olympus.compat.counterparts.tangents"
_REFERENCES = "olympus.compat.counterparts.references"
_JACOBIANS = "olympus.compat.counterparts.jacobians"
_SIGNATURES = "olympus.compat.signatures"
_TRACE_STATE = "olympus_ir.adapters.trace_state"
_DIMENSIONS = "olympus.compat.counterparts.dimensions"
_DOCUMENTS = "olympus_ir.diagnostics.documents"
_EFFECTS = "olympus_ir.types.effects"
_STATES = "olympus_ir.references"
_LIST_NAMES = ("merge_lists", "partition_list", "split_list", "unzip2")

_CORE = {
    **names_from("olympus.core", "AbstractValue", "ShapedArray", "Trace", "Tracer"),
    **names_from("olympus.core", "Atom", "ensure_compile_time_eval", "eval_context"),
    **names_from("olympus.core", "ParamDict", "Value", "eval_olympuspr", "max_dim", "min_dim"),
    **names_from("olympus.errors", "ConcretizationTypeError", "TracerArrayConversionError"),
    **names_from("olympus.errors", "TracerBoolConversionError", "UnexpectedTracerError"),
    **names_from("olympus.errors", "TracerIntegerConversionError"),
    **names_from("olympus_ir.diagnostics.errors", "ShardingTypeError"),
    **names_from("olympus.experimental.hijax", "AvalMutableQDD", "AvalQDD", "aval_method"),
    **names_from("olympus.experimental.hijax", "aval_property"),
    **names_from("olympus_ir.programs.tracing", "escaped_tracer_error", "is_concrete"),
    **names_from("olympus_ir.lax.collectives.named_axes", "pvary", "pvary_p"),
    **names_from("olympus_ir.lax.elementwise.conversion", "stage_p"),
    **names_from("olympus_ir.symbolic.expressions", "is_symbolic_dim"),
    **names_from("olympus_ir.types.layouts", "ManualAxisType"),
    **names_from(_DIMENSIONS, "definitely_equal_one_of_dim", "dilate_dim"),
    **names_from(_DIMENSIONS, "divide_shape_sizes", "stride_dim"),
    **names_from(_PROGRAMS, "clean_up_dead_vars", "concrete_dim_or_error", "get_referent"),
    **names_from(_PROGRAMS, "is_dim", "last_used", "str_short_aval", "to_concrete_value"),
    **names_from("olympus", "Array", "ShapeDtypeStruct"),
    **names_from("olympus_ir.types.avals", "pytype_aval_mappings=aval_getters"),
    **names_from("olympus_ir.types", "effects"),
    **names_from("typing", "AxisSize=Any", "DimSize=Any"),
    **names_from("olympus_ir.types.avals", "abstract_token", "canonicalize_shape", "get_aval"),
    **names_from("olympus_ir.types.annotations", "AxisName", "Shape"),
    **names_from(_EFFECTS, "NamedAxisEffect"),
    **names_from("olympus_ir.programs.tracing", "TracerBase=Tracer", "is_constant_dim", "typeof"),
    **names_from("olympus_ir.programs.tracing", "EvalTrace=EvaluationTrace", "trace_ctx=current"),
    **names_from("olympus_ir.programs.tracing", "is_constant_shape"),
    **names_from("olympus_ir.programs.olympuspr", "OlympusprEqnContext=EquationContext"),
    **names_from("olympus_ir.programs.olympuspr", "is_literalable"),
    **names_from("olympus_ir.programs.leaks", "leaked_tracer_error=check_leaks"),
    **names_from("olympus_ir.programs.mutable_types", "cur_qdd"),
    **names_from("olympus_ir.adapters.construction", "shaped_abstractify"),
    **names_from(_TRACE_STATE, "OpaqueTraceState", "nonempty_axis_env", "trace_state_clean"),
    **names_from(_TRACE_STATE, "unsafe_am_i_under_a_jit=am_i_under_a_trace"),
    **names_from(_TRACE_STATE, "unsafe_am_i_under_a_vmap=am_i_under_a_vmap"),
    **names_from(_TRACE_STATE, "unsafe_get_axis_names=axis_names"),
    **names_from("olympus.compat.literals", "full_lower"),
    **names_from("olympus_ir.types.memory_spaces", "MemorySpace"),
    **names_from("olympus.ref", "Ref", "empty_ref", "freeze", "new_ref"),
    **names_from(f"{_STATES}.primitives", "empty_ref_p", "free_ref", "free_ref_p", "freeze_p"),
    **names_from(f"{_STATES}.primitives", "ref_p=new_ref_p"),
    **names_from("olympus_ir.types.extended_arrays", "physical_aval"),
    **names_from("olympus_ir._jaxlib", "safe_map", "safe_zip"),
    **names_from(_PRIMITIVES, "call_p", "closed_call_p"),
    **names_from(_PROGRAMS, "AxisEnv", "axis_frame", "extend_axis_env_nd", "get_axis_env"),
    **names_from(_PROGRAMS, "canonicalize_dim", "dim_value_dtype", "is_empty_shape"),
    **names_from(_PROGRAMS, "definitely_equal", "definitely_equal_shape", "same_referent"),
    **names_from(_PROGRAMS, "filter_named_axis_effects", "join_effects"),
    **names_from(_PROGRAMS, "physical_element_aval", "remove_named_axis_effects"),
    **names_from(_PROGRAMS, "replace_olympuspr_effects", "typecheck", "typecompat", "typematch"),
    **names_from(_PRINTING, "OlympusprPpContext", "OlympusprPpSettings", "pp_aval", "pp_effect"),
    **names_from(_PRINTING, "pp_eqn", "pp_eqn_rules", "pp_eqns", "pp_kv_pair", "pp_kv_pairs"),
    **names_from(_PRINTING, "pp_olympuspr", "pp_olympuspr_eqn_range", "pp_olympusprs"),
    **names_from(_PRINTING, "pp_toplevel_olympuspr", "pp_var", "pp_vars"),
}

_PARTIAL_EVALUATION = {
    **names_from(_POLICIES, "Offloadable", "Recompute"),
    **names_from(_POLICIES, "Saveable", "everything_saveable"),
    **names_from("olympus_ir.programs.olympuspr", "close_olympuspr"),
    **names_from(
        "olympus_ir.programs.olympuspr", "convert_constvars_olympuspr=constants_as_inputs"
    ),
    **names_from(
        "olympus_ir.programs.olympuspr", "convert_invars_to_constvars=inputs_as_constants"
    ),
    **names_from(_LISTS, *_LIST_NAMES),
    **names_from("olympus_ir.adapters.construction", "new_olympuspr_eqn"),
    **names_from("olympus_ir.adapters.partial_evaluation", "OlympusprTrace=PartialTrace"),
    **names_from("olympus_ir.adapters.partial_evaluation", "new_eqn_recipe"),
    **names_from(_PROGRAMS, "has_effects"),
    **names_from(_PARTIAL, "abstract_eval_fun", "make_olympuspr_effects", "move_binders_to_back"),
    **names_from(_PARTIAL, "move_binders_to_front", "move_outvars_to_back"),
    **names_from(_PARTIAL, "partial_eval_olympuspr_nounits", "prune_olympuspr_outputs"),
    **names_from(_PARTIAL, "prune_closed_olympuspr_outputs"),
    **names_from(
        "olympus.compat.counterparts.evaluation.policy_splits",
        "ensure_enum",
        "partial_eval_olympuspr_custom",
    ),
    **names_from("olympus.extend", "lu=linear_util", "source_info_util"),
    "core": "olympus.extend:core",
}

_DIFFERENTIATION = {
    **names_from(_ACCUMULATORS, "GradAccum", "NullAccum", "RefAccum", "ValAccum"),
    **names_from(_ACCUMULATORS, "backward_pass3", "fancy_transposes"),
    **names_from("olympus_ir.types.dtypes", "float0"),
    **names_from("olympus_autodiff.forward.linearize", "LinearizeTrace", "LinearizeTracer"),
    **names_from("olympus_autodiff.forward.custom_linear", "custom_lin_p"),
    **names_from(_TANGENTS, "backward_pass", "bilinear_transpose", "closed_backward_pass"),
    **names_from(_TANGENTS, "defjvp_zero", "jvp_olympuspr", "linear_transpose", "p2cz", "p2tz"),
    **names_from(_TANGENTS, "rearrange_binders", "replace_internal_symbolic_zeros"),
    **names_from(_TANGENTS, "replace_rule_output_symbolic_zeros", "standard_jvp"),
    **names_from(_TANGENTS, "standard_jvp2", "zero_jvp"),
}

_API_UTIL = {
    **names_from(_SIGNATURES, "check_callable", "fun_signature", "infer_argnums_and_argnames"),
    **names_from(_SIGNATURES, "_ensure_inbounds=ensure_inbounds", "_ensure_index=ensure_index"),
    **names_from(_SIGNATURES, "_ensure_index_tuple=ensure_index_tuple", "is_hashable"),
    **names_from(_SIGNATURES, "resolve_kwargs"),
    **names_from("olympus.tree_util", "PyTreeDef"),
}

_UTIL = {
    **names_from(_CLASSES, "OrderedSet", "StrictABC", "StrictABCMeta", "use_cpp_class"),
    **names_from(_CLASSES, "use_cpp_method"),
    **names_from("olympus_ir._jaxlib", "foreach", "safe_map", "safe_zip"),
    **names_from("functools", "partial", "wraps"),
    **names_from(_LISTS, *_LIST_NAMES, "canonicalize_axis", "canonicalize_axis_tuple"),
    **names_from(_LISTS, "ceil_of_ratio", "concatenate", "flatten=concatenate"),
    **names_from(_LISTS, "split_list_checked", "subs_list", "subs_list2", "subvals", "toposort"),
    **names_from(_LISTS, "tuple_delete", "tuple_insert", "tuple_update", "unflatten", "unzip3"),
    **names_from(_FUNCTIONS, "Hashable", "HashableFunction", "HashablePartial"),
    **names_from(_FUNCTIONS, "HashableWrapper", "Unhashable", "cache", "curry", "fun_name"),
    **names_from(_FUNCTIONS, "fun_qual_name", "maybe_named_axis", "memoize", "set_module"),
    **names_from(_FUNCTIONS, "weakref_lru_cache", "wrap_name"),
    **names_from("olympus.numpy", "moveaxis"),
    **names_from("olympus", "clear_all_caches=clear_caches"),
}

_STATE = {
    **names_from("olympus_ir.types.references", "AbstractRef"),
    **names_from(_EFFECTS, "AccumEffect", "ReadEffect", "RefEffect", "WriteEffect"),
    **names_from(f"{_STATES}.values", "TransformedRef"),
    **names_from(_REFERENCES, "shaped_array_ref"),
}

PROGRAMS: dict[str, dict[str, str]] = {
    "ad_util": {
        **names_from("olympus_autodiff.zeros", "SymbolicZero", "Zero"),
        **names_from("olympus_autodiff.custom.custom_vjp", "zero_from_primal"),
        **names_from("olympus_autodiff.zeros", "instantiate", "zeros_like_aval"),
        **names_from("olympus.interpreters.ad", "add_any_p=add_olympusvals_p"),
        **names_from("olympus.interpreters.ad", "add_olympusvals", "add_olympusvals_p"),
        **names_from(_TANGENTS, "p2cz", "p2tz", "replace_internal_symbolic_zeros"),
        **names_from(_TANGENTS, "replace_rule_output_symbolic_zeros"),
        **names_from(_PRIMITIVES, "stop_gradient_p"),
    },
    "ad_checkpoint": {
        **names_from(_PRIMITIVES, "remat_p"),
        **names_from("olympus_autodiff", "saved_residuals"),
        **names_from(_POLICIES, "DotsSaveable", "SaveAnyNamesButThese", "SaveOnlyTheseNames"),
        **names_from(_POLICIES, "dots_saveable", "dots_with_no_batch_dims_saveable"),
        **names_from(_POLICIES, "everything_saveable", "nothing_saveable"),
        **names_from(_POLICIES, "offload_dot_with_no_batch_dims"),
        **names_from(_POLICIES, "save_and_offload_only_these_names", "save_from_both_policies"),
        **names_from(_POLICIES, "save_any_names_but_these", "save_anything_except_these_names"),
        **names_from(_POLICIES, "save_only_these_names"),
    },
    "api": {
        **names_from("olympus.api_util", "flatten_axes", "shaped_abstractify"),
        **names_from("olympus_ir.diagnostics.traceback_filtering", "api_boundary"),
        **names_from("olympus_ir.types.annotations", "AxisName"),
        **names_from("olympus_xla.platforms.backends", "clear_backends"),
        **names_from("olympus.compat.counterparts.operands", "_dtype=dtype_of"),
        **names_from(_JACOBIANS, "_check_scalar=check_scalar", "_jacfwd_unravel=jacfwd_unravel"),
        **names_from(_JACOBIANS, "_jacrev_unravel=jacrev_unravel", "_std_basis=std_basis"),
        **names_from(_GRADIENT_REFERENCES, "DidntWant", "DontWant", "GradRef", "GradValue"),
        **names_from("olympus_autodiff.reverse.vjp", "VJP"),
    },
    "api_util": _API_UTIL,
    "checkify": {
        **names_from("olympus_checkify.errors", "ErrorEffect", "OlympusException=CheckError"),
        **names_from("typing", "Out=Any"),
    },
    "core": _CORE,
    "custom_batching": names_from(
        "olympus_batching.custom_batching", "custom_vmap_p=custom_vmap_call_p"
    ),
    "custom_derivatives": {
        **names_from("olympus_autodiff.custom.linear_call", "linear_call_p"),
        **names_from(_LISTS, "partition_list"),
        **names_from(_SIGNATURES, "resolve_kwargs"),
    },
    "debugger": {
        **names_from("olympus_ir.debugger.breakpoints", "breakpoint"),
        "core": "olympus_ir.debugger:breakpoints",
    },
    "debugger.core": {
        **names_from("olympus_ir.debugger.breakpoints", "breakpoint", "register_debugger"),
        **names_from("olympus_ir.debugger.frames", "DebuggerFrame"),
    },
    "earray": names_from("olympus_ir.adapters.paired_dtypes", "EArray"),
    "effects": {
        **names_from(_EFFECTS, "partial_eval_kept_effects=partial_evaluation_kept_effects"),
        **names_from(_EFFECTS, "remat_allowed_effects=checkpoint_allowed_effects"),
    },
    "hijax": {
        **names_from("olympus_ir.types.avals", "ShapedArray", "Ty=AbstractValue"),
        **names_from("olympus_autodiff.high_types.calls", "call_hi_primitive_p"),
        **names_from("olympus_autodiff.high_types.boxes", "Box", "BoxTy", "BoxTypeState"),
        **names_from("olympus_autodiff.high_types.boxes", "box_get", "box_get_p", "box_set"),
        **names_from("olympus_autodiff.high_types.boxes", "box_set_p", "new_box", "new_box_p"),
        **names_from("olympus.custom_derivatives", "custom_vjp3=custom_vjp"),
    },
    "indexing": names_from(f"{_STATES}.indexing", "Slice", "ds", "dslice"),
    "interpreters.ad": _DIFFERENTIATION,
    "interpreters.batching": {
        **names_from("olympus.compat.registries", "is_vmappable"),
        **names_from(_BATCHING, "AxisData", "NotMapped", "batch_olympuspr"),
        **names_from(_BATCHING, "batch_olympuspr2", "batch_olympuspr_axes", "matchaxis"),
        **names_from(_BATCHING, "make_iota", "reducer_batcher", "to_elt", "vectorized_batcher"),
        **names_from("olympus.api_util", "flatten_fun_for_vmap=flatten_fun"),
        **names_from("olympus.numpy", "moveaxis"),
        "core": "olympus.extend:core",
    },
    "interpreters.partial_eval": _PARTIAL_EVALUATION,
    "jaxpr_util": names_from(
        _EQUATIONS,
        *("all_eqns", "collect_eqns", "count_eqns", "eqns_using_var", "histogram", "primitives"),
        *("eqns_using_var_with_invar_index", "primitives_by_shape", "primitives_by_source"),
        *("olympuspr_and_binder_in_params", "source_locations", "var_defs_and_refs"),
    ),
    "lazy_loader": names_from("olympus.compat.submodules", "attach"),
    "linear_util": {
        **names_from("olympus_ir.adapters.wrapped_functions", "EqualStore"),
        **names_from("olympus_ir.diagnostics.debug_info", "DebugInfo"),
        **names_from(_FUNCTIONS, "fun_name"),
    },
    "literals": {
        **names_from("olympus.compat.literals", "TypedComplex"),
        **names_from("olympus.compat.literals", "TypedFloat", "TypedInt", "TypedNdArray"),
    },
    "state": _STATE,
    "state.discharge": {
        **names_from(_REFERENCES, "discharge_state", "register_discharge_rule"),
        **names_from(f"{_STATES}.states", "run_state"),
        **names_from(f"{_STATES}.transforms", "transform_array=read_view"),
        **names_from(f"{_STATES}.transforms", "transform_swap_array=written"),
    },
    "state.indexing": names_from(
        f"{_STATES}.indexing", "NDIndexer", "Slice", "ds=dslice", "dslice"
    ),
    "state.primitives": names_from(
        f"{_STATES}.primitives",
        *("addupdate_p", "get_p", "swap_p", "ref_addupdate=addupdate", "ref_get=get"),
        *("ref_set=set", "ref_swap=swap"),
    ),
    "state.types": {
        **_STATE,
        **names_from(f"{_STATES}.transforms", "BitcastTransform", "ReshapeTransform"),
        **names_from(f"{_STATES}.values", "RefIndexer"),
        **names_from(_REFERENCES, "get_ref_aval_from_value"),
    },
    "pretty_printer": {
        **names_from(_DOCUMENTS, "Doc=Document", "brk=Break", "concat=Concatenation"),
        **names_from(_DOCUMENTS, "group=Group", "join=joined", "nest=Nest"),
        **names_from(_PRINTING, "Color", "Intensity", "color", "nil", "text"),
    },
    "tree_util": {
        **names_from("olympus_ir.adapters.flat_trees", "FlatTree"),
        "_registry": "olympus.compat.registries:pytree_nodes",
        **names_from("olympus_ir.trees.pytree_paths", "generate_key_paths"),
        **names_from("olympus.compat.counterparts.trees", "treedef_is_strict_leaf"),
        **names_from("typing", "Leaf=Any"),
        **names_from(
            "olympus_ir.trees.pytree_prefix",
            "equality_errors_pytreedef=equality_errors_of_structures",
        ),
    },
    "util": _UTIL,
}
