# SPDX-License-Identifier: Apache-2.0
"""Configuration of the whole process: compiler, caches, backends, diagnostics.

Flags with thread-local values are in `olympus_ir.settings.config_states`. Some flags exist only
because programs set them by name: `olympus_ir.settings.flags_without_effect` says why.
"""

from __future__ import annotations

import enum

from .configuration import declare_flag, member_of, one_of, truth, typed

count = typed(int, 0)
text = typed(str, "")
text_or_none = typed(str, None)
count_or_none = typed(int, None)

# --- Types and checks ----------------------------------------------------------------------------


class ExplicitX64Mode(enum.IntEnum):
    """Treatment of explicit requests for a 64-bit type while 64-bit types are disabled."""

    WARN = 1
    ERROR = 2
    ALLOW = 3


explicit_x64_dtypes = declare_flag(
    "explicit_x64_dtypes",
    ExplicitX64Mode.WARN,
    member_of(ExplicitX64Mode),
    "Treatment of an explicit request for a 64-bit type while 64-bit types are disabled: a "
    "warning, an error, or the requested type.",
    shapes_programs=True,
)
check_static_indices = declare_flag(
    "check_static_indices",
    False,
    truth,
    "Raise an error when a constant index is out of bounds.",
    shapes_programs=True,
)
error_checking_behavior_nan = declare_flag(
    "error_checking_behavior_nan",
    "ignore",
    one_of(("ignore", "raise")),
    "Behavior of error checking when an operation generates a NaN.",
    shapes_programs=True,
)
error_checking_behavior_divide = declare_flag(
    "error_checking_behavior_divide",
    "ignore",
    one_of(("ignore", "raise")),
    "Behavior of error checking at a division by zero.",
    shapes_programs=True,
)
error_checking_behavior_oob = declare_flag(
    "error_checking_behavior_oob",
    "ignore",
    one_of(("ignore", "raise")),
    "Behavior of error checking at an index out of bounds.",
    shapes_programs=True,
)
experimental_unsafe_xla_runtime_errors = declare_flag(
    "experimental_unsafe_xla_runtime_errors",
    False,
    truth,
    "Let checks that were not discharged stop the program from inside the compiled code.",
    shapes_programs=True,
)
mutable_array_checks = declare_flag(
    "mutable_array_checks",
    True,
    truth,
    "Refuse programs in which two references may denote the same mutable array.",
    shapes_programs=True,
)
disable_bwd_checks = declare_flag(
    "disable_bwd_checks",
    False,
    truth,
    "Skip the check that a custom_vjp's backward function returns cotangents of the right types.",
    shapes_programs=True,
)
disable_vmap_shmap_error = declare_flag(
    "disable_vmap_shmap_error",
    False,
    truth,
    "Skip a check on the axis names when shard_map is batched.",
    shapes_programs=True,
)
disallow_mesh_context_manager = declare_flag(
    "disallow_mesh_context_manager",
    False,
    truth,
    "Raise an error if a mesh is used as a context manager.",
)

# --- Tracing and differentiation -----------------------------------------------------------------

cold_evaluation = declare_flag(
    "cold_evaluation",
    "exact",
    one_of(("exact", "close", "off")),
    "Eager programs that NumPy runs, on CPUs, until compilation pays off: those whose results "
    "equal the compiled program's bit for bit, all, or none.",
)
tiers = declare_flag(
    "tiers",
    False,
    truth,
    "Run the first calls of compiled functions on NumPy, on CPUs, while another thread compiles "
    "the functions.",
)
show_compilation = declare_flag(
    "show_compilation",
    True,
    truth,
    "Show the program that is compiling, on terminals and in notebooks, if compilation takes "
    "seconds.",
)
use_direct_linearize = declare_flag(
    "use_direct_linearize",
    True,
    truth,
    "Linearize a function in one pass, not by forward differentiation and partial evaluation.",
    shapes_programs=True,
)
use_simplified_olympuspr_constants = declare_flag(
    "use_simplified_olympuspr_constants",
    False,
    truth,
    "Keep array constants as literals of the traced program, not as its hidden arguments.",
    shapes_programs=True,
)
embedded_constants_max_bytes = declare_flag(
    "embedded_constants_max_bytes",
    32,
    typed(int, 32),
    "Maximal size, in bytes, of array constants that are written into the lowered program.",
    shapes_programs=True,
)
captured_constants_warn_bytes = declare_flag(
    "captured_constants_warn_bytes",
    2_000_000_000,
    typed(int, 2_000_000_000),
    "Bytes of constants in a lowered program above which a warning is issued; -1 for no warning.",
)
captured_constants_report_frames = declare_flag(
    "captured_constants_report_frames",
    0,
    typed(int, 0),
    "Number of frames that the warning about constants shows for each constant; -1 for all.",
)
scan3 = declare_flag(
    "scan3",
    False,
    truth,
    "Use another implementation of scan.",
    shapes_programs=True,
)
remat3 = declare_flag(
    "remat3",
    False,
    truth,
    "Use another implementation of checkpoint.",
    shapes_programs=True,
)
custom_vjp3 = declare_flag(
    "custom_vjp3",
    False,
    truth,
    "Use another implementation of custom_vjp.",
    shapes_programs=True,
)
refs_to_pins = declare_flag(
    "refs_to_pins", False, truth, "Lower references to pinned buffers.", shapes_programs=True
)
log_checkpoint_residuals = declare_flag(
    "log_checkpoint_residuals",
    False,
    truth,
    "Log which values checkpoint keeps for the backward pass.",
)

# --- Random numbers ------------------------------------------------------------------------------

random_seed_offset = declare_flag(
    "random_seed_offset", 0, count, "A number added to every seed.", shapes_programs=True
)
threefry_gpu_kernel_lowering = declare_flag(
    "threefry_gpu_kernel_lowering",
    False,
    truth,
    "On GPUs, compute threefry bits with a hand-written kernel.",
    shapes_programs=True,
)
high_dynamic_range_gumbel = declare_flag(
    "high_dynamic_range_gumbel",
    False,
    truth,
    "Draw two samples for one Gumbel variate, which resolves events of low probability better.",
    shapes_programs=True,
)

# --- Tracebacks, logs, printing ------------------------------------------------------------------

traceback_filtering = declare_flag(
    "traceback_filtering",
    "auto",
    one_of(("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto")),
    "Method that removes OLYMPUS's own frames from the tracebacks of errors.",
)
tracer_error_num_traceback_frames = declare_flag(
    "tracer_error_num_traceback_frames",
    5,
    typed(int, 5),
    "Number of stack frames in errors about leaked tracers.",
)
include_full_tracebacks_in_locations = declare_flag(
    "include_full_tracebacks_in_locations",
    True,
    truth,
    "Write whole tracebacks, not single lines, into the locations of lowered programs.",
)
traceback_in_locations_limit = declare_flag(
    "traceback_in_locations_limit",
    100,
    typed(int, 100),
    "Maximal number of frames in the locations of lowered programs; -1 for no limit.",
)
send_traceback_to_runtime = declare_flag(
    "send_traceback_to_runtime",
    "off",
    one_of(("off", "on", "full", "OFF", "ON", "FULL")),
    "Part of the Python stack that is passed to the runtime at each call.",
)
hlo_source_file_canonicalization_regex = declare_flag(
    "hlo_source_file_canonicalization_regex",
    None,
    text_or_none,
    "A regular expression, whose matches are removed from file names in lowered programs.",
    shapes_programs=True,
)
source_url_schema = declare_flag(
    "source_url_schema", None, text_or_none, "Template of the links to source lines in reports."
)
pprint_use_color = declare_flag(
    "pprint_use_color", True, truth, "Use colors when a program is printed on a terminal."
)
debug_log_modules = declare_flag(
    "debug_log_modules",
    "",
    text,
    "Names of modules, separated by commas, whose debugging messages are shown.",
)
logging_level = declare_flag(
    "logging_level",
    "NOTSET",
    one_of(("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), optional=True),
    "The level of OLYMPUS's loggers.",
)
compiler_detailed_logging_min_ops = declare_flag(
    "compiler_detailed_logging_min_ops",
    10,
    typed(int, 10),
    "Minimal number of operations of programs whose compilation is logged in detail.",
)
dump_ir_to = declare_flag(
    "dump_ir_to",
    "",
    text,
    "Directory that lowered programs are written to; 'sponge' for the test runner's.",
)
dump_ir_modes = declare_flag(
    "dump_ir_modes",
    "stablehlo",
    typed(str, "stablehlo"),
    "Forms of programs to dump, separated by commas: stablehlo, jaxpr, jaxpr_html, "
    "eqn_count_pprof.",
)
include_debug_info_in_dumps = declare_flag(
    "include_debug_info_in_dumps", True, truth, "Write locations into dumped programs."
)

# --- Compilation ---------------------------------------------------------------------------------

OPTIMIZATION_LEVELS = one_of(("UNKNOWN", "O0", "O1", "O2", "O3"))
disable_most_optimizations = declare_flag(
    "disable_most_optimizations", False, truth, "Compile quickly, with little optimization."
)
optimization_level = declare_flag(
    "optimization_level",
    "UNKNOWN",
    OPTIMIZATION_LEVELS,
    "Effort of the compiler for the speed of programs.",
)
memory_fitting_level = declare_flag(
    "memory_fitting_level",
    "O2",
    OPTIMIZATION_LEVELS,
    "Effort of the compiler to fit programs into memory.",
)
exec_time_optimization_effort = declare_flag(
    "exec_time_optimization_effort",
    0.0,
    typed(float, 0.0),
    "The compiler's effort for speed, from -1.0 to 1.0.",
)
memory_fitting_effort = declare_flag(
    "memory_fitting_effort",
    0.0,
    typed(float, 0.0),
    "The compiler's effort for memory, from -1.0 to 1.0.",
)
outline_repeated_blocks = declare_flag(
    "outline_repeated_blocks",
    True,
    truth,
    "Compile equal blocks of a program for CPUs, such as layers written out, as calls of one "
    "function.",
)
compiler_enable_remat_pass = declare_flag(
    "compiler_enable_remat_pass",
    True,
    truth,
    "Let the compiler recompute values when memory does not suffice.",
)
use_shardy_partitioner = declare_flag(
    "use_shardy_partitioner",
    True,
    truth,
    "Partition programs over devices with Shardy.",
    shapes_programs=True,
)
xla_profile_version = declare_flag(
    "xla_profile_version",
    0,
    count,
    "Version of the profile that guides a remote compiler.",
    shapes_programs=True,
)
enable_pgle = declare_flag(
    "enable_pgle",
    False,
    truth,
    "Profile the first runs of a program and compile it again with the measured latencies.",
    shapes_programs=True,
)
pgle_profiling_runs = declare_flag(
    "pgle_profiling_runs",
    3,
    typed(int, 3),
    "Number of runs that are profiled before the program is compiled again.",
    shapes_programs=True,
)
pgle_aggregation_percentile = declare_flag(
    "pgle_aggregation_percentile",
    90,
    typed(int, 90),
    "The percentile by which the profiles of several runs are combined.",
)
use_magma = declare_flag(
    "use_magma",
    "auto",
    one_of(("off", "on", "auto")),
    "On GPUs, compute eigenvalues and pivoted factors of general matrices with MAGMA.",
)
bcoo_cusparse_lowering = declare_flag(
    "bcoo_cusparse_lowering", False, truth, "On NVIDIA GPUs, lower sparse products to cuSPARSE."
)
ragged_dot_use_ragged_dot_instruction = declare_flag(
    "ragged_dot_use_ragged_dot_instruction",
    True,
    truth,
    "On TPUs, lower ragged products to XLA's own instruction.",
    shapes_programs=True,
)
ragged_dot_use_gpu_pallas_triton_lowering = declare_flag(
    "ragged_dot_use_gpu_pallas_triton_lowering",
    False,
    truth,
    "On GPUs, lower ragged products to a Triton kernel.",
    shapes_programs=True,
)

# --- Backends and devices ------------------------------------------------------------------------

platforms = declare_flag(
    "platforms",
    None,
    text_or_none,
    "Platforms to use, separated by commas, the default platform first; None for all platforms.",
)
platform_name = declare_flag(
    "platform_name", "", text, "The platform to use; olympus_platforms is the newer flag."
)
xla_backend = declare_flag(
    "xla_backend", "", text, "The platform to use; olympus_platforms is the newer flag."
)
backend_target = declare_flag(
    "backend_target", "", text, "'local', or 'rpc:' and the address of a remote service."
)
pjrt_client_create_options = declare_flag(
    "pjrt_client_create_options",
    None,
    text_or_none,
    "Options for a plugin's client, as 'key:value;key:value'.",
)
num_cpu_devices = declare_flag(
    "num_cpu_devices",
    -1,
    typed(int, -1),
    "Number of devices that the CPU provides; -1 for the number in XLA_FLAGS, or one.",
)
cpu_enable_async_dispatch = declare_flag(
    "cpu_enable_async_dispatch", True, truth, "Run CPU programs in the background."
)
cpu_lowerings = declare_flag(
    "cpu_lowerings",
    True,
    truth,
    "Whether CPU programs use faster code than XLA's, such as calls of NumPy on one device.",
    shapes_programs=True,
)
cpu_retained_memory = declare_flag(
    "cpu_retained_memory",
    0,
    typed(int, 0),
    "Bytes of free memory that a Linux process keeps for the next CPU program; 0 for the C "
    "library's choice.",
)
cpu_collectives_implementation = declare_flag(
    "cpu_collectives_implementation",
    "gloo",
    one_of(("gloo", "mpi", "megascale"), optional=True),
    "The library through which CPU processes communicate.",
)
cpu_get_local_topology_timeout_minutes = declare_flag(
    "cpu_get_local_topology_timeout_minutes",
    2,
    typed(int, 2),
    "Minutes that CPU processes wait for one another's devices.",
)
cpu_get_global_topology_timeout_minutes = declare_flag(
    "cpu_get_global_topology_timeout_minutes",
    5,
    typed(int, 5),
    "Minutes that CPU processes wait for the global topology; more than for the local topologies.",
)
cuda_visible_devices = declare_flag(
    "cuda_visible_devices",
    "all",
    typed(str, "all"),
    "NVIDIA devices to use, as numbers separated by commas, or 'all'.",
)
rocm_visible_devices = declare_flag(
    "rocm_visible_devices",
    "all",
    typed(str, "all"),
    "AMD devices to use, as numbers separated by commas, or 'all'.",
)
oneapi_visible_devices = declare_flag(
    "oneapi_visible_devices",
    "all",
    typed(str, "all"),
    "Intel devices to use, as numbers separated by commas, or 'all'.",
)
mock_gpu_topology = declare_flag(
    "mock_gpu_topology",
    "",
    text,
    "A simulated topology of GPUs, as 'slices x hosts per slice x devices per host'.",
)
mock_num_gpu_processes = declare_flag(
    "mock_num_gpu_processes", 0, count, "Number of GPU processes to simulate; 0 for none."
)
sort_devices_by_process_index = declare_flag(
    "sort_devices_by_process_index",
    True,
    truth,
    "Sort devices by process, then by device id; otherwise by device id alone.",
)
debug_leaked_clients_on_clear_backends = declare_flag(
    "debug_leaked_clients_on_clear_backends",
    False,
    truth,
    "Raise an error when a client is still in use after its backend was cleared.",
)

# --- Several processes ---------------------------------------------------------------------------

distributed_debug = declare_flag(
    "distributed_debug", False, truth, "Log more about the start of several processes."
)
check_proxy_envs = declare_flag(
    "check_proxy_envs", True, truth, "Warn when variables for proxies may block connections."
)
enable_recoverability = declare_flag(
    "enable_recoverability", False, truth, "Continue when another process has failed."
)
enable_preemption_service = declare_flag(
    "enable_preemption_service",
    True,
    truth,
    "When a process is preempted, agree on a step at which all processes stop.",
)
force_dcn_cross_host_transfers = declare_flag(
    "force_dcn_cross_host_transfers",
    False,
    truth,
    "Copy between hosts over the network even if the platform has its own way.",
)
cross_host_transfer_socket_address = declare_flag(
    "cross_host_transfer_socket_address",
    "",
    text,
    "Address of the socket for copies between hosts over the network.",
)
cross_host_transport_addresses = declare_flag(
    "cross_host_transport_addresses",
    "",
    text,
    "Addresses of the transports for copies between hosts, separated by commas.",
)
cross_host_transfer_timeout_seconds = declare_flag(
    "cross_host_transfer_timeout_seconds",
    None,
    count_or_none,
    "Seconds that copies between hosts wait for the other host; None for one minute.",
)
cross_host_transfer_transfer_size = declare_flag(
    "cross_host_transfer_transfer_size",
    None,
    count_or_none,
    "Bytes in each piece of a copy between hosts; None for the library's choice.",
)

# --- Export --------------------------------------------------------------------------------------

export_calling_convention_version = declare_flag(
    "export_calling_convention_version",
    10,
    typed(int, 10),
    "Version of the calling convention of exported programs.",
)
export_ignore_forward_compatibility = declare_flag(
    "export_ignore_forward_compatibility",
    False,
    truth,
    "Export operations that older consumers may not know.",
)
serialization_version = declare_flag(
    "serialization_version",
    0,
    count,
    "The older name of olympus_export_calling_convention_version.",
)

# --- Kernels -------------------------------------------------------------------------------------

pallas_use_mosaic_gpu = declare_flag(
    "pallas_use_mosaic_gpu",
    True,
    truth,
    "On NVIDIA GPUs, lower kernels with Mosaic and not with Triton.",
    shapes_programs=True,
)
pallas_verbose_errors = declare_flag(
    "pallas_verbose_errors", False, truth, "Show the lowered kernel in its error messages."
)
use_emit_pipeline_primitive = declare_flag(
    "use_emit_pipeline_primitive",
    False,
    truth,
    "Record the pipelines of kernels as one operation.",
    shapes_programs=True,
)
mosaic_allow_hlo = declare_flag(
    "mosaic_allow_hlo",
    False,
    truth,
    "Accept StableHLO operations in TPU kernels.",
    shapes_programs=True,
)
