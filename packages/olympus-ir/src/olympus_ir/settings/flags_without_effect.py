# SPDX-License-Identifier: Apache-2.0
"""Flags of JAX that nothing reads here, with the reasons.

Programs set these flags by name, so they exist and check their values. A test compares the table
with the flags that the packages read.
"""

from __future__ import annotations

__all__ = ["REASONS"]

# Maps a flag's name without prefix to the reason, which completes "It has no effect: ".
REASONS = {
    "error_checking_behavior_nan": (
        "errors that JAX records for it are raised only by a private function of JAX; `checkify` "
        "and `olympus_debug_nans` find NaNs"
    ),
    "error_checking_behavior_divide": (
        "for the same reason as olympus_error_checking_behavior_nan; `checkify` finds divisions by "
        "zero"
    ),
    "error_checking_behavior_oob": (
        "for the same reason as olympus_error_checking_behavior_nan; `checkify` finds indices out "
        "of bounds"
    ),
    "mutable_array_checks": (
        "the check is always made, because a program in which two references denote one "
        "array has no defined result"
    ),
    "use_direct_linearize": "JAX 0.10.2 does not read it either; there is one way to linearize",
    "use_simplified_olympuspr_constants": (
        "arrays that a function closes over are constants of the program"
    ),
    "embedded_constants_max_bytes": "it configures olympus_use_simplified_olympuspr_constants, "
    "which has no effect",
    "scan3": "there is one implementation of scan",
    "remat3": "there is one implementation of checkpoint",
    "custom_vjp3": "there is one implementation of custom_vjp",
    "refs_to_pins": "references become results of pure operations before a program is lowered",
    "threefry_gpu_kernel_lowering": (
        "threefry is lowered to operations that XLA fuses into one kernel"
    ),
    "send_traceback_to_runtime": "JAX 0.10.2 does not read it either",
    "source_url_schema": "reports show lines of source, and no links",
    "compiler_detailed_logging_min_ops": (
        "no details of a compilation are logged; `olympus.time_report` measures compilations"
    ),
    "use_shardy_partitioner": "Shardy is the only partitioner",
    "enable_pgle": (
        "XLA uses profiles for scheduling on GPUs only; the compiler option `fdo_profile` passes "
        "it a profile"
    ),
    "pgle_profiling_runs": "it configures olympus_enable_pgle, which has no effect",
    "pgle_aggregation_percentile": "it configures olympus_enable_pgle, which has no effect",
    "bcoo_cusparse_lowering": "sparse products are gathers and dense products on every platform",
    "ragged_dot_use_ragged_dot_instruction": "the rule of each platform chooses the instruction",
    "ragged_dot_use_gpu_pallas_triton_lowering": (
        "ragged products call no kernels; the kernels of olympus-kernels are separate functions"
    ),
    "backend_target": "jaxlib 0.10.2 has no client of remote services",
    "oneapi_visible_devices": "there is no plugin for GPUs of Intel",
    "enable_recoverability": (
        "the runtime of jaxlib 0.10.2 has no such option; programs restart from their last saved "
        "state"
    ),
    "force_dcn_cross_host_transfers": (
        "processes exchange arrays by collective operations of compiled programs"
    ),
    "cross_host_transfer_socket_address": "for the same reason as "
    "olympus_force_dcn_cross_host_transfers",
    "cross_host_transport_addresses": "for the same reason as "
    "olympus_force_dcn_cross_host_transfers",
    "cross_host_transfer_timeout_seconds": "for the same reason as "
    "olympus_force_dcn_cross_host_transfers",
    "cross_host_transfer_transfer_size": "for the same reason as "
    "olympus_force_dcn_cross_host_transfers",
    "serialization_version": (
        "JAX 0.10.2 exports with its newest calling convention, whatever this flag says"
    ),
    "pallas_use_mosaic_gpu": (
        "kernels for NVIDIA GPUs are lowered with Triton; those of `pallas.mosaic_gpu` "
        "are simulated"
    ),
    "pallas_verbose_errors": "errors of kernels name the operation and its line",
    "use_emit_pipeline_primitive": "a pipeline is a loop of the kernel",
    "mosaic_allow_hlo": "kernels contain operations of Mosaic only",
    "compilation_cache_expect_pgle": "it configures olympus_enable_pgle, which has no effect",
    "remove_custom_partitioning_ptr_from_cache_key": (
        "programs with addresses of such functions are not kept on disk"
    ),
    "share_binary_between_hosts": (
        "processes share executables through olympus_compilation_cache_dir on a shared file system"
    ),
    "share_binary_between_hosts_timeout_ms": "for the same reason as "
    "olympus_share_binary_between_hosts",
    "jax2tf_associative_scan_reductions": "JAX 0.10.2 does not read it either",
}
