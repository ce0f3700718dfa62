# SPDX-License-Identifier: Apache-2.0
"""Keys of compiled programs in a cache, under the names of JAX's private module.

OLYMPUS's own caches use other keys (`olympus_xla.compiling.cache_key`).
"""

from __future__ import annotations

import copy
import enum
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from olympus_ir._jaxlib import jaxlib_version
from olympus_ir.settings.config_cache_flags import compilation_cache_include_metadata_in_key
from olympus_xla.compiling.lowering import mlir

__all__ = [
    "IgnoreCallbacks",
    "add_flag_prefixes",
    "clear_flag_prefixes",
    "custom_hook",
    "env_override_flags_to_exclude_from_cache_key",
    "get",
    "get_flag_prefixes",
    "xla_flags_to_exclude_from_cache_key",
]

_prefixes: list[str] = []

# Options that change what the compiler writes for its developers, not what it compiles.
_OPTIONS_WITHOUT_EFFECT = {
    "xla_dump_compress_protos": False,
    "xla_dump_module_metadata": False,
    "xla_dump_max_hlo_modules": False,
    "xla_dump_include_timestamp": None,
    "xla_dump_hlo_pass_re": "",
    "xla_dump_hlo_module_re": "",
    "xla_dump_hlo_snapshots": False,
    "xla_dump_fusion_visualization": False,
    "xla_dump_hlo_as_url": False,
    "xla_dump_hlo_as_proto": False,
    "xla_dump_hlo_as_text": False,
    "xla_dump_hlo_as_long_text": False,
    "xla_dump_hlo_as_html": False,
    "xla_dump_hlo_as_dot": False,
    "xla_dump_to": "",
    "xla_force_host_platform_device_count": 0,
    "xla_dump_disable_metadata": False,
    "xla_dump_hlo_pipeline_re": "",
    "xla_gpu_cuda_data_dir": "",
    "xla_gpu_experimental_autotune_cache_mode": 0,
}
_FLAGS_OF_TPUS = (
    "xla_tpu_sdc_checker_streamz_metric",
    "xla_tpu_sdc_checker_enable_sdc_event_callbacks",
    "xla_tpu_sdc_checker_enable_coresweep_ng_callbacks",
    "xla_tpu_sdc_checker_no_logging_if_callbacks_are_present",
)

env_override_flags_to_exclude_from_cache_key = {*_OPTIONS_WITHOUT_EFFECT, *_FLAGS_OF_TPUS}
xla_flags_to_exclude_from_cache_key = [
    f"--{name}" for name in (*_OPTIONS_WITHOUT_EFFECT, *_FLAGS_OF_TPUS)
]


class IgnoreCallbacks(enum.IntEnum):
    """Addresses of Python functions that a key leaves out."""

    NO = enum.auto()
    ALL = enum.auto()
    CUSTOM_PARTITIONING = enum.auto()


def add_flag_prefixes(flag_prefixes: list[str]) -> None:
    """Adds prefixes of arguments of the program that belong to keys."""
    _prefixes.extend(flag_prefixes)


def clear_flag_prefixes() -> None:
    """Removes the prefixes that `add_flag_prefixes` has added."""
    _prefixes.clear()


def get_flag_prefixes() -> list[str]:
    """Returns the prefixes that `add_flag_prefixes` has added."""
    return _prefixes


def custom_hook() -> str:
    """Returns a further part of keys; programs replace this function."""
    return ""


def get(
    module: Any,
    devices: np.ndarray,
    compile_options: Any,
    backend: Any,
    compression_algorithm: str = "zstandard",
    ignore_callbacks: IgnoreCallbacks = IgnoreCallbacks.NO,
) -> str:
    """Returns the key of a compiled program: the name of its module and a digest.

    Args:
      module: the MLIR module.
      devices: the devices.
      compile_options: XLA's compile options.
      backend: the client of the devices.
      compression_algorithm: the name of the algorithm that compresses entries.
      ignore_callbacks: the addresses of Python functions that the key leaves out.
    """
    digest = hashlib.sha256()
    _hash_computation(digest, module, ignore_callbacks)
    _hash_string(digest, ".".join(map(str, jaxlib_version)))
    _hash_platform(digest, backend)
    _hash_xla_flags(digest, get_flag_prefixes())
    is_gpu = backend.platform == "gpu"
    _hash_serialized_compile_options(digest, compile_options, strip_device_assignment=is_gpu)
    _hash_accelerator_config(digest, devices)
    _hash_string(digest, compression_algorithm)
    hook = sys.modules.get("jax._src.cache_key")
    _hash_string(digest, getattr(hook, "custom_hook", custom_hook)())
    return f"{mlir.module_name(module)}-{digest.hexdigest()}"


# ---- parts of keys ----


def _hash_computation(hash_obj: Any, module: Any, ignore_callbacks: IgnoreCallbacks) -> None:
    if compilation_cache_include_metadata_in_key.value:
        hash_obj.update(mlir.bytecode(_without_callbacks(module, ignore_callbacks)))
    else:
        hash_obj.update(_canonicalize_ir(module, ignore_callbacks))


def _canonicalize_ir(m_original: Any, ignore_callbacks: IgnoreCallbacks) -> bytes:
    """Returns the bytecode of a module without source positions."""
    return mlir.bytecode_without_locations(_without_callbacks(m_original, ignore_callbacks))


def _without_callbacks(module: Any, ignored: IgnoreCallbacks) -> Any:
    """Returns a module whose foreign calls have no addresses of the ignored functions."""
    if ignored == IgnoreCallbacks.NO:
        return module
    with module.context:
        copied = module.operation.clone()
        for operation in _foreign_calls(copied):
            target = operation.attributes["call_target_name"].value
            is_callback = ignored == IgnoreCallbacks.ALL and target.endswith("callback")
            if is_callback or target == "CustomSPMDPartitioning":
                operation.attributes["backend_config"] = mlir.ir.StringAttr.get("REMOVED")
    return copied


def _foreign_calls(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name == "stablehlo.custom_call":
                    yield inner.operation
                yield from _foreign_calls(inner.operation)


def _hash_platform(hash_obj: Any, backend: Any) -> None:
    _hash_string(hash_obj, backend.platform)
    _hash_string(hash_obj, backend.platform_version)


def _hash_devices(hash_obj: Any, devices: np.ndarray) -> None:
    for device in devices.flat:
        _hash_string(hash_obj, device.device_kind)


#: The description of accelerators; their kinds identify them.
_hash_accelerator_config: Callable[[Any, np.ndarray], None] = _hash_devices


def _hash_serialized_compile_options(
    hash_obj: Any, compile_options_obj: Any, strip_device_assignment: bool = False
) -> None:
    options = copy.deepcopy(compile_options_obj)
    debug = options.executable_build_options.debug_options
    for name, value in _OPTIONS_WITHOUT_EFFECT.items():
        if value is not None and hasattr(debug, name):
            setattr(debug, name, value)
    options.env_option_overrides = [
        (name, value)
        for name, value in options.env_option_overrides
        if name not in env_override_flags_to_exclude_from_cache_key
    ]
    assignment = options.device_assignment
    if strip_device_assignment and assignment:
        shape = assignment.replica_count(), assignment.computation_count()
        order = np.arange(shape[0] * shape[1]).reshape(shape)
        options.device_assignment = type(assignment).create(order)
    hash_obj.update(options.SerializeAsString())


def _hash_xla_flags(hash_obj: Any, extra_flag_prefixes: list[str]) -> None:
    given = [*os.environ.get("XLA_FLAGS", "").split()]
    given += os.environ.get("LIBTPU_INIT_ARGS", "").split()
    given += [word for word in sys.argv if word.startswith(("--xla", *extra_flag_prefixes))]
    for flag in sorted(given):
        if flag.split("=")[0] not in xla_flags_to_exclude_from_cache_key:
            _hash_string(hash_obj, flag)


def _hash_string(hash_obj: Any, str_var: str) -> None:
    hash_obj.update(str_var.encode().strip())
