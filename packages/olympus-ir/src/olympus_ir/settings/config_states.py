# SPDX-License-Identifier: Apache-2.0
"""Configuration flags that a thread can override, and the hidden context of tracing.

The flags of this module are context managers (``with enable_x64(True):``); flags without
thread-local values are in `olympus_ir.settings.config_flags`. Code reads a flag as
``config_states.enable_x64.value``.

The hidden context consists of the named axes, meshes and annotations that ``with`` blocks around
user code set for tracing. It is part of the keys of all tracing caches. No flag sets it.
"""

from __future__ import annotations

import enum
from typing import Any

from .._jaxlib import Config
from .configuration import Kind, declare_rare_state, declare_state, member_of, one_of, scopes, truth
from .naming import naming

# --- Types ---------------------------------------------------------------------------------------


class NumpyDtypePromotion(enum.StrEnum):
    """Mode of the promotion of operands with different dtypes."""

    STANDARD = "standard"
    STRICT = "strict"


class LegacyPrngKeyState(enum.StrEnum):
    """Treatment of random keys that are plain uint32 arrays."""

    ALLOW = "allow"
    WARN = "warn"
    ERROR = "error"


enable_x64 = declare_state(
    "enable_x64",
    False,
    truth,
    "Allow 64-bit types; otherwise int64, uint64, float64 and complex128 become 32 bits wide.",
    shapes_programs=True,
)
numpy_dtype_promotion = declare_state(
    "numpy_dtype_promotion",
    NumpyDtypePromotion.STANDARD,
    member_of(NumpyDtypePromotion),
    "Whether operands of different dtypes are promoted ('standard') or refused ('strict').",
    shapes_programs=True,
)
numpy_rank_promotion = declare_state(
    "numpy_rank_promotion",
    "allow",
    one_of(("allow", "warn", "raise")),
    "Behavior of broadcasting when operands have different numbers of dimensions.",
    shapes_programs=True,
)
pallas_poison_buffers = declare_state(
    "pallas_poison_buffers",
    False,
    truth,
    "Fill the scratch memory of kernels with NaN first.",
    shapes_programs=True,
)
pallas_enable_debug_checks = declare_state(
    "pallas_enable_debug_checks",
    False,
    truth,
    "Run the checks that kernels make with debug_check.",
    shapes_programs=True,
)
allow_f16_reductions = declare_state(
    "allow_f16_reductions",
    True,
    truth,
    "Whether a sum may be computed in float16 or bfloat16.",
    shapes_programs=True,
)

# --- Numerics ------------------------------------------------------------------------------------

DOT_ALGORITHMS = (
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
)
default_matmul_precision = declare_state(
    "default_matmul_precision",
    None,
    one_of(
        ("default", "high", "highest", "bfloat16", "tensorfloat32", "float32", *DOT_ALGORITHMS),
        optional=True,
    ),
    "Precision of products of matrices and of convolutions that do not state their own.",
    shapes_programs=True,
)
softmax_custom_jvp = declare_state(
    "softmax_custom_jvp",
    False,
    truth,
    "Differentiate softmax by its own rule, which keeps only the result.",
    shapes_programs=True,
)

strong_zeros = declare_rare_state(
    "strong_zeros",
    False,
    truth,
    "Treat zero times infinity as zero in derivatives, to keep them finite at singular points.",
)

# --- Random numbers ------------------------------------------------------------------------------

default_prng_impl = declare_state(
    "default_prng_impl",
    "threefry2x32",
    one_of(("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32")),
    "The random bit generator of keys that do not name one.",
    shapes_programs=True,
)
threefry_partitionable = declare_state(
    "threefry_partitionable",
    True,
    truth,
    "Generate threefry bits so that each element can be computed on its own device.",
    shapes_programs=True,
)
enable_custom_prng = declare_state(
    "enable_custom_prng",
    False,
    truth,
    "Make PRNGKey return typed keys, as key does.",
    shapes_programs=True,
)
legacy_prng_key = declare_state(
    "legacy_prng_key",
    LegacyPrngKeyState.ALLOW,
    member_of(LegacyPrngKeyState),
    "Whether random keys that are plain uint32 arrays are accepted.",
)
debug_key_reuse = declare_state(
    "debug_key_reuse",
    False,
    truth,
    "Raise an error when a typed random key is used twice.",
    shapes_programs=True,
)

# --- Default devices, and compilation on or off ---------------------------------------------------


def _device(value: Any) -> Any:
    if value is None or isinstance(value, str) or hasattr(value, "platform"):
        return value
    raise ValueError(
        f"must be passed either a Device object (e.g. `{naming.module}.devices('cpu')[0]`) or a "
        f"platform name string like 'cpu' or 'gpu', got: {value!r}"
    )


default_device = declare_state(
    "default_device",
    None,
    Kind(_device),
    "The device of computations that name no device, or a platform, for its first device; None for "
    "the first device of the default platform.",
    shapes_programs=True,
)
disable_jit = declare_state(
    "disable_jit",
    False,
    truth,
    "Run the operations of compiled functions one by one, for debugging.",
    shapes_programs=True,
)
no_tracing = declare_state(
    "no_tracing", False, truth, "Raise an error if a function would be traced for compilation."
)
no_execution = declare_state(
    "no_execution",
    False,
    truth,
    "Raise an error if a program would be executed.",
    shapes_programs=True,
)
thread_guard = declare_state(
    "thread_guard",
    False,
    truth,
    "Raise an error when a computation of several processes starts from a thread other than the "
    "thread that set the guard.",
)

GUARD_LEVELS = one_of(
    ("allow", "log", "disallow", "log_explicit", "disallow_explicit"), optional=True
)
transfer_guard_host_to_device = declare_state(
    "transfer_guard_host_to_device",
    None,
    GUARD_LEVELS,
    "Whether copies from the host to a device are allowed.",
)
transfer_guard_device_to_device = declare_state(
    "transfer_guard_device_to_device",
    None,
    GUARD_LEVELS,
    "Whether copies from one device to another are allowed.",
)
transfer_guard_device_to_host = declare_state(
    "transfer_guard_device_to_host",
    None,
    GUARD_LEVELS,
    "Whether copies from a device to the host are allowed.",
)
array_garbage_collection_guard = declare_state(
    "array_garbage_collection_guard",
    None,
    one_of(("allow", "log", "fatal"), optional=True),
    "Reaction to an array that is freed by the garbage collector, not by its reference count.",
)

# --- Sharding ------------------------------------------------------------------------------------

auto_pcast = declare_state(
    "auto_pcast",
    True,
    truth,
    "Inside shard_map, cast operands automatically to vary over the same mesh axes.",
    shapes_programs=True,
)
remove_size_one_mesh_axis_from_type = declare_state(
    "remove_size_one_mesh_axis_from_type",
    False,
    truth,
    "Leave mesh axes of size one out of the shardings in types.",
    shapes_programs=True,
)

# --- Debugging -----------------------------------------------------------------------------------

debug_nans = declare_state(
    "debug_nans",
    False,
    truth,
    "Check each result for NaN; if one is found, find the operation that produced it.",
    # The flag is part of the key of compiled calls. While the flag is set, calls therefore enter
    # Python, which checks the results.
    shapes_programs=True,
)
debug_infs = declare_state(
    "debug_infs",
    False,
    truth,
    "Check each result for infinities; if one is found, find the operation that produced it.",
    # The flag is part of the key of compiled calls. While the flag is set, calls therefore enter
    # Python, which checks the results.
    shapes_programs=True,
)
check_tracer_leaks = declare_state(
    "check_tracer_leaks",
    False,
    truth,
    "Raise an error when a traced value outlives the trace that made it.",
)
enable_checks = declare_state(
    "enable_checks", False, truth, "Check OLYMPUS's own invariants; slow."
)
log_compiles = declare_state(
    "log_compiles",
    False,
    truth,
    "Log each trace and each compilation with its arguments, as warnings.",
)
explain_cache_misses = declare_state(
    "explain_cache_misses", False, truth, "Log why a compiled function is traced again."
)
jax2tf_associative_scan_reductions = declare_state(
    "jax2tf_associative_scan_reductions",
    False,
    truth,
    "Lower cumulative reductions to associative scans when exporting.",
)

# --- The hidden context --------------------------------------------------------------------------

# True while a trace other than plain evaluation is current. Compiled functions compare this value
# on each call, so within a trace they enter Python and are staged.
tracing_state = Config("tracing_state", None, include_in_jit_key=True)
# The named axes that vmap, pmap and shard_map have introduced.
axis_environment = Config(
    "axis_environment", None, include_in_jit_key=True, include_in_trace_context=True
)
# The mesh of the enclosing `use_mesh`, without and with devices.
abstract_mesh = Config(
    "abstract_mesh", None, include_in_jit_key=True, include_in_trace_context=True
)
concrete_mesh = Config(
    "concrete_mesh", None, include_in_jit_key=True, include_in_trace_context=True
)
# Whether shard_map checks the varying axes of types.
check_vma = Config("check_vma", False, include_in_jit_key=True, include_in_trace_context=True)
# A function (function, args, kwargs, outputs) called after each compiled call, or None.
post_hook = Config("post_hook", None)


class scope:
    """Context manager that annotates the operations traced in its body with ``name: value``.

    Values must be hashable. The current annotations are part of the keys of tracing caches.

    Example:
        >>> with scope("compute_on", "device_host"):
        ...     current_scope("compute_on")
        'device_host'
    """

    __slots__ = ("_name", "_previous", "_value")

    def __init__(self, name: str, value: Any):
        self._name = name
        self._value = value

    def __enter__(self) -> None:
        others = [pair for pair in scopes.value if pair[0] != self._name]
        others.append((self._name, self._value))
        others.sort(key=lambda pair: pair[0])
        self._previous = scopes.swap_local(tuple(others))

    def __exit__(self, *exception: object) -> None:
        scopes.set_local(self._previous)


def current_scope(name: str, default: Any = None) -> Any:
    """Returns the value of the innermost `scope` called ``name``; ``default`` if there is none."""
    for key, value in scopes.value:
        if key == name:
            return value
    return default
