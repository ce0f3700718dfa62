# SPDX-License-Identifier: Apache-2.0
"""Access to the jaxlib runtime. Only this module depends on the version of jaxlib.

Other modules take clients, arrays, shardings and executables from here. Functions in this module
hide the differences between jaxlib 0.10 and 0.12.

jaxlib's C++ call paths look up types and settings in Python. Importing this module registers the
types and settings for the process, but creates no client. `prime` completes the registration with
the first client.
"""

from __future__ import annotations

import functools
import gc
import importlib
import operator
import os
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import jaxlib.version
import numpy as np
from jaxlib import _hlo, _jax  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib.utils import absl_set_min_log_level

from olympus_ir.loading import deferred
from olympus_ir.settings import config_states
from olympus_ir.types.avals import ShapedArray

from ._jax_refusal import refuse_jax, refuse_later_import

if TYPE_CHECKING:
    import hashlib

    from jaxlib import (  # pyright: ignore[reportAttributeAccessIssue]
        _profile_data,  # pyright: ignore[reportAttributeAccessIssue]
        _profiler,  # pyright: ignore[reportAttributeAccessIssue]
        _xla,  # pyright: ignore[reportAttributeAccessIssue]
        cpu_sparse,
        gpu_linalg,
        gpu_prng,
        gpu_solver,
        gpu_sparse,
        lapack,
        xla_client,
    )
    from jaxlib.mlir import passmanager
    from jaxlib.mlir._mlir_libs import _tpu_ext, _triton_ext
else:
    # Only programs that keep executables on disk need hashlib, which loads OpenSSL.
    hashlib = deferred("hashlib", milliseconds=3.0)
    # Only profiles, plugins and passes of the compiler need these modules.
    _profile_data = deferred("jaxlib._profile_data", milliseconds=0.3)
    _profiler = deferred("jaxlib._profiler", milliseconds=0.4)
    _xla = deferred("jaxlib._xla", milliseconds=0.2)
    xla_client = deferred("jaxlib.xla_client", milliseconds=7.0)
    # Only kernels need these modules.
    passmanager = deferred("jaxlib.mlir.passmanager", milliseconds=10.0)
    _tpu_ext = deferred("jaxlib.mlir._mlir_libs._tpu_ext", milliseconds=10.0)
    _triton_ext = deferred("jaxlib.mlir._mlir_libs._triton_ext", milliseconds=13.0)
    # Only linear algebra needs these modules.
    cpu_sparse = deferred("jaxlib.cpu_sparse", milliseconds=0.9)
    lapack = deferred("jaxlib.lapack", milliseconds=1.6)
    gpu_linalg = deferred("jaxlib.gpu_linalg", milliseconds=2.7)
    gpu_prng = deferred("jaxlib.gpu_prng", milliseconds=2.7)
    gpu_solver = deferred("jaxlib.gpu_solver", milliseconds=5.9)
    gpu_sparse = deferred("jaxlib.gpu_sparse", milliseconds=2.9)

__all__ = [
    "INCLUDE_DIR",
    "JAXLIB_VERSION",
    "Array",
    "ArrayCopySemantics",
    "ArrayImpl",
    "Buffer",
    "Client",
    "CompileOptions",
    "Device",
    "DeviceAssignment",
    "DeviceList",
    "DistributedRuntimeClient",
    "ExecutionContext",
    "ExecutionStage",
    "GSPMDSharding",
    "HloLayout",
    "HloSharding",
    "HostBufferSemantics",
    "JaxRuntimeError",
    "LoadedExecutable",
    "NamedSharding",
    "OpSharding",
    "PjitFunction",
    "PjitFunctionCache",
    "Sharding",
    "SingleDeviceSharding",
    "array_result_handler",
    "assemble_array",
    "batched_block_until_ready",
    "batched_device_put",
    "build_identity",
    "clear_compiler_pass",
    "collectives_need_bound",
    "compiler_passes",
    "copy_arrays_to_shardings",
    "create_preemption_sync_manager",
    "described_devices",
    "deserialize_executable",
    "devices_of_description",
    "digamma_at_zero",
    "distributed_runtime_client",
    "distributed_runtime_service",
    "encode_inspect_sharding_callback",
    "export_dlpack",
    "garbage_collection_guard_level",
    "global_transfer_guard_state",
    "gloo_collectives",
    "hlo_module_cost_analysis",
    "hlo_text_with_origins",
    "hlo_without_metadata",
    "ifrt_programs",
    "import_dlpack",
    "ir_tree_registry",
    "is_asan",
    "is_description",
    "is_msan",
    "is_optimized_build",
    "is_sanitized",
    "is_tsan",
    "load_pjrt_plugin",
    "pjit_function",
    "prime",
    "prime_profile_data",
    "register_compiler_pass",
    "register_kernel_dialect",
    "run_mlir_passes",
    "serialize_executable",
    "serialize_portable_artifact",
    "set_effort",
    "sharded_to_numpy",
    "stablehlo_functions",
    "transfer_guard_level",
    "transfer_guard_state",
    "update_thread_guard",
    "xla_computation",
]


refuse_jax()
refuse_later_import()

if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
    absl_set_min_log_level(1)  # at level 0, each new client logs its devices

# ---- names that are the same in all supported versions ----

JAXLIB_VERSION: str = jaxlib.version.__version__
# The folder of XLA's C++ headers.
INCLUDE_DIR = os.path.join(os.path.dirname(os.path.abspath(jaxlib.__file__)), "include")
_IS_0_11_2 = jaxlib.version.__version_info__ >= (0, 11, 2)
_IS_0_12 = jaxlib.version.__version_info__ >= (0, 12)

Array: TypeAlias = _jax.Array
ArrayCopySemantics: TypeAlias = _jax.ArrayCopySemantics
# Whether jaxlib was built with optimizations, and with sanitizers of addresses, memory or threads.
is_optimized_build = _jax.is_optimized_build
is_asan, is_msan, is_tsan = _jax.is_asan, _jax.is_msan, _jax.is_tsan
is_sanitized = _jax.is_sanitized
ArrayImpl: TypeAlias = _jax.ArrayImpl
if TYPE_CHECKING:
    from olympus_ir.types.placement_interface import Client, Device
else:
    Client: TypeAlias = _jax.Client
    Device: TypeAlias = _jax.Device
CompileOptions: TypeAlias = _jax.CompileOptions
DeviceAssignment: TypeAlias = _jax.DeviceAssignment
DeviceList: TypeAlias = _jax.DeviceList
DistributedRuntimeClient: TypeAlias = _jax.DistributedRuntimeClient
GSPMDSharding: TypeAlias = _jax.GSPMDSharding
HloLayout: TypeAlias = _hlo.Layout
HloSharding: TypeAlias = _hlo.HloSharding
HostBufferSemantics: TypeAlias = _jax.HostBufferSemantics
JaxRuntimeError: TypeAlias = _jax.JaxRuntimeError
LoadedExecutable: TypeAlias = _jax.LoadedExecutable
NamedSharding: TypeAlias = _jax.NamedSharding
OpSharding: TypeAlias = _hlo.OpSharding
PjitFunction: TypeAlias = _jax.PjitFunction
PjitFunctionCache: TypeAlias = _jax.PjitFunctionCache
Sharding: TypeAlias = _jax.Sharding
SingleDeviceSharding: TypeAlias = _jax.SingleDeviceSharding

batched_block_until_ready = _jax.batched_block_until_ready
batched_device_put = _jax.batched_device_put
create_preemption_sync_manager = _jax.create_preemption_sync_manager
distributed_runtime_client = _jax.get_distributed_runtime_client
distributed_runtime_service = _jax.get_distributed_runtime_service
encode_inspect_sharding_callback = _jax.encode_inspect_sharding_callback
Buffer = _jax.ffi.Buffer
ExecutionContext = _jax.ffi.ExecutionContext
ExecutionStage = _jax.ffi.ExecutionStage
ifrt_programs = _jax.ifrt_programs
gloo_collectives = _jax.make_gloo_tcp_collectives
pjit_function = _jax.pjit
# Registry for trees of MLIR values and types, in which only tuples and lists are nodes.
ir_tree_registry = _jax.pytree.PyTreeRegistry(
    enable_none=False,
    enable_tuple=True,
    enable_namedtuple=True,
    enable_list=True,
    enable_dict=False,
)
garbage_collection_guard_level = _jax.guard_lib.GarbageCollectionGuardLevel
global_transfer_guard_state = _jax.guard_lib.global_state
transfer_guard_level = _jax.guard_lib.TransferGuardLevel
transfer_guard_state = _jax.guard_lib.thread_local_state
update_thread_guard = _jax.guard_lib.update_thread_guard_global_state

# Modules of jaxlib that only clients and profiles need, with the names that this module exports
# from them. Importing this package does not load them (benchmark "import the NumPy interface").
_LATER = {
    "_profile_data": "ProfileData ProfileEvent ProfilePlane",
    "_profiler": (
        "ProfileOptions ProfilerSession TraceMe get_profiled_instructions_proto "
        "register_subprocess start_server"
    ),
    "xla_client": (
        "generate_pjrt_gpu_plugin_options initialize_pjrt_plugin make_c_api_client make_cpu_client "
        "pjrt_plugin_loaded register_custom_call_as_batch_partitionable "
        "register_custom_call_handler register_custom_call_partitioner "
        "register_custom_call_target register_custom_type register_custom_type_handler"
    ),
}


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names.split():
            value = getattr(importlib.import_module(f"jaxlib.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---- types and settings that the C++ call paths look up ----

_jax.jax_jit.set_enable_x64_state(config_states.enable_x64)
_jax.jax_jit.set_disable_jit_state(config_states.disable_jit)
_jax.jax_jit.set_post_hook_state(config_states.post_hook)


class _Deferred:
    collect = staticmethod(_jax.collect_garbage)
    # `gc` calls the callback with a phase, "start" or "stop". The callback then reads the attribute
    # of this name, which calls `collect`.
    start = stop = property(operator.methodcaller("collect"))


# C++ may drop Python references while it does not hold the interpreter's lock. It releases them
# later, in this callback. The callback runs no bytecode, because Python would raise a pending
# KeyboardInterrupt at the first bytecode instruction, and the collector would discard the
# exception.
_collect_deferred = functools.partial(getattr, _Deferred())
gc.callbacks.append(_collect_deferred)


def _keep_shards(arrays: Sequence[Any], sharding: Any, aval: Any) -> Sequence[Any]:
    return arrays


# C++ calls this method when it assembles an array with checks. Callers of `assemble_array` have
# already checked. jaxlib 0.10 calls it on the instance, 0.12 on the class; a static method serves
# both.
ArrayImpl._check_and_rearrange = staticmethod(_keep_shards)

_primed = False


def prime(client: Any) -> None:
    """Makes C++ cache the types of OLYMPUS, with the process's first client.

    When C++ first makes an array, jaxlib imports two classes from Python modules with fixed names,
    and caches them: the type of abstract values and, in 0.12, the type of typed NumPy arrays. This
    function installs such modules temporarily, and makes C++ import each class once.
    """
    global _primed
    if _primed:
        return
    refuse_jax()
    modules = {
        "jax": {},
        "jax.core": {"ShapedArray": ShapedArray},
        "jax._src.literals": {"TypedNdArray": np.ndarray},
    }
    saved = {name: sys.modules.get(name) for name in modules}
    for name, contents in modules.items():
        module = types.ModuleType(name)
        vars(module).update(contents)
        sys.modules[name] = module
    # The first array is not the user's, so no transfer guard applies to it.
    guard = transfer_guard_state()
    guarded, guard.host_to_device = guard.host_to_device, transfer_guard_level.ALLOW
    try:
        device = client.local_devices()[0]
        sharding = SingleDeviceSharding(device)
        scalar = batched_device_put(
            ShapedArray((), np.dtype("float32")),
            sharding,
            [np.float32(0)],
            [device],
            enable_x64=False,
        )
        import_dlpack(export_dlpack(scalar), device)
        if _IS_0_12:
            _jax.shard_args([sharding], [None], [None], [np.zeros(1, np.float32)], None)
    finally:
        guard.host_to_device = guarded
        for name, previous in saved.items():
            if previous is None:
                del sys.modules[name]
            else:
                sys.modules[name] = previous
    _primed = True


# ---- differences between versions ----

# Before 0.12, if dozens of multi-device CPU programs are in flight, a collective may wait for a
# participant that never starts, and the process ends. Callers must bound the number in flight.
collectives_need_bound = not _IS_0_12

# The derivative of the logarithm of the gamma function at zero, in XLA.
digamma_at_zero = -np.inf if _IS_0_11_2 else np.nan

if _IS_0_11_2:

    def array_result_handler(aval: Any, sharding: Any, committed: bool) -> Any:
        """Returns the C++ object that makes an array from one result of an executable."""
        return _jax.array_result_handler(aval, sharding, committed)

    def sharded_to_numpy(array: Any) -> np.ndarray | None:
        """Returns an array's contents if all shards are local; None if Python must collect them."""
        value, _ = array._to_np_array_did_copy()
        return value

else:

    def array_result_handler(aval: Any, sharding: Any, committed: bool) -> Any:
        """Returns the C++ object that makes an array from one result of an executable."""
        return _jax.array_result_handler(aval, sharding, committed, _skip_checks=True)

    def sharded_to_numpy(array: Any) -> np.ndarray | None:
        """Returns an array's contents if all shards are local; None if Python must collect them."""
        return None


def assemble_array(aval: Any, sharding: Any, shards: Sequence[Any], committed: bool) -> Any:
    """Returns an array made from one array for each local device, in the sharding's order.

    Checks nothing: the caller ensures that shapes, dtypes and devices match.
    """
    return ArrayImpl(aval, sharding, list(shards), committed=committed, _skip_checks=True)


def copy_arrays_to_shardings(
    arrays: Sequence[Any],
    device_lists: Sequence[Any],
    shardings: Sequence[Any],
    semantics: Sequence[Any],
) -> list[Any]:
    """Copies arrays between devices. The partition into shards does not change."""
    return _jax.batched_copy_array_to_devices_with_sharding(
        arrays, device_lists, shardings, semantics
    )


# ---- profiles ----


# Types of jaxlib. These references keep them alive, because jaxlib would create a dropped type
# again.
_kept_types: list[type] = []


def prime_profile_data() -> None:
    """Makes C++ create the types that read profiles.

    jaxlib 0.12 creates the types on first use. Python then warns that the types name no module. If
    warnings are errors, the warning would end the process.
    """
    if _kept_types:
        return
    text = "planes { lines { events { metadata_id: 1 stats { metadata_id: 1 } } } }"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        data = _profile_data.ProfileData.from_text_proto(text)
        (plane,) = data.planes
        (line,) = plane.lines
        (event,) = line.events
        for several in (data.planes, plane.lines, line.events, event.stats, plane.stats):
            _kept_types.append(type(iter(several)))


def set_effort(build: Any, name: str, effort: float) -> None:
    """Sets a compile option for the compiler's effort to a number from -1 to 1.

    The option ``name`` is ``"exec_time_optimization_effort"``, for example. Newer versions of
    jaxlib lack some of these options, and take named levels of effort instead.

    Raises:
      ValueError: this jaxlib lacks the option ``name``, and ``effort`` is not 0.
    """
    if hasattr(build, name):
        setattr(build, name, effort)
    elif effort:
        level = name.removeprefix("exec_time_").removesuffix("_effort") + "_level"
        raise ValueError(
            f"this jaxlib has no {name}: set olympus_{level} ('O0' to 'O3') in place of "
            f"olympus_{name}={effort}"
        )


# ---- plugins ----


def load_pjrt_plugin(name: str, path: str) -> Any:
    """Loads the library of a PJRT plugin, and enables profiles of its devices."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # the library logs each device otherwise
    api = _plugins[name] = xla_client.load_pjrt_plugin_dynamically(name, path)
    _profiler.register_plugin_profiler(api)
    return api


_plugins: dict[str, Any] = {}


def devices_of_description(plugin: str, name: str, options: dict[str, str]) -> list[Any]:
    """Returns compile-only devices of a machine, as described by a loaded plugin."""
    api = _plugins[plugin]
    topology = xla_client.make_c_api_device_topology(api, name, **options)
    return topology._make_compile_only_devices()


def described_devices(devices: Sequence[Any]) -> list[Any]:
    """Returns compile-only descriptions of devices; returns CPUs unchanged."""
    if devices[0].platform == "cpu":
        return list(devices)  # the CPU compiler needs a client that can run programs
    return _jax.get_topology_for_devices(list(devices))._make_compile_only_devices()


def is_description(device: Any) -> bool:
    """Returns whether a device is compile-only."""
    return isinstance(device.client, _jax.CompileOnlyPyClient)


# ---- programs ----


def xla_computation(bytecode: bytes) -> Any:
    """Converts a StableHLO module, given as MLIR bytecode, to an XLA computation."""
    return _jax.mlir.mlir_module_to_xla_computation(
        bytecode, use_tuple_args=False, return_tuple=False
    )


def hlo_text_with_origins(computation: Any) -> str:
    """Returns an XLA computation as text, with the names and the source lines of instructions."""
    options = _hlo.HloPrintOptions.short_parsable()
    options.print_metadata = True
    return computation.get_hlo_module().to_string(options)


@functools.cache
def build_identity() -> str:
    """Returns a digest that identifies this build of jaxlib on any machine."""
    folder = os.path.dirname(os.path.abspath(jaxlib.__file__))
    digest = hashlib.sha256()
    libraries = [name for name in sorted(os.listdir(folder)) if "jax_common" in name]
    for name in libraries or [os.path.basename(_jax.__file__)]:
        path = os.path.join(folder, name)
        # The libraries are hundreds of megabytes large, so only both ends of a file are read. The
        # ends contain the linker's build id, and the addresses of the other sections.
        size, ends = os.path.getsize(path), 1 << 16
        with open(path, "rb") as file:
            digest.update(size.to_bytes(8, "little") + file.read(ends))
            file.seek(max(size - ends, 0))
            digest.update(file.read())
    return f"{JAXLIB_VERSION} {digest.hexdigest()}"


def serialize_executable(executable: Any) -> bytes | None:
    """Returns a loaded executable as bytes; None if a part of it cannot be serialized.

    For example, sorts on CPUs cannot be serialized.
    """
    try:
        return executable.serialize()
    except JaxRuntimeError as error:
        if "UNIMPLEMENTED" in str(error):
            return None
        raise


def deserialize_executable(
    serialized: bytes,
    devices: Sequence[Any],
    options: Any,
    host_callbacks: Sequence[Callable[..., Any]] = (),
) -> Any:
    """Loads an executable from the bytes that its ``serialize()`` returned.

    The bytes contain machine code, so they must come from a trusted source.
    """
    callbacks = [list(host_callbacks)] if host_callbacks else []
    return devices[0].client.deserialize_executable(
        serialized, DeviceList(tuple(devices)), options, *callbacks
    )


def hlo_without_metadata(executable: Any) -> list[str]:
    """Returns an executable's optimized modules as text, without names and source positions."""
    options = _hlo.HloPrintOptions()
    options.print_metadata = False
    return [module.to_string(options) for module in executable.hlo_modules()]


def refine_shapes(bytecode: bytes) -> bytes:
    """Infers a module's dynamic shapes from its operands' shapes, and returns the new bytecode."""
    return _jax.mlir.refine_polymorphic_shapes(
        bytecode, enable_shape_assertions=True, validate_static_shapes=True, enable_shardy=True
    )


# Functions for StableHLO in its portable form, and for the conversion from HLO.
stablehlo_functions = _jax.mlir


# The registered passes, as tuples of client, name and stage.
compiler_passes: set[tuple[Any, str, int]] = set()


def register_compiler_pass(client: Any, name: str, stage: int, callback: Any) -> None:
    """Adds a pass, a function of serialized HLO modules, to the compiler."""
    compiler_passes.add((client, name, stage))
    if client is None:
        _xla.register_xla_transform(name, stage, callback)
    else:
        _xla.register_xla_transform_c_api(client, name, stage, callback)


def clear_compiler_pass(client: Any, name: str, stage: int) -> bool:
    """Removes a pass that `register_compiler_pass` added; returns whether it was present."""
    compiler_passes.discard((client, name, stage))
    if client is None:
        return _xla.clear_xla_transform(name, stage)
    return _xla.clear_xla_transform_c_api(client, name, stage)


def serialize_portable_artifact(module: Any, version: str) -> bytes:
    """Returns a module in StableHLO's portable form. Shardy's operations do not change."""
    return _jax.mlir.serialize_portable_artifact(module, version, True)


def hlo_module_cost_analysis(client: Any, computation: Any) -> dict[str, float]:
    """Returns XLA's estimates of a computation's cost before optimization, by name."""
    return dict(_jax.hlo_module_cost_analysis(client, computation.get_hlo_module()))


# ---- dialects of kernels ----


def register_kernel_dialect(context: Any, name: str) -> None:
    """Registers the dialect of Triton's or the TPU's kernels with an MLIR context."""
    extensions = {"triton": _triton_ext, "tpu": _tpu_ext}
    if name not in extensions:
        raise ValueError(f"`name` must be the dialect of kernels 'triton' or 'tpu', got {name!r}")
    extensions[name].register_dialect(context, load=True)


def run_mlir_passes(operation: Any, pipeline: str) -> None:
    """Runs passes on an MLIR operation. The result may have operations of unregistered dialects."""
    context = operation.context
    allowed = context.allow_unregistered_dialects
    context.allow_unregistered_dialects = True
    try:
        passmanager.PassManager.parse(pipeline, context=context).run(operation)
    finally:
        context.allow_unregistered_dialects = allowed


# ---- routines of linear algebra ----


@functools.cache
def register_lapack() -> None:
    """Registers LAPACK's routines with XLA. Loads SciPy, whose routines jaxlib calls."""
    lapack.prepare_lapack_call("potrf_ffi", np.float32)  # this loads SciPy's routines
    for provider in (lapack, cpu_sparse):
        _register_targets(provider)


def register_called_routines(program: bytes) -> None:
    """Registers LAPACK's routines if a program calls them.

    Programs that another process compiled need this call.
    """
    if b"lapack_" in program or b"tridiagonal_solve_perturbed_ffi" in program:
        register_lapack()
    if b"hybrid_" in program:
        prepare_hybrid_routines()


@functools.cache
def prepare_hybrid_routines() -> None:
    """Passes LAPACK's routines to the GPU plugins, which compute some results on the host.

    The call loads SciPy if a plugin is installed. Without the call, a routine that computes on the
    host would end the process.
    """
    gpu_solver.initialize_hybrid_kernels()


def register_gpu_kernels() -> None:
    """Registers the routines of the installed GPU plugins of jaxlib with XLA."""
    for provider in (gpu_linalg, gpu_prng, gpu_solver, gpu_sparse):
        _register_targets(provider)


def _register_targets(provider: Any) -> None:
    for platform, targets in provider.registrations().items():
        for name, value, api_version in targets:
            xla_client.register_custom_call_target(name, value, platform, api_version)
    for name in getattr(provider, "batch_partitionable_targets", list)():
        xla_client.register_custom_call_as_batch_partitionable(name)


# ---- transfer between processes ----

TransferConnection: Any = _jax.TransferConnection
TransferServer: Any = _jax.TransferServer
start_transfer_server: Any = _jax.start_transfer_server
make_error_array: Any = _jax._make_error_array


# ---- dlpack ----


def export_dlpack(
    array: Any, stream: Any = None, max_version: tuple[int, int] | None = None, copied: bool = False
) -> Any:
    """Returns a dlpack capsule of the memory of a single-device array.

    The capsule is made from a second handle of the same memory. Otherwise, deleting the array while
    the capsule is alive would abort the process.
    """
    handle = array._fully_replicated_shard()
    if _IS_0_12:
        return _jax.buffer_to_dlpack_managed_tensor(handle, stream, max_version, copied)
    return _jax.buffer_to_dlpack_managed_tensor(handle, stream)


def import_dlpack(
    capsule: Any, device: Any, stream: int | None = None, copy: bool | None = None
) -> Any:
    """Returns an array on ``device`` that shares the memory of a dlpack capsule."""
    return _jax.dlpack_managed_tensor_to_buffer(capsule, device, stream, copy)
