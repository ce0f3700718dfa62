# SPDX-License-Identifier: Apache-2.0
"""Names of JAX's private modules of the runtime: devices, shardings, compilation, jaxlib."""

from __future__ import annotations

from olympus._lazy import names_from

_PRIMITIVES = "olympus.extend.core.primitives"
_BACKENDS = "olympus_xla.platforms.backends"
_TORI = "olympus.compat.counterparts.runtime.tori"
_OPERATIONS = "olympus.compat.counterparts.runtime.hlo_operations"
_DIALECTS = "jaxlib.mlir.dialects"
_DIGITS = "olympus.compat.counterparts.digits"
_CACHE_KEYS = "olympus.compat.caches.cache_keys"
_CACHE_STORES = "olympus.compat.caches.cache_stores"
_PLATFORMS = "olympus.compat.counterparts.runtime.platforms"
_PROMOTION = "olympus_ir.types.promotion"
_RULE_CONTEXT = "olympus_xla.compiling.lowering.adapters.rule_context"
_KEYS = "olympus.compat.counterparts.runtime.keys"
_CLUSTERS = "olympus.compat.counterparts.runtime.cluster_environments"
_MONITORING = "olympus_ir.diagnostics.monitoring"
_LISTENERS = "olympus.compat.counterparts.runtime.listeners"
_SHARDING_FUNCTIONS = "olympus.compat.counterparts.runtime.sharding_functions"
_IMPLEMENTATIONS = "olympus_random.generators.implementations"
_RESULT_HANDLERS = "olympus.compat.counterparts.runtime.result_handlers"
_TOKENS = "olympus.compat.counterparts.runtime.tokens"
_UNSPECIFIED = names_from("olympus_ir.types.placement", "UNSPECIFIED", "UnspecifiedValue")

_DIALECT_NAMES = ("arith", "cf", "chlo", "func", "gpu", "llvm", "math", "memref", "nvvm", "scf")

_SHARDINGS = {
    **names_from("olympus.sharding", "make_single_device_sharding"),
    **names_from("olympus", "make_mesh"),
    **names_from(_RULE_CONTEXT, "SPMDAxisContext", "ShardingContext"),
    **names_from("olympus_xla._jaxlib", "GSPMDSharding"),
    **names_from(_SHARDING_FUNCTIONS, "canonicalize_sharding", "device_replica_id_map"),
    **names_from(_SHARDING_FUNCTIONS, "hashed_index", "num_addressable_indices"),
    **names_from("olympus.sharding", "cached_named_sharding=NamedSharding"),
    **_UNSPECIFIED,
}

_PRNG = {
    **names_from("olympus.extend.random", "seed_with_impl", "threefry_2x32", "threefry_prng_impl"),
    **names_from("olympus.extend.random", "random_seed"),
    **names_from(_IMPLEMENTATIONS, "KeyTy=KeyType", "PRNGImpl", "prngs=_implementations"),
    **names_from(_IMPLEMENTATIONS, "register_prng"),
    **names_from("olympus_ir.types.extended_arrays", "PRNGKeyArray=ExtendedArray"),
    **names_from(_KEYS, "UINT_DTYPES=UNSIGNED_DTYPES", "iota_2x32_shape", "random_bits"),
    **names_from(_KEYS, "random_fold_in", "random_split", "random_unwrap", "random_wrap"),
}

_RANDOM = {
    **names_from("olympus_ir.types.annotations", "Shape"),
    **names_from("olympus.typing", "IntegerArray=ArrayLike", "RealArray=ArrayLike"),
    **names_from("olympus_ir.types.dtypes", "DTypeLikeFloat=DTypeLike", "DTypeLikeInt=DTypeLike"),
    **names_from(_IMPLEMENTATIONS, "default_prng_impl=default_implementation"),
    **names_from(_KEYS, "UINT_DTYPES=UNSIGNED_DTYPES", "_check_prng_key=check_prng_key"),
    **names_from(_KEYS, "resolve_prng_impl"),
    **names_from("typing", "PRNGSpec=Any"),
}

RUNTIME: dict[str, dict[str, str]] = {
    "abstract_arrays": {
        **names_from("olympus.core", "ShapedArray"),
        **names_from("olympus_ir.types.dtypes", "numpy_scalar_types"),
    },
    "array": {
        **names_from("olympus_xla._jaxlib", "ArrayImpl"),
        **names_from("olympus", "make_array_from_callback"),
        **names_from("olympus", "make_array_from_process_local_data"),
        **names_from("olympus", "make_array_from_single_device_arrays", "Shard"),
    },
    "basearray": {**names_from("olympus", "Array"), **names_from("typing", "StaticScalar=Any")},
    "cache_key": names_from(
        _CACHE_KEYS,
        *("IgnoreCallbacks", "_canonicalize_ir", "_hash_accelerator_config", "_hash_computation"),
        *("_hash_devices", "_hash_platform", "_hash_serialized_compile_options", "_hash_string"),
        *("_hash_xla_flags", "add_flag_prefixes", "clear_flag_prefixes", "custom_hook", "get"),
        *("env_override_flags_to_exclude_from_cache_key", "get_flag_prefixes"),
        "xla_flags_to_exclude_from_cache_key",
    ),
    "compilation_cache": names_from(
        _CACHE_STORES,
        *("_get_cache", "combine_executable_and_time", "compress_executable"),
        *("decompress_executable", "extract_executable_and_time", "get_cache_key"),
        *("get_executable_and_time", "get_file_cache", "is_cache_used"),
        *("is_persistent_cache_enabled", "put_executable_and_time"),
    ),
    "compilation_cache_interface": names_from(_CACHE_STORES, "CacheInterface"),
    "compiler": {
        **names_from("olympus.compat.caches.compilers", "backend_compile_and_load"),
        **names_from("olympus.compat.caches.compilers", "get_compile_options"),
        **names_from("olympus_xla._jaxlib", "CompileOptions"),
    },
    "clusters": names_from(
        _CLUSTERS,
        *("ClusterEnv", "GceTpuCluster", "GkeTpuCluster", "Mpi4pyCluster", "OmpiCluster"),
        "SlurmCluster",
    ),
    "clusters.cloud_tpu_cluster": names_from(_CLUSTERS, "GceTpuCluster", "GkeTpuCluster"),
    "clusters.cluster": names_from(_CLUSTERS, "ClusterEnv"),
    "clusters.mpi4py_cluster": names_from(_CLUSTERS, "Mpi4pyCluster"),
    "clusters.ompi_cluster": names_from(_CLUSTERS, "OmpiCluster"),
    "clusters.slurm_cluster": names_from(_CLUSTERS, "SlurmCluster"),
    "cloud_tpu_init": {"running_in_cloud_tpu_vm": f"{_PLATFORMS}:running_in_cloud_tpu_vm"},
    "callback": {
        **names_from("olympus_ir.lax.callbacks", "_FlatCallback"),
        **names_from("olympus_ir.types.effects", "IOEffect", "OrderedIOEffect"),
        **names_from(
            "olympus_xla.compiling.lowering.adapters.library_operations", "emit_python_callback"
        ),
    },
    "config": {
        **names_from("olympus_ir.settings.config_states", "LegacyPrngKeyState"),
        **names_from("olympus_ir.settings.config_states", "NumpyDtypePromotion"),
        **names_from("olympus_ir.settings.user_contexts", "UserContext", "make_user_context"),
        "no_default": "olympus_ir.settings.configuration:NO_DEFAULT",
        **names_from("olympus.compat.registries", "_read=read_flag", "config_states"),
        **names_from("olympus.compat.registries", "parse_flags_with_absl"),
        **names_from("olympus.compat.registries", "update=update_flag"),
        "olympus_config": "olympus_ir.settings.config:config",
        **names_from(
            "olympus.compat.counterparts.flag_declarations",
            *("bool_env", "bool_flag", "bool_state", "enum_flag", "enum_state", "float_flag"),
            *("float_state", "int_env", "int_flag", "int_state", "optional_enum_state"),
            *("string_flag", "string_state"),
        ),
    },
    "debugging": {
        **names_from("olympus_ir.types.effects", "debug_effect", "ordered_debug_effect"),
        **names_from("olympus_sharding.annotations.inspection", "inspect_sharding_p"),
    },
    "deprecations": names_from(
        "olympus.compat.counterparts.deprecations",
        *("DeprecationState", "_registered_deprecations=registered", "accelerate"),
        *("accelerate_getattr_deprecation", "deprecation_getattr", "is_accelerated"),
        *("is_accelerated_attribute", "register", "unregister", "warn"),
    ),
    "dispatch": {
        **names_from("olympus.compat.counterparts.programs", "olympuspr_has_primitive"),
        **names_from("olympus_xla.calls.effect_tokens", "wait_for_tokens=barrier"),
        **names_from(
            "olympus.compat.counterparts.runtime.tokens", "RuntimeTokenSet", "runtime_tokens"
        ),
        **names_from("olympus.interpreters.xla", "apply_primitive"),
        **names_from("olympus_xla._jaxlib", "ArrayCopySemantics"),
        **names_from(
            "olympus_ir.diagnostics.phases",
            *("BACKEND_COMPILE_EVENT=_COMPILING", "OLYMPUSPR_TRACE_EVENT=_TRACING"),
            "OLYMPUSPR_TO_MLIR_MODULE_EVENT=_LOWERING",
        ),
    },
    "custom_partitioning_sharding_rule": {
        "str_to_sdy_sharding_rule": "olympus_xla.foreign.sharding_rules:parse_sharding_rule",
    },
    "distributed": {"global_state": "olympus.compat.registries:distributed_state"},
    "dlpack": names_from("olympus_xla.arrays.dlpack", "to_dlpack"),
    "dtypes": {
        **names_from("olympus_ir.adapters.paired_dtypes", "PrimalTangentDType"),
        **names_from("olympus_ir.adapters.paired_dtypes", "primal_tangent_dtype"),
        **names_from("olympus_ir.adapters.paired_dtypes", "primal_tangent_dtype_scalar"),
        **names_from(_PROMOTION, "TypePromotionError", "is_weakly_typed", "lattice_result_type"),
        **names_from(_PROMOTION, "promote_types", "result_type"),
        **names_from("olympus_ir.types.dtypes", "DType", "DTypeLike", "extended", "finfo"),
        **names_from("olympus_ir.types.extended_dtypes", "ExtendedDType"),
        **names_from("olympus.numpy", "bool_", "can_cast", "complex_", "float8_e4m3fn"),
        **names_from("olympus.numpy", "float8_e5m2", "float_", "int2", "int4", "int_"),
        **names_from("olympus.numpy", "uint", "uint2", "uint4"),
        **names_from("olympus_ir.types.dtypes", "jax_dtype=dtype", "short_dtype_name=short_name"),
    },
    "environment_info": names_from(
        "olympus_xla.platforms.environment_info", "print_environment_info"
    ),
    "error_check": names_from(
        "olympus.compat.counterparts.runtime.error_state",
        *("OlympusValueError=JaxValueError", "error_checking_context", "raise_if_error"),
        *("set_error_if", "unwrap_from_import", "wrap_for_export"),
    ),
    "errors": names_from("olympus_ir.diagnostics.errors", "JAXIndexError", "JAXTypeError"),
    "export.shape_poly": {
        **names_from("olympus_ir.symbolic.expressions", "_DimExpr=SymbolicDim"),
        **names_from("olympus_ir.symbolic.solving", "UnexpectedDimVar"),
        **names_from("olympus_ir.lax.shaping.dimensions", "dim_as_value_p"),
        **names_from("olympus.errors", "InconclusiveDimensionOperation"),
    },
    "export._export": names_from("olympus_export.functions.exported", "call_exported_p"),
    "ffi": names_from("olympus_xla.foreign.ffi_primitive", "FfiEffect"),
    "frozen_dict": names_from("olympus_xla.foreign.ffi_attributes", "FrozenDict"),
    "hardware_utils": names_from(_PLATFORMS, "has_visible_nvidia_gpu"),
    "hashable_array": names_from("olympus_xla.foreign.ffi_attributes", "HashableArray"),
    "interpreters.mlir": {
        **names_from("olympus.extend.mlir", "lower_with_sharding_in_types"),
        **names_from("olympus.extend.mlir", "refine_polymorphic_shapes"),
        **names_from("olympus_xla.compiling.lowering.mlir", "OlympusIrContext"),
        **names_from("olympus.compat.counterparts.runtime.custom_calls", "custom_call"),
        **names_from(_OPERATIONS, "broadcast_in_dim", "compare_hlo", "convert_hlo"),
        **names_from(_OPERATIONS, "full_like_aval", "iota", "multi_broadcast_in_dim", "reshape"),
        **names_from(_OPERATIONS, "slice_op"),
        **names_from(_DIALECTS, "func_dialect=func", "hlo=stablehlo"),
        "core": "olympus.extend:core",
        "xb": "olympus_xla.platforms:backends",
    },
    "interpreters.pxla": {
        **names_from("olympus.extend.backend", "get_default_device"),
        **names_from("olympus.sharding", "Mesh"),
        **names_from("olympus_xla._jaxlib", "batched_device_put"),
        **names_from(_RESULT_HANDLERS, "ResultsHandler", "global_aval_to_result_handler"),
        **names_from(_RESULT_HANDLERS, "global_avals_to_results_handler", "global_result_handlers"),
    },
    "mesh_utils": {
        **names_from("olympus_sharding.meshes.arrangements", "_get_physical_tpu_mesh=torus_of"),
        **names_from(
            _TORI,
            "_create_device_mesh_for_nd_torus=create_device_mesh_for_nd_torus",
            "_create_device_mesh_for_nd_torus_splitting_axes=create_device_mesh_splitting_axes",
        ),
    },
    "lib": {
        "jaxlib_extension_version": "jaxlib.xla_client:_version",
        **names_from(_PLATFORMS, "cuda_versions"),
        **names_from("olympus_ir._jaxlib", "version=jaxlib_version"),
        **names_from("jaxlib.version", "version_str=__version__"),
        **names_from("jaxlib._jax", "jax_jit", "pytree"),
        **names_from("jaxlib", "gpu_triton", "weakref_lru_cache"),
    },
    "lib._jax": names_from("olympus_xla._jaxlib", "PjitFunction"),
    "lib.mlir": names_from("jaxlib.mlir", "ir", "passmanager"),
    "lib.mlir.dialects": {
        **names_from(_DIALECTS, *_DIALECT_NAMES, "hlo=stablehlo", "sdy", "vector"),
    },
    "lib.xla_client": names_from(
        "olympus_xla._jaxlib", "Client", "Device", "XlaRuntimeError=JaxRuntimeError"
    ),
    "logging_config": names_from(
        "olympus_ir.settings.log_settings",
        *("update_debug_log_modules=_show_modules", "update_logging_level_global=_set_level"),
    ),
    "lru_cache": names_from(_CACHE_STORES, "LRUCache", "_ATIME_SUFFIX", "_CACHE_SUFFIX"),
    "mesh": {
        **names_from("olympus.interpreters._thread_resources", "ResourceEnv", "thread_resources"),
        **names_from("olympus_sharding.meshes.context", "get_concrete_mesh=get_mesh"),
        **names_from("olympus_ir.types.placement", "BaseMesh", "empty_abstract_mesh"),
        **names_from("olympus_sharding.meshes.mesh", "empty_concrete_mesh=empty_mesh"),
        **names_from("olympus.interpreters.mlir", "MeshAxisName"),
    },
    "monitoring": {
        **names_from(_LISTENERS, "get_event_duration_listeners", "get_event_listeners"),
        **names_from(_LISTENERS, "get_event_time_span_listeners", "get_scalar_listeners"),
        **names_from(_MONITORING, "_event_duration_secs_listeners=_durations"),
        **names_from(_MONITORING, "_event_listeners=_events"),
        **names_from(_MONITORING, "_event_time_span_listeners=_time_spans"),
        **names_from(_MONITORING, "_scalar_listeners=_scalars"),
        **names_from(_MONITORING, "EventDurationListenerWithMetadata=Listener"),
        **names_from(_MONITORING, "EventListenerWithMetadata=Listener"),
        **names_from(_MONITORING, "EventTimeSpanListenerWithMetadata=Listener"),
        **names_from(_MONITORING, "ScalarListenerWithMetadata=Listener"),
    },
    "named_sharding": {
        **names_from("olympus_sharding.shardings.behavior", "DuplicateSpecError"),
        **_UNSPECIFIED,
    },
    "op_shardings": names_from(
        "olympus.compat.counterparts.runtime.hlo_shardings",
        *("are_hlo_shardings_equal", "get_num_ways_dim_sharded", "is_hlo_sharding_replicated"),
        *("op_sharding_to_indices", "op_sharding_to_numpy_indices"),
    ),
    "partition_spec": names_from("olympus.sharding", "P=PartitionSpec"),
    "path": names_from("pathlib", "Path"),
    "pallas.core": {
        **names_from("olympus_pallas.grids.grid_mappings", "GridMapping", "dynamic_grid_dim"),
        **names_from("olympus_pallas.grids.block_specs", "NoBlockSpec"),
        **names_from("olympus_pallas.memory.spaces", "MemoryRef"),
        **names_from("olympus_pallas.core_maps.kernels", "core_map_p"),
    },
    "pallas.fuser": {
        "block_spec": "olympus_pallas.fuser:block_specs",
        "custom_evaluate": "olympus_pallas.fuser:fusions",
    },
    "pallas.fuser.block_spec": names_from("olympus_pallas.fuser.fusions", "get_fusion_values"),
    "pallas.primitives": names_from("olympus_pallas.operations.scoped", "get_global"),
    "pjit": {
        **names_from(_PRIMITIVES, "jit_p"),
        **names_from("olympus.sharding", "auto_axes", "explicit_axes", "reshard"),
        **names_from("olympus.experimental.pjit", "pjit"),
        **names_from("olympus.lax", "with_sharding_constraint"),
        **names_from("olympus.experimental.layout", "with_layout_constraint"),
        **names_from("olympus_sharding.annotations.constraints", "reshard_p"),
        **names_from("olympus.api_util", "debug_info"),
        "mesh_lib": "jax._src:mesh",
        **_UNSPECIFIED,
    },
    "prng": _PRNG,
    "random": _RANDOM,
    "random.core": _RANDOM,
    "random.prng": _PRNG,
    "random.stateful_rng": names_from("olympus_random.stateful", "StatefulPRNG", "stateful_rng"),
    "shard_map": {
        **names_from("olympus_sharding.manual.primitive", "shard_map_p"),
        **names_from("olympus.compat.counterparts.functions", "HashablePartial"),
    },
    "sharding": {
        **names_from("olympus_sharding.shardings.behavior", "IndivisibleError"),
        **names_from(_SHARDING_FUNCTIONS, "common_devices_indices_map"),
        **names_from(_SHARDING_FUNCTIONS, "common_is_equivalent_to"),
    },
    "sharding_impls": _SHARDINGS,
    "sourcemap": {
        **names_from("olympus_xla.profiling.source_maps.maps", "Segment"),
        **names_from(_DIGITS, "VLQ_ALPHABET", "decode_segment", "decode_vlq"),
        **names_from(_DIGITS, "deserialize_mappings", "encode_segment", "encode_vlq"),
        **names_from(_DIGITS, "serialize_mappings"),
    },
    "source_info_util": {
        **names_from("olympus_ir.diagnostics.source_info", "Frame"),
        **names_from("olympus.compat.frames", "user_frame", "user_frames"),
        **names_from("olympus_ir.diagnostics.source_info", "is_user_filename=is_user_file"),
    },
    "stages": {
        **names_from("olympus_xla.calls.stages", "Stage"),
        **names_from("olympus_xla.calls.staged_programs", "Lowering"),
        **names_from("olympus_xla.calls.executables", "Executable"),
    },
    "traceback_util": names_from(
        "olympus_ir.diagnostics.source_info", "_exclude_paths=_library_folders"
    ),
    "typing": {
        **names_from("olympus", "Array"),
        **names_from("olympus_ir.types.dtypes", "DType"),
        **names_from("olympus_ir.types.extended_dtypes", "ExtendedDType"),
        **names_from("olympus_xla.arrays.dlpack", "DLDeviceType"),
        **names_from("typing", "DimSize=Any", "StaticScalar=Any"),
    },
    "xla_bridge": {
        **names_from("olympus", "default_backend", "device_count", "devices", "host_count"),
        **names_from("olympus", "host_id", "host_ids", "local_device_count", "local_devices"),
        **names_from("olympus", "process_count", "process_index", "process_indices"),
        **names_from(_BACKENDS, "backends_are_initialized=are_backends_initialized"),
        **names_from(_BACKENDS, "known_platforms", "num_cpu_devices"),
        **names_from(_PLATFORMS, "expand_platform_alias", "get_device_backend"),
        **names_from(_PLATFORMS, "is_known_platform"),
        **names_from(_BACKENDS, "_backend_lock=_lock", "_clear_backends=clear_backends"),
        **names_from(_BACKENDS, "make_cpu_client=_make_cpu_client"),
        "_backends": "olympus.compat.registries:made_backends",
    },
    "xla_transform": names_from(
        "olympus_xla.compiling.compiler_passes",
        *("PipelineStage", "clear_hlo_module_transformation"),
        "register_hlo_module_transformation",
    ),
}
