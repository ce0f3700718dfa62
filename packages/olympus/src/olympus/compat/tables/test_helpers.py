# SPDX-License-Identifier: Apache-2.0
"""Names of JAX's private modules of helpers of tests."""

from __future__ import annotations

from olympus._lazy import names_from

_COMPARISONS = "olympus.compat.comparisons"
_SUPPORT = "olympus.compat.test_support"
_CASES = f"{_SUPPORT}.cases"
_CASE_FLAGS = f"{_SUPPORT}.case_flags"
_CONTEXTS = f"{_SUPPORT}.contexts"
_COUNTERS = f"{_SUPPORT}.counters"
_DEVICES = f"{_SUPPORT}.devices"
_DIFFERENCES = f"{_SUPPORT}.differences"
_DTYPE_LISTS = f"{_SUPPORT}.dtype_lists"
_LOADERS = f"{_SUPPORT}.loaders"
_LOWERINGS = f"{_SUPPORT}.lowerings"
_MESHES = f"{_SUPPORT}.meshes"
_OPERATIONS = f"{_SUPPORT}.operations"
_PROGRAM_CHECKS = f"{_SUPPORT}.program_checks"
_SAMPLERS = f"{_SUPPORT}.samplers"
_SHAPES = f"{_SUPPORT}.scalar_shapes"
_SPARSE_CASES = f"{_SUPPORT}.sparse_cases"
_TEST_CASE = f"{_SUPPORT}.array_test_case"
_WARNINGS = f"{_SUPPORT}.warning_checks"

_PUBLIC = {
    **names_from(_COMPARISONS, "_assert_numpy_allclose=assert_close", "_dtype=dtype_of"),
    **names_from(_COMPARISONS, "_check_dtypes_match=check_dtypes_match", "check_close"),
    **names_from(_COMPARISONS, "default_gradient_tolerance", "default_tolerance", "rand_like"),
    **names_from(_COMPARISONS, "tolerance"),
    **names_from(_DIFFERENCES, "EPS=STEP", "inner_prod", "is_python_scalar", "numerical_jvp"),
    **names_from(_DIFFERENCES, "scalar_mul"),
}

_LOADER = names_from(_LOADERS, "OlympusTestLoader=JaxTestLoader", "thread_unsafe_test")
_LOADER |= names_from(_LOADERS, "thread_unsafe_test_class")
_LOADER |= names_from(_CASE_FLAGS, "TEST_NUM_THREADS")

_RANDOM = (
    *("rand_bool", "rand_default", "rand_fullrange", "rand_indices_unique_along_axis", "rand_int"),
    *("rand_nonzero", "rand_not_small", "rand_positive", "rand_small", "rand_small_positive"),
    *("rand_some_equal", "rand_some_inf", "rand_some_inf_and_nan", "rand_some_nan"),
    *("rand_some_zero", "rand_uniform", "rand_unique_int"),
)

_DEVICE_NAMES = (
    *("CudaArchSpecificTest", "device_kind_match", "device_supports_buffer_donation"),
    *("device_under_test", "get_cuda_nonportable_max_cluster_size", "get_tpu_version"),
    *("is_cloud_tpu", "is_cloud_tpu_at_least", "is_cuda_compute_capability_at_least"),
    *("is_cuda_compute_capability_equal", "is_cuda_version_at_least", "is_device_cuda"),
    *("is_device_oneapi", "is_device_rocm", "is_device_tpu", "is_device_tpu_at_least"),
    *("is_gil_disabled", "is_running_under_pytest"),
    *("is_test_rbe", "olympuslib_version=jaxlib_version"),
    *("numpy_version", "parse_version", "pattern_search", "pjrt_c_api_version_at_least"),
    *("pytest_mark_if_available", "request_cpu_devices", "run_on_devices", "skip_on_devices"),
    *("skip_on_flag", "skip_under_pytest", "stablehlo_version_at_least", "test_device_matches"),
)

_COUNTER_NAMES = (
    *("assert_num_jit_and_pmap_compilations", "count_aot_jit_cpp_cache_miss"),
    *("count_compilation_after_persistent_cache_miss", "count_device_put"),
    *("count_jit_and_pmap_lowerings", "count_jit_compilation_cache_miss"),
    *("count_jit_tracing_cache_miss", "count_pjit_cpp_cache_miss", "count_primitive_compiles"),
)

# Names that the modules import for themselves.
_IMPORTED = {
    **names_from("functools", "cached_property", "partial"),
    **names_from("contextlib", "ExitStack", "contextmanager"),
    **names_from("olympus_numpy.core.promotion", "promote_dtypes", "promote_dtypes_inexact"),
    **names_from("olympus.tree_util", "tree_all", "tree_flatten", "tree_map", "tree_unflatten"),
    **names_from("olympus.compat.counterparts.lists", "unzip2"),
}

_TEST_UTIL = {
    **_IMPORTED,
    **_PUBLIC,
    **_LOADER,
    **names_from(_COMPARISONS, "check_eq", "join_tolerance"),
    **names_from(_CASE_FLAGS, "NUM_GENERATED_CASES", "SKIP_SLOW_TESTS", "_TEST_DUT=TEST_DUT"),
    **names_from(_CASE_FLAGS, "TEST_WITH_PERSISTENT_COMPILATION_CACHE"),
    **names_from(_CASES, "cases_from_gens", "named_cases_from_sampler", "parameterized_filterable"),
    **names_from(_CASES, "kSanitizeNameRE=_UNACCEPTED"),
    **names_from(_CASES, "sample_product", "sample_product_testcases", "sanitize_test_name"),
    **names_from(_CONTEXTS, "assert_global_configs_unchanged", "capture_stderr", "capture_stdout"),
    **names_from(_CONTEXTS, "global_config_context", "register_event_duration_listener"),
    **names_from(_CONTEXTS, "set_env", "thread_local_config_context"),
    **names_from(_COUNTERS, *_COUNTER_NAMES),
    **names_from(_DEVICES, *_DEVICE_NAMES),
    **names_from("olympus_xla._jaxlib", "is_asan", "is_msan", "is_optimized_build"),
    **names_from("olympus_xla._jaxlib", "is_sanitized", "is_tsan"),
    **names_from(_DTYPE_LISTS, "dtypes", "num_float_bits", "promote_like_jnp"),
    **names_from(_DTYPE_LISTS, "strict_promotion_if_dtypes_match", "supported_dtypes"),
    **names_from(_DTYPE_LISTS, "to_default_dtype"),
    **names_from(_DTYPE_LISTS, "with_olympus_dtype_defaults=with_jax_dtype_defaults"),
    **names_from(_LOWERINGS, "collect_lowered_olympusprs", "count_internal_device_puts"),
    **names_from(_LOWERINGS, "count_subolympuspr_to_hlo_conversion"),
    **names_from("olympus.compat.counterparts.runtime.platforms", "running_in_cloud_tpu_vm"),
    **names_from(_MESHES, "MeshSpec", "create_mesh", "with_explicit_mesh", "with_mesh"),
    **names_from(_MESHES, "with_mesh_from_kwargs"),
    **names_from(_PROGRAM_CHECKS, "assert_dot_precision", "assert_dot_preferred_element_type"),
    **names_from(_PROGRAM_CHECKS, "check_raises", "check_raises_regexp", "fwd_bwd_olympusprs"),
    **names_from(_PROGRAM_CHECKS, "iter_eqns"),
    **names_from(f"{_SUPPORT}.complex_grids", "complex_plane_sample"),
    **names_from(_SAMPLERS, *_RANDOM),
    **names_from(_SHAPES, "NUMPY_SCALAR_SHAPE", "PYTHON_SCALAR_SHAPE", "ScalarShape"),
    **names_from(_SHAPES, "_cast_to_shape=as_shape", "_dims_of_shape=dimensions", "dtype_str"),
    **names_from(_SHAPES, "format_shape_dtype_string", "is_valid_shape"),
    **names_from(_TEST_CASE, "BufferDonationTestCase", "JIT_IMPLEMENTATION"),
    **names_from(_TEST_CASE, "OlympusTestCase=JaxTestCase", "is_sequence=_is_sequence"),
    **names_from(_TEST_CASE, "with_config", "with_global_config"),
    **names_from(_WARNINGS, "ignore_warning"),
}

#: The names of `jax.experimental.sparse.test_util`.
SPARSE_HELPERS = {
    **names_from(_SPARSE_CASES, "BatchedDotGeneralProperties", "MATMUL_TOL", "SparseLayout"),
    **names_from(_SPARSE_CASES, "SparseTestCase", "is_sparse", "iter_bcsr_layouts"),
    **names_from(_SPARSE_CASES, "iter_sparse_layouts", "iter_subsets", "rand_bcoo", "rand_bcsr"),
    **names_from(_SPARSE_CASES, "rand_sparse"),
}

TEST_HELPERS: dict[str, dict[str, str]] = {
    "internal_test_util.lax_test_util": {
        **names_from(_OPERATIONS, "op_record=OpRecord"),
        **names_from("olympus_ir._jaxlib", "map=safe_map", "safe_map", "safe_zip", "zip=safe_zip"),
        **names_from("builtins", "unsafe_map=map", "unsafe_zip=zip"),
    },
    "public_test_util": _PUBLIC,
    "test_loader": _LOADER,
    "test_util": _TEST_UTIL,
}
