# SPDX-License-Identifier: Apache-2.0
"""Names of JAX's private modules that OLYMPUS has under the same or similar names elsewhere."""

from __future__ import annotations

from olympus._lazy import names_from

_DIMENSIONS = "olympus.compat.counterparts.dimensions"
_POLICIES = "olympus_autodiff.rematerialization.policies"
_GRADIENT_REFERENCES = "olympus_autodiff.reverse.gradient_references"
_REFERENCES = "olympus_ir.references.primitives"
_FACTORS = "olympus_numpy.linalg.factoring"
_PASSES = "olympus_xla.compiling.compiler_passes"
_STATEFUL = "olympus_random.stateful"

SAME_NAMES: dict[str, dict[str, str]] = {
    "ad_checkpoint": names_from(
        _POLICIES,
        *("DotsSaveable", "SaveAnyNamesButThese", "SaveOnlyTheseNames", "dots_saveable"),
        *("dots_with_no_batch_dims_saveable", "offload_dot_with_no_batch_dims"),
        *("save_any_names_but_these", "save_anything_except_these_names"),
    ),
    "api": {
        **names_from(_GRADIENT_REFERENCES, "DidntWant", "DontWant", "GradRef", "GradValue"),
        **names_from("olympus_autodiff.reverse.vjp", "VJP"),
    },
    "callback": {
        **names_from("olympus_ir.types.effects", "IOEffect", "OrderedIOEffect"),
        **names_from(
            "olympus_xla.compiling.lowering.adapters.library_operations", "emit_python_callback"
        ),
    },
    "config": {
        **names_from("olympus_ir.settings.config_states", "LegacyPrngKeyState"),
        **names_from("olympus_ir.settings.config_states", "NumpyDtypePromotion"),
        **names_from("olympus_ir.settings.user_contexts", "UserContext", "make_user_context"),
    },
    "core": {
        **names_from("olympus_ir.adapters.trace_state", "nonempty_axis_env"),
        **names_from(
            "olympus_ir.adapters.trace_state",
            "unsafe_am_i_under_a_jit=am_i_under_a_trace",
            "unsafe_am_i_under_a_vmap=am_i_under_a_vmap",
        ),
        **names_from("olympus_ir.diagnostics.errors", "ShardingTypeError"),
        **names_from("olympus_ir.lax.collectives.named_axes", "pvary_p"),
        **names_from("olympus_ir.lax.elementwise.conversion", "stage_p"),
        **names_from("olympus_ir.symbolic.expressions", "is_symbolic_dim"),
        **names_from("olympus_ir.types.layouts", "ManualAxisType"),
        **names_from(_REFERENCES, "empty_ref_p", "free_ref", "free_ref_p"),
        **names_from(_DIMENSIONS, "definitely_equal_one_of_dim", "dilate_dim"),
        **names_from(_DIMENSIONS, "divide_shape_sizes", "stride_dim"),
    },
    "debugger.core": {
        **names_from("olympus_ir.debugger.breakpoints", "register_debugger"),
        **names_from("olympus_ir.debugger.frames", "DebuggerFrame"),
    },
    "dtypes": names_from(
        "olympus_ir.adapters.paired_dtypes", "PrimalTangentDType", "primal_tangent_dtype_scalar"
    ),
    "indexing": names_from("olympus_ir.references.indexing", "Slice", "ds", "dslice"),
    "interpreters.partial_eval": names_from(_POLICIES, "everything_saveable"),
    "interpreters.pxla": {
        **names_from("olympus.extend.backend", "get_default_device"),
        **names_from("olympus_xla._jaxlib", "batched_device_put"),
    },
    "lib": names_from("jaxlib", "gpu_triton"),
    "lax.lax": names_from("olympus_ir.lax.tokens", "no_dce_effect"),
    "lax.linalg": names_from("olympus_ir.lax.linalg.matrices", "symmetrize"),
    "lax.other": names_from("olympus.numpy", "logaddexp", "logaddexp2"),
    "lax.scaled_dot": names_from("olympus_ir.lax.contractions.scaled_products", "scaled_dot"),
    "numpy.linalg": {
        **names_from(_FACTORS, "EigResult", "EighResult", "QRResult", "SVDResult"),
        **names_from("olympus_numpy.linalg.determinants", "SlogdetResult"),
    },
    "numpy.scalar_types": names_from("olympus_numpy.arrays.scalar_types", "_ScalarMeta=ScalarType"),
    "pjit": {
        **names_from("olympus.api_util", "debug_info"),
        "mesh_lib": "jax._src:mesh",
    },
    "random.stateful_rng": names_from(_STATEFUL, "StatefulPRNG", "stateful_rng"),
    "sourcemap": names_from(
        "olympus.compat.counterparts.digits",
        *("VLQ_ALPHABET", "decode_segment", "decode_vlq", "deserialize_mappings"),
        *("encode_segment", "encode_vlq", "serialize_mappings"),
    ),
    "scipy.stats._core": names_from("olympus_scipy.stats.statistics", "ModeResult"),
    "third_party.scipy.interpolate": names_from(
        "olympus_scipy.interpolate", "RegularGridInterpolator"
    ),
    "third_party.scipy.special": names_from("olympus_scipy.special.error_functions", "fresnel"),
    "third_party.scipy.betaln": names_from("olympus_scipy.special.gamma_functions", "betaln"),
    "xla_bridge": names_from("olympus_xla.platforms.backends", "_backend_lock=_lock"),
    "xla_transform": names_from(
        _PASSES,
        *("PipelineStage", "clear_hlo_module_transformation"),
        "register_hlo_module_transformation",
    ),
}
