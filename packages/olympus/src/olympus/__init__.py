# SPDX-License-Identifier: Apache-2.0
"""OLYMPUS: array programming with composable transformations.

Arrays come from ``import olympus.numpy as jnp``. This module has ``jit``, ``grad``, ``vmap`` and
``random``.
"""

from __future__ import annotations

# The evaluator is imported first, because it compiles functions of the packages imported below.
import olympus_xla.evaluator as _evaluator  # noqa: F401
from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.loading import timed_import as _timed_import
from olympus_ir.settings.config import config as config

from . import _lazy
from .version import __version__ as __version__
from .version import __version_info__ as __version_info__

_SUBMODULES = (
    "ad_checkpoint",
    "api_util",
    "collect_profile",
    "command_line",
    "compat",
    "core",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "distributed",
    "dlpack",
    "dtypes",
    "errors",
    "example_libraries",
    "experimental",
    "export",
    "extend",
    "ffi",
    "flatten_util",
    "image",
    "interpreters",
    "lax",
    "lib",
    "monitoring",
    "nn",
    "numpy",
    "ops",
    "profiler",
    "random",
    "ref",
    "scipy",
    "sharding",
    "stages",
    "test_util",
    "testing",
    "tools",
    "tree",
    "tree_util",
    "typing",
    "version",
)

_SOURCES = {
    **_lazy.names_from("olympus._namespaces", "ad"),
    **_lazy.names_from(
        "olympus_autodiff",
        "checkpoint",
        "checkpoint_policies",
        "closure_convert",
        "custom_gradient",
        "custom_jvp",
        "custom_vjp",
        "fwd_and_bwd",
        "grad",
        "hessian",
        "jacfwd",
        "jacobian",
        "jacrev",
        "jvp",
        "linear_transpose",
        "linearize",
        "remat",
        "value_and_grad",
        "vjp",
    ),
    **_lazy.names_from("olympus_autodiff.implicit.solutions", "argmin", "fixed_point", "root"),
    **_lazy.names_from(
        "olympus_autodiff.implicit.products",
        "fisher_product",
        "gauss_newton_product",
        "hessian_product",
        "taylor",
    ),
    **_lazy.names_from("olympus_batching", "vmap"),
    # olympus_numpy adds the methods and properties to this class.
    **_lazy.names_from("olympus_numpy", "Array"),
    **_lazy.names_from(
        "olympus_ir.settings.config",
        "allow_f16_reductions",
        "array_garbage_collection_guard",
        "auto_pcast",
        "check_tracer_leaks",
        "checking_leaks",
        "debug_infs",
        "debug_key_reuse",
        "debug_nans",
        "default_device",
        "default_matmul_precision",
        "default_prng_impl",
        "disable_jit",
        "enable_checks",
        "enable_custom_prng",
        "enable_x64",
        "explain_cache_misses",
        "jax2tf_associative_scan_reductions",
        "legacy_prng_key",
        "log_compiles",
        "no_execution",
        "no_tracing",
        "numpy_dtype_promotion",
        "numpy_rank_promotion",
        "remove_size_one_mesh_axis_from_type",
        "softmax_custom_jvp",
        "strong_zeros",
        "thread_guard",
        "threefry_partitionable",
        "transfer_guard",
        "transfer_guard_device_to_device",
        "transfer_guard_device_to_host",
        "transfer_guard_host_to_device",
    ),
    **_lazy.names_from("olympus_insight", "explain", "profile", "show"),
    **_lazy.names_from("olympus._reports", "memory"),
    **_lazy.names_from("olympus_checkify.checked", "checked"),
    **_lazy.names_from("olympus_ir.lax.control_flow.shown_values", "progress"),
    **_lazy.names_from("olympus_ir.types.dtypes", "float0"),
    **_lazy.names_from("olympus_ir.references.indexing", "ds"),
    **_lazy.names_from("olympus_ir.settings.user_contexts", "make_user_context"),
    **_lazy.names_from("olympus_xla.platforms.environment_info", "print_environment_info"),
    **_lazy.names_from("olympus_ir.lax", "pure_callback"),
    **_lazy.names_from(
        "olympus_ir.references.primitives", "empty_ref", "free_ref", "freeze", "new_ref"
    ),
    **_lazy.names_from(
        "olympus_ir.programs.make",
        "ShapeDtypeStruct",
        "eval_shape",
        "make_jaxpr=make_olympuspr",
        "make_olympuspr",
        "named_call",
        "named_scope",
    ),
    **_lazy.names_from("olympus_ir.types.placement", "P=PartitionSpec"),
    **_lazy.names_from("olympus_ir.references.values", "Ref"),
    **_lazy.names_from("olympus_ir.programs.tracing", "ensure_compile_time_eval", "typeof"),
    **_lazy.names_from("olympus_sharding.annotations.constraints", "reshard"),
    **_lazy.names_from("olympus_sharding.manual.pmap", "pmap"),
    **_lazy.names_from("olympus_sharding.manual.shard_map", "shard_map", "smap"),
    **_lazy.names_from("olympus_sharding", "NamedSharding", "make_mesh", "set_mesh"),
    **_lazy.names_from("olympus_xla.arrays.shards", "Shard"),
    **_lazy.names_from("olympus_xla._jaxlib", "Device"),
    **_lazy.names_from(
        "olympus_xla.arrays.assembly",
        "make_array_from_callback",
        "make_array_from_process_local_data",
        "make_array_from_single_device_arrays",
    ),
    **_lazy.names_from(
        "olympus_xla.platforms.backends",
        "default_backend",
        "device_count",
        "devices",
        "host_count",
        "host_id",
        "host_ids",
        "live_arrays",
        "local_device_count",
        "local_devices",
        "process_count",
        "process_index",
        "process_indices",
    ),
    **_lazy.names_from("olympus_xla.calls.effect_tokens", "effects_barrier=barrier"),
    **_lazy.names_from("olympus_xla.custom_rules.custom_rule", "custom_rule"),
    **_lazy.names_from("olympus_xla.calls.jit", "clear_caches", "jit"),
    **_lazy.names_from("olympus_xla.compiling.time_report", "TimeReport", "time_report"),
    **_lazy.names_from(
        "olympus_xla.arrays.transfer",
        "block_until_ready",
        "copy_to_host_async",
        "device_get",
        "device_put",
    ),
}

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, _SOURCES, _SUBMODULES)

register_library_folder(__path__[0])
_timed_import.add_since_loading()
