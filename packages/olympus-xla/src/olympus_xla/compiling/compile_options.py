# SPDX-License-Identifier: Apache-2.0
"""XLA's compile options, also for callers that compile modules themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.settings import config_cache_flags, config_flags

from .._jaxlib import CompileOptions, DeviceAssignment, set_effort

__all__ = ["compile_options", "create_compile_options", "get_compile_options", "use_gpu_caches"]


def compile_options(
    device_ids: Sequence[int] | None,
    *,
    partitions: int = 1,
    replicas: int | None = None,
    options: dict[str, Any] | None = None,
    disabled_passes: Sequence[str] = (),
) -> Any:
    """Returns XLA's compile options for a computation on the given devices.

    Args:
      device_ids: the ids of the devices; None if they are not fixed.
      partitions: the number of devices over which the computation is divided.
      replicas: the number of copies that run on different data; by default, the largest number that
        the devices allow.
      options: XLA's options by name.
      disabled_passes: passes to disable, in addition to those disabled by options or flags.

    Raises:
      TypeError: a compiler option has a value that XLA does not accept.
    """
    result = CompileOptions()
    result.profile_version = config_flags.xla_profile_version.value
    build = result.executable_build_options
    if replicas is None:
        replicas = 1 if device_ids is None else len(device_ids) // partitions
    result.num_replicas = build.num_replicas = replicas
    result.num_partitions = build.num_partitions = partitions
    build.use_spmd_partitioning = partitions > 1
    build.use_shardy_partitioner = True
    if device_ids is not None:
        result.device_assignment = DeviceAssignment.create(
            np.asarray(device_ids, np.int32).reshape(replicas, partitions)
        )
    _set_efforts(build)
    overrides = []
    for name, value in (options or {}).items():
        if name in _OF_THE_BUILD:
            _set_build_option(build, name, value)
        else:
            overrides.append((name, _option_value(name, value)))
    if disabled_passes:
        disabled = dict(overrides).get(_DISABLED, build.debug_options.xla_disable_hlo_passes)
        passes = [*filter(None, str(disabled).split(",")), *disabled_passes]
        overrides = [pair for pair in overrides if pair[0] != _DISABLED]
        overrides.append((_DISABLED, ",".join(passes)))
    if overrides:
        result.env_option_overrides = overrides
    return result


_DISABLED = "xla_disable_hlo_passes"

# Compiler options that are not XLA flags, with the types of their values.
_OF_THE_BUILD: dict[str, tuple[type, ...]] = {
    "exec_time_optimization_effort": (int, float),
    "memory_fitting_effort": (int, float),
    "optimization_level": (int,),
    "memory_fitting_level": (int,),
    "fdo_profile": (bytes,),
}


def _set_build_option(build: Any, name: str, value: Any) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, _OF_THE_BUILD[name]):
        kinds = " or ".join(kind.__name__ for kind in _OF_THE_BUILD[name])
        raise TypeError(f"compiler option {name!r} must be {kinds}, got {value!r}")
    if "effort" in name:
        set_effort(build, name, value)
    else:
        setattr(build, name, value)


# XLA's numbers for effort levels.
_LEVELS = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}


def _set_efforts(build: Any) -> None:
    """Sets the compiler's effort levels from the flags."""
    build.optimization_level = _LEVELS[config_flags.optimization_level.value]
    build.memory_fitting_level = _LEVELS[config_flags.memory_fitting_level.value]
    for flag in (config_flags.exec_time_optimization_effort, config_flags.memory_fitting_effort):
        set_effort(build, flag.name.removeprefix("olympus_"), flag.value)
    if not config_flags.compiler_enable_remat_pass.value:
        build.debug_options.xla_disable_hlo_passes = "rematerialization"
    if config_flags.disable_most_optimizations.value:
        build.debug_options.xla_backend_optimization_level = 0
        build.debug_options.xla_llvm_disable_expensive_passes = True


# XLA's options for its own caches for GPUs. Each option's name is also the name of the cache in the
# folder.
_GPU_CACHES = ("xla_gpu_kernel_cache_file", "xla_gpu_per_fusion_autotune_cache_dir")


def use_gpu_caches(options: Any, platform: str) -> None:
    """Keeps XLA's own caches for GPUs beside the compiled programs on disk.

    The flag ``olympus_persistent_cache_enable_xla_caches`` names the caches to keep. No cache is
    kept if the flag ``olympus_compilation_cache_dir`` is not set, or names a folder of a remote
    store.

    Args:
      options: XLA's compile options, which are changed.
      platform: the platform for which programs are compiled.
    """
    folder = config_cache_flags.compilation_cache_dir.value
    named = config_cache_flags.persistent_cache_enable_xla_caches.value or "none"
    if platform not in ("cuda", "gpu", "rocm") or not folder or "://" in folder:
        return
    debug = options.executable_build_options.debug_options
    for name in _GPU_CACHES:
        if named == "all" or name in named.split(","):
            setattr(debug, name, os.path.join(folder, name))


def _option_value(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | str):
        raise TypeError(
            f"compiler option {name!r} must be a bool, an int, a float or a str, got {value!r}"
        )
    return value


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: dict[str, str] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """Returns the compile options of a program.

    Args:
      num_replicas: the number of copies that run on different data.
      num_partitions: the number of devices over which each copy is divided.
      device_assignment: the ids of the devices, one row for each replica. With a single
        partition, a flat sequence with one id for each replica is allowed. If None, the client
        chooses the devices.
      env_options_overrides: XLA's options by name.
      fdo_profile: a profile of earlier runs, which guides optimization.
      detailed_logging: whether the compiler logs in detail.
      backend: the client that will compile; the options are the same for all.

    Returns:
      jaxlib's ``CompileOptions``.

    Raises:
      ValueError: the number of devices is not the product of replicas and partitions.

    Example:
      >>> get_compile_options(1, 1, device_assignment=[0]).num_partitions
      1
    """
    ids = None if device_assignment is None else np.asarray(device_assignment)
    expected_shape = (num_replicas, num_partitions)
    if ids is not None:
        ids = ids[:, np.newaxis] if ids.ndim == 1 and num_partitions == 1 else ids
        if ids.shape != expected_shape:
            raise ValueError(
                f"device_assignment has the shape {ids.shape}, and {num_replicas} replicas of "
                f"{num_partitions} partitions want {expected_shape}"
            )
    options = compile_options(
        None if ids is None else ids.ravel().tolist(),
        partitions=num_partitions,
        replicas=num_replicas,
        options=env_options_overrides,
    )
    build = options.executable_build_options
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    build.debug_options.xla_detailed_logging = detailed_logging
    return options


def create_compile_options(
    computation: Any,
    tuple_args: bool,
    allow_prop_to_inputs: Sequence[bool],
    allow_prop_to_outputs: Sequence[bool],
    backend: Any,
    np_dev: np.ndarray,
    compiler_options: dict[str, Any] | None,
) -> Any:
    """Returns the compile options of a program that is partitioned over devices.

    Args:
      computation: the module; the options do not depend on it.
      tuple_args: whether the program takes its operands as one tuple.
      allow_prop_to_inputs: for each operand, whether the compiler may choose its sharding.
      allow_prop_to_outputs: for each result, whether the compiler may choose its sharding.
      backend: the client that will compile.
      np_dev: the devices, an array.
      compiler_options: XLA's options by name.
    """
    ids = np.array([[device.id for device in np.asarray(np_dev).flat]], np.int32)
    overrides = dict(compiler_options or {})
    options = get_compile_options(
        1,
        ids.size,
        device_assignment=ids,
        fdo_profile=overrides.pop("fdo_profile", None),
        env_options_overrides=overrides,
        backend=backend,
    )
    options.parameter_is_tupled_arguments = tuple_args
    build = options.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = list(allow_prop_to_inputs)
    build.allow_spmd_sharding_propagation_to_output = list(allow_prop_to_outputs)
    return options
